/* warpproof greedy MODEL.gguf: a model's greedy sequence, every matrix product of a kernel against the reference. */
#include "greedy.h"
#include "../gpu/raw.h"
#include "../ref/checked.h"
#include "../ref/decoder_product.h"
#include "../ref/printable.h"
#include "../ref/tokenizer.h"
#include "../reports/file.h"
#include "command.h"
#include "judging.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: warpproof greedy MODEL.gguf [--prompt TEXT | --prompt-ids \"ID ...\"] [--arm NAME] [--n N]\n"
    "                        [--plan FILE] [--ids FILE] [--json FILE] [--plant NAME] [--case-dir FOLDER]\n"
    "                        [--device N|all] [-j N]\n"
    "\n"
    "Decodes greedily, the lowest id on a tie, and prints each id with its margin over the second, in nats. With a\n"
    "kernel arm every matrix product is computed by the reference as well, from the same inputs, and every bit of the\n"
    "result compared; the first difference ends the run and is written as a case that `warpproof gate` runs alone.\n"
    "\n"
    "  --prompt TEXT      the prompt; the file's own tokenizer makes ids of it, after the begin-of-sequence token "
    "where\n"
    "                     the file wants one; control tokens in it are plain text (default: a sentence of our own)\n"
    "  --prompt-ids IDS   the prompt's token ids, the begin-of-sequence token too where the model wants one\n"
    "  --arm NAME         what multiplies: reference (default; contracts), machine (the plan's kernels on the PTX\n"
    "                     machine), device (the same on a GPU here), or truth (float64, nothing quantised)\n"
    "  --device N|all     which GPU, counted from 0 (default 0); all: products take turns on all that are here\n"
    "  --n N              how many ids are chosen (default 32, with --ids as many as the file has)\n"
    "  --plan FILE        which kernel serves which product (default fixtures/plans/default.yaml)\n"
    "  --ids FILE         teacher forcing: ids separated by blanks or lines, fed whatever is chosen; the agreement is\n"
    "                     counted at every position\n"
    "  --json FILE        write one JSON object, whole or not at all; the ids stand under \"tokens\"\n"
    "  --plant NAME       put a fault between the arms: weight-nibble, weight-scale, stale-activation, or a planted\n"
    "                     kernel (warpproof list plants); when nothing differs, that is an error\n"
    "  --case-dir FOLDER  where the first difference is written (default build/greedy-case)\n"
    "  --watches LIST     what the machine watches besides the bits: bounds,alignment (default; stores into inputs "
    "are\n"
    "                     among bounds), none, all, or some of bounds, alignment, planes, uninit, hazards, async, "
    "sync,\n"
    "                     stores, separated by commas\n"
    "  --arch NAME        the architecture whose limits and tensor cores count (default sm_90)\n"
    "  -j, --threads N    CPU threads (default: all)\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 all bits are the reference's (or, without kernels, decoded), 1 a kernel is wrong, 2 input, usage or\n"
    "environment error\n";

enum arm { ARM_REFERENCE, ARM_MACHINE, ARM_DEVICE, ARM_TRUTH };
static const char *const arm_names[] = {"reference", "machine", "device", "truth", NULL};

enum { MOST_IDS = 1 << 20 };
enum { PROMPT = 256, PROMPT_IDS, ARM, N, PLAN, IDS, PLANT, CASE_DIR }; /* of getopt_long */

struct options {
    const char *model, *prompt, *prompt_ids, *plan, *ids, *plant, *case_folder;
    enum arm arm;
    int64_t n; /* 0: not given */
    struct judging judging;
};

/* What a run holds; all of it is freed by run_free. */
struct run {
    char *root, *plan_path;
    struct gguf_file *file;
    struct decoder_model *model;
    struct decoder *decoder;
    struct greedy_arm arm;
    struct decoded decoded;
    struct tokenizer *tokenizer; /* NULL: the file has none that is known */
    uint32_t *forced;
    size_t forced_count;
    float *logits;
};

static void run_free(struct run *r) {
    greedy_arm_free(&r->arm);
    decoder_close(r->decoder);
    decoder_model_close(r->model);
    tokenizer_free(r->tokenizer);
    gguf_close(r->file);
    for (size_t i = 0; r->decoded.pieces != NULL && i < r->decoded.count; ++i) {
        free(r->decoded.pieces[i]);
    }
    free(r->decoded.pieces);
    free(r->decoded.prompt);
    free(r->decoded.choices);
    free(r->forced);
    free(r->logits);
    free(r->root);
    free(r->plan_path);
}

/* *ids = the decimal numbers of a text, at least one. what: names it in messages. */
static bool parse_ids(const char *what, const char *text, size_t vocabulary, uint32_t **ids, size_t *count,
                      struct error *e) {
    static const char blanks[] = " \t\r\n,";
    size_t room = 0;
    *ids = NULL;
    *count = 0;
    for (const char *s = text + strspn(text, blanks); *s != 0; s += strspn(s, blanks)) {
        const size_t length = strcspn(s, blanks);
        char word[24] = "";
        int64_t id = -1;
        if (length < sizeof word) {
            memcpy(word, s, length);
        }
        if (word[0] == 0 || yaml_parse_integer(word, &id) != NULL || id < 0 || (uint64_t)id >= vocabulary) {
            return fail(e, "%s: '%.*s' is no token id; the vocabulary has 0 .. %zu", what,
                        length < 40 ? (int)length : 40, s, vocabulary - 1);
        }
        if (*count == MOST_IDS) {
            return fail(e, "%s: more than %d ids", what, MOST_IDS);
        }
        if (*count == room) {
            room = room > 0 ? 2 * room : 64;
            *ids = must_realloc(*ids, room, sizeof **ids);
        }
        (*ids)[(*count)++] = (uint32_t)id;
        s += length;
    }
    return *count > 0 || fail(e, "%s: there is no token id", what);
}

static bool read_ids(const char *path, size_t vocabulary, uint32_t **ids, size_t *count, struct error *e) {
    enum { MOST_BYTES = 16 << 20 };
    struct raw_file f;
    if (!raw_open(path, &f, e)) {
        return false;
    }
    bool good = f.bytes <= MOST_BYTES || fail(e, "%s: more than %d bytes of ids", path, MOST_BYTES);
    char *text = good ? calloc(f.bytes + 1, 1) : NULL;
    good = good && (text != NULL || fail(e, "%s: no memory to read it", path)) && raw_read(&f, (uint8_t *)text, e);
    raw_close(&f);
    good = good && (strlen(text) == f.bytes || fail(e, "%s: holds a zero byte, so it is no list of ids", path)) &&
           parse_ids(path, text, vocabulary, ids, count, e);
    free(text);
    return good;
}

/* The prompt's ids, from a text or from numbers. A text needs the file's tokenizer; without one ids have no texts. */
static bool take_prompt(struct run *r, const struct options *o, struct error *e) {
    struct error why;
    struct decoded *d = &r->decoded;
    r->tokenizer = tokenizer_open(r->file, &why);
    if (o->prompt_ids != NULL) {
        return parse_ids("--prompt-ids", o->prompt_ids, r->model->vocabulary, &d->prompt, &d->prompt_count, e);
    }
    if (r->tokenizer == NULL) {
        return fail(e, "the text of a prompt needs the file's tokenizer; give --prompt-ids: %.1500s", why.text);
    }
    if (!tokenizer_encode(r->tokenizer, o->prompt, strlen(o->prompt), tokenizer_info(r->tokenizer)->add_bos, &d->prompt,
                          &d->prompt_count, &why)) {
        return fail(e, "--prompt: %.1500s", why.text);
    }
    if (d->prompt_count == 0 || d->prompt_count > MOST_IDS) {
        return fail(e, "--prompt: the text is %zu ids, not 1 .. %d", d->prompt_count, MOST_IDS);
    }
    return true; /* the model's vocabulary is the tokenizer's: decoder_model_open */
}

/* The texts of the ids that were chosen. */
static void name_pieces(struct run *r) {
    struct decoded *d = &r->decoded;
    if (r->tokenizer == NULL) {
        return;
    }
    d->pieces = must_calloc(d->count + 1, sizeof *d->pieces);
    for (size_t i = 0; i < d->count; ++i) {
        size_t length = 0;
        const uint8_t *text = tokenizer_text(r->tokenizer, d->choices[i].id, &length);
        char piece[64] = "";
        d->pieces[i] = must_strdup(text != NULL ? printable(piece, sizeof piece, text, length) : "");
    }
}

static bool take_plant(struct run *r, const struct options *o, struct error *e) {
    if (o->plant == NULL) {
        return true;
    }
    if (r->arm.runner == NULL) {
        return fail(e, "--plant %s: a fault is put between kernels and reference: --arm machine or device", o->plant);
    }
    for (size_t i = 1; greedy_plant_names[i] != NULL; ++i) {
        if (strcmp(o->plant, greedy_plant_names[i]) == 0) {
            r->arm.plant = (enum greedy_plant)i;
            return true;
        }
    }
    if (!plant_load(r->root, o->plant, &r->arm.kernel_plant, e)) {
        return false;
    }
    if (r->arm.kernel_plant.group != PLANT_KERNEL) {
        return fail(e, "plant %s is not of group kernel, and none of a plan", o->plant);
    }
    return greedy_uses(&r->arm, r->decoded.prompt_count, r->arm.kernel_plant.kernel) ||
           fail(e, "plant %s stands in for kernel %s, which plan %s uses for no product of this run", o->plant,
                r->arm.kernel_plant.kernel, r->arm.plan->name);
}

static void show_progress(const struct greedy_arm *a, const struct decoder_product *p) {
    if (p->layer == SIZE_MAX) {
        fprintf(stderr, "\r\033[K[%zu/%zu] head", p->step + 1, a->steps);
    } else {
        fprintf(stderr, "\r\033[K[%zu/%zu] layer %zu", p->step + 1, a->steps, p->layer);
    }
}

/* Reads all input and checks that the plan can serve it. */
static bool prepare(struct run *r, const struct options *o, struct error *e) {
    r->root = project_root(e);
    if (r->root == NULL || !load_measured_tables(r->root, e) || !json_spares(o->judging.json, o->model, e)) {
        return false;
    }
    r->file = gguf_open(o->model, e);
    r->model = r->file != NULL ? decoder_model_open(r->file, e) : NULL;
    if (r->model == NULL || !take_prompt(r, o, e) ||
        (o->ids != NULL && !read_ids(o->ids, r->model->vocabulary, &r->forced, &r->forced_count, e))) {
        return false;
    }
    const size_t n = o->n > 0 ? (size_t)o->n : o->ids != NULL ? r->forced_count : 32;
    if (o->ids != NULL && n > r->forced_count) {
        return fail(e, "--n %zu: %s has %zu ids", n, o->ids, r->forced_count);
    }
    r->decoded.model = o->model;
    r->decoded.arm = arm_names[o->arm];
    r->decoded.forced = r->forced;
    r->decoded.choices = must_calloc(n, sizeof *r->decoded.choices);
    r->decoded.count = n;
    r->arm = (struct greedy_arm){.model = r->model,
                                 .runner = o->arm == ARM_MACHINE  ? &runner_machine
                                           : o->arm == ARM_DEVICE ? &runner_device
                                                                  : NULL,
                                 .options = o->judging.launch,
                                 .devices = &o->judging.devices,
                                 .threads = o->judging.threads,
                                 .case_folder = o->case_folder,
                                 .root = r->root,
                                 .progress = isatty(STDERR_FILENO) ? show_progress : NULL,
                                 .steps = n};
    if (o->arm != ARM_TRUTH) {
        r->plan_path = o->plan != NULL ? must_strdup(o->plan) : must_format("%s/fixtures/plans/default.yaml", r->root);
        r->arm.plan = plan_load(r->plan_path, r->root, e);
        if (r->arm.plan == NULL || !greedy_check(&r->arm, r->decoded.prompt_count, e)) {
            return false;
        }
    }
    r->logits = calloc(r->model->vocabulary, sizeof *r->logits);
    r->decoder = r->logits != NULL ? decoder_open(r->model, r->decoded.prompt_count + n - 1, e) : NULL;
    return take_plant(r, o, e) && (r->decoder != NULL || (r->logits == NULL && fail(e, "no memory for the logits")));
}

/* The prompt at once, then one token a step. False: e, or a difference. */
static bool decode(struct run *r, enum arm arm, struct error *e) {
    const struct decoder_arm products = {.product = arm == ARM_TRUTH ? product_truth_arm : greedy_product,
                                         .self = &r->arm};
    struct decoded *d = &r->decoded;
    const size_t wanted = d->count;
    uint32_t next = 0;
    for (d->count = 0; d->count < wanted; ++d->count) {
        const bool first = d->count == 0;
        struct decoder_choice *c = &d->choices[d->count];
        if (!decoder_feed(r->decoder, first ? d->prompt : &next, first ? d->prompt_count : 1, &products, r->logits,
                          e)) {
            return false;
        }
        if (!decoder_choose(r->logits, r->model->vocabulary, c, e)) {
            const struct error why = *e;
            return fail(e, "step %zu: %.1000s", d->count, why.text);
        }
        next = d->forced != NULL ? d->forced[d->count] : c->id;
        d->agreed += d->forced != NULL && next == c->id;
    }
    return true;
}

static int conclude(const struct run *r, const struct options *o) {
    const struct greedy_arm *a = &r->arm;
    if (a->runner == NULL) {
        return EXIT_PASSED;
    }
    const bool wrong = a->difference.present;
    printf("\n");
    if (wrong) {
        printf("FAIL %s: %zu ids chosen before the first difference\n", o->model, r->decoded.count);
    } else {
        printf("PASS %s: %zu ids, %llu products, all %llu bits of their results are the reference's\n", o->model,
               r->decoded.count, (unsigned long long)a->products, (unsigned long long)a->bits);
        if (a->options.unwatched != 0 && a->runner == &runner_machine) {
            printf("note    the machine watched %s: --watches all\n",
                   a->options.unwatched == WATCH_ALL ? "nothing but the bits" : "bits, and not all else");
        }
    }
    printf("%d passed, %d failed, 0 skipped\n", !wrong, wrong);
    if (wrong && greedy_verdict(&a->difference) == VERDICT_INPUT) {
        return EXIT_INPUT; /* past its budget of instructions, say: nothing is proved wrong */
    }
    return wrong ? EXIT_KERNEL_WRONG : EXIT_PASSED;
}

static int greedy(struct options *o) {
    struct run r = {0};
    struct error e;
    const double start = omp_get_wtime();
    bool good = prepare(&r, o, &e);
    int code = EXIT_INPUT;
    if (good) {
        judging_threads("greedy", &o->judging);
        r.arm.threads = o->judging.threads;
        good = decode(&r, o->arm, &e) || r.arm.difference.present;
        if (r.arm.progress != NULL) {
            fprintf(stderr, "\r\033[K");
        }
    }
    if (good) {
        r.decoded.seconds = omp_get_wtime() - start;
        name_pieces(&r);
        greedy_report(stdout, &r.arm, &r.decoded);
        printf("seconds %.2f on %d thread%s\n", r.decoded.seconds, o->judging.threads,
               plural((size_t)o->judging.threads));
        good = o->judging.json == NULL || greedy_json(o->judging.json, &r.arm, &r.decoded, &e);
        if (good && o->plant != NULL && !r.arm.difference.present) {
            good = fail(&e, "plant %s: nothing differs, so the plant proves nothing", o->plant);
        }
    }
    if (good) {
        code = conclude(&r, o);
    } else {
        flush_output();
        usage_error("greedy", "%s", e.text);
    }
    run_free(&r);
    return code;
}

static int take_option(struct options *o, int argc, char **argv, int c) {
    const char *const given = optarg;
    if ((c == PROMPT || c == PROMPT_IDS || c == PLANT) && given[0] == 0) {
        return usage_error("greedy", "%s is empty",
                           c == PROMPT       ? "--prompt"
                           : c == PROMPT_IDS ? "--prompt-ids"
                                             : "--plant");
    }
    switch (c) {
    case PROMPT:
        return take_once("greedy", "--prompt", &o->prompt);
    case PROMPT_IDS:
        return take_once("greedy", "--prompt-ids", &o->prompt_ids);
    case ARM:
        for (size_t i = 0; arm_names[i] != NULL; ++i) {
            if (strcmp(given, arm_names[i]) == 0) {
                o->arm = (enum arm)i;
                return -1;
            }
        }
        return usage_error("greedy", "--arm %s: want reference, machine, device or truth", given);
    case N:
        return yaml_parse_integer(given, &o->n) == NULL && o->n >= 1 && o->n <= MOST_IDS
                   ? -1
                   : usage_error("greedy", "--n %s: want an integer in 1 .. %d", given, MOST_IDS);
    case PLAN:
        return take_once("greedy", "--plan", &o->plan);
    case IDS:
        return take_once("greedy", "--ids", &o->ids);
    case PLANT:
        return take_once("greedy", "--plant", &o->plant);
    case CASE_DIR:
        return take_once("greedy", "--case-dir", &o->case_folder);
    default:
        return judging_option("greedy", usage, argc, argv, c, &o->judging);
    }
}

/* What goes with what. */
static int check_options(struct options *o) {
    if (o->prompt != NULL && o->prompt_ids != NULL) {
        return usage_error("greedy", "want either --prompt or --prompt-ids, not both");
    }
    if (o->prompt_ids == NULL && o->prompt == NULL) {
        o->prompt = "The capital of France is Paris. The capital of Japan is"; /* long enough for tensor cores */
    }
    if (o->arm == ARM_TRUTH && o->plan != NULL) {
        return usage_error("greedy", "--plan: --arm truth multiplies by no plan");
    }
    if (o->arm != ARM_MACHINE && (o->judging.watches != NULL || o->judging.launch.arch != NULL)) {
        return usage_error("greedy", "%s goes with --arm machine", o->judging.watches != NULL ? "--watches" : "--arch");
    }
    if (o->arm != ARM_DEVICE && o->judging.devices.given) {
        return usage_error("greedy", "--device goes with --arm device");
    }
    o->judging.runner = o->arm == ARM_DEVICE ? &runner_device : NULL;
    if (o->judging.watches == NULL) { /* cheap, and what a stray store does to a later call no bit of this one shows */
        o->judging.launch.unwatched = WATCH_ALL & ~(uint32_t)(WATCH_BOUNDS | WATCH_ALIGNMENT);
    }
    o->case_folder = o->case_folder != NULL ? o->case_folder : "build/greedy-case";
    return judging_check("greedy", &o->judging);
}

int greedy_main(int argc, char **argv) {
    static const struct option longs[] = {{"prompt", required_argument, NULL, PROMPT},
                                          {"prompt-ids", required_argument, NULL, PROMPT_IDS},
                                          {"arm", required_argument, NULL, ARM},
                                          {"n", required_argument, NULL, N},
                                          {"plan", required_argument, NULL, PLAN},
                                          {"ids", required_argument, NULL, IDS},
                                          {"plant", required_argument, NULL, PLANT},
                                          {"case-dir", required_argument, NULL, CASE_DIR},
                                          {"device", required_argument, NULL, JUDGING_DEVICE},
                                          {"json", required_argument, NULL, JUDGING_JSON},
                                          {"watches", required_argument, NULL, JUDGING_WATCHES},
                                          {"arch", required_argument, NULL, JUDGING_ARCH},
                                          {"threads", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options o = {.judging = {.threads = omp_get_max_threads()}};
    int code = -1;
    opterr = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;) {
        code = take_option(&o, argc, argv, c);
    }
    if (code < 0 && optind + 1 != argc) {
        code = usage_error("greedy", "want one model (see warpproof greedy --help)");
    }
    code = code < 0 ? check_options(&o) : code;
    if (code < 0) {
        o.model = argv[optind];
        code = greedy(&o);
    }
    return code;
}
