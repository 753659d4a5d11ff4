/* The first difference of `warpproof greedy`: where it is, whose it is, and a case that shows it alone. */
#include "../gpu/raw.h"
#include "../oracles/pattern.h"
#include "../oracles/trial.h"
#include "../ref/checked.h"
#include "../reports/file.h"
#include "command.h"
#include "greedy.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- where ---- */

/* Words of 32 bits: values of a product, pieces of a token's blocks of a quantiser. */
static void find_first(struct difference *f, const struct differing *d) {
    const size_t words = d->bytes / 4, columns = f->quantiser ? words / (f->nt > 0 ? f->nt : 1) : f->od;
    uint8_t *wrong = must_calloc(words + 1, 1);
    f->cells = words;
    f->wrong = 0;
    for (size_t i = 0; i < words; ++i) {
        wrong[i] = memcmp(d->want + 4 * i, d->got + 4 * i, 4) != 0;
        if (wrong[i] && f->wrong++ == 0) {
            f->token = columns > 0 ? i / columns : 0;
            f->row = columns > 0 ? i % columns : i;
            memcpy(&f->want, d->want + 4 * i, 4);
            memcpy(&f->got, d->got + 4 * i, 4);
        }
    }
    if (f->wrong > 0 && columns > 0 && words % columns == 0) {
        struct pattern p = pattern_of(wrong, words / columns, columns, "token", f->quantiser ? "word" : "row", true);
        f->shape = p.text;
        f->suspects = p.suspects;
    }
    free(wrong);
}

static char *differs_at(const char *what, const uint8_t *right, const uint8_t *got, size_t bytes, size_t row_bytes,
                        const char *row) {
    size_t at = 0, count = 0;
    for (size_t i = bytes; i-- > 0;) {
        if (right[i] != got[i]) {
            at = i;
            ++count;
        }
    }
    return count == 0
               ? NULL
               : must_format("the %s that the kernel got differs in %zu byte%s, first in byte %zu of %s %zu: want "
                             "0x%02x, got 0x%02x",
                             what, count, plural(count), row_bytes > 0 ? at % row_bytes : at, row,
                             row_bytes > 0 ? at / row_bytes : 0, right[at], got[at]);
}

/* Whether the kernel's own operands are the right ones. */
static char *check_operands(const struct difference *f, const struct differing *d) {
    if (f->quantiser) {
        return NULL;
    }
    char *weight = differs_at("weight", d->p->tensor->data, d->operands.weight, d->p->tensor->bytes,
                              d->p->tensor->row_bytes, "row");
    return weight != NULL ? weight
                          : differs_at("activation", d->right, d->operands.activation, d->right_bytes,
                                       d->right_bytes / d->p->nt, "token");
}

/* ---- the case alone ---- */

static bool make_folder(const char *path, struct error *e) {
    char *part = must_strdup(path);
    bool good = true;
    for (char *end = part + 1; good && *end != 0; ++end) {
        if (*end == '/') {
            *end = 0;
            good = mkdir(part, 0777) == 0 || errno == EEXIST;
            *end = '/';
        }
    }
    good = good && (mkdir(part, 0777) == 0 || errno == EEXIST);
    free(part);
    return good || fail(e, "%s: %s", path, strerror(errno));
}

static bool put(const char *folder, const char *name, const void *bytes, size_t size, struct error *e) {
    char *path = must_format("%s/%s", folder, name);
    const bool good = file_put(path, bytes, size, e);
    free(path);
    return good;
}

static bool write_case(const struct greedy_arm *a, const struct differing *d, const struct operands *o,
                       struct error *e) {
    const struct difference *f = &a->difference;
    char weight_digest[65] = "", activation_digest[65];
    if (!sha256_hex(o->activation, o->activation_bytes, activation_digest) ||
        (o->weight != NULL && !sha256_hex(o->weight, o->weight_bytes, weight_digest))) {
        return fail(e, "the digests of the operands cannot be computed");
    }
    char *layer = f->layer == SIZE_MAX ? must_strdup("head") : must_format("layer%zu", f->layer);
    char *od = f->quantiser ? must_strdup("") : must_format(" od: %zu,", f->od);
    char *weight =
        f->quantiser ? must_strdup("") : must_format("\n    weight: {file: weight.bin, sha256: %s},", weight_digest);
    char *text =
        must_format("# The first difference of a run of `warpproof greedy`: the operands as the kernel got "
                    "them.\nkernels: [%s]\nfiles:\n  - {name: step%zu.%s, nt: %zu,%s id: %zu,%s\n    activation: "
                    "{file: activation.bin, sha256: %s}}\n",
                    d->row->spec->kernel, f->step, layer, f->nt, od, f->id, weight, activation_digest);
    const bool good = make_folder(a->case_folder, e) &&
                      (o->weight == NULL || put(a->case_folder, "weight.bin", o->weight, o->weight_bytes, e)) &&
                      put(a->case_folder, "activation.bin", o->activation, o->activation_bytes, e) &&
                      put(a->case_folder, "case.yaml", text, strlen(text), e);
    free(layer);
    free(od);
    free(weight);
    free(text);
    return good;
}

/* The case as `gate` would run it, with every watch on. */
static void run_alone(struct greedy_arm *a, const struct differing *d, struct operands *o) {
    struct shape_value values[3];
    const struct shape shape = operands_shape(o, values);
    struct error e;
    struct trial t = {.id = d->p->tensor->name,
                      .spec = d->row->spec,
                      .module = greedy_module(a, d->row, &e),
                      .runner = a->runner,
                      .contract = d->row->contract,
                      .operands = o,
                      .shape = &shape,
                      .threads = a->threads,
                      .options = a->options,
                      .schedules = SCHEDULES_ONE};
    t.options.unwatched = 0;
    trial_run(&t, &a->difference.outcome);
}

void greedy_differ(struct greedy_arm *a, const struct differing *d) {
    struct difference *f = &a->difference;
    struct error e;
    struct operands o;
    f->present = true;
    f->quantiser = d->operands.weight == NULL;
    f->step = d->p->step;
    f->layer = d->p->layer;
    f->tensor = must_strdup(d->p->tensor->name);
    f->kernel = d->row->spec->kernel;
    f->nt = d->p->nt;
    f->od = f->quantiser ? 0 : d->p->od;
    f->id = d->p->id;
    find_first(f, d);
    f->position = d->p->position + f->token;
    f->operands = check_operands(f, d);
    if (!kernel_operands(d->row->contract, &d->operands, &o, &e)) {
        f->unwritten = must_strdup(e.text);
        return;
    }
    if (write_case(a, d, &o, &e)) {
        char device[DEVICES_AGAIN];
        devices_again(a->devices, device);
        f->folder = must_strdup(a->case_folder);
        f->rerun = must_format("%s gate --cases %s%s%s%s%s", command_again(a->root), a->case_folder,
                               a->runner == &runner_device ? " --runner device" : "", device,
                               a->kernel_plant.name != NULL ? " --plant " : "",
                               a->kernel_plant.name != NULL ? a->kernel_plant.name : "");
    } else {
        f->unwritten = must_strdup(e.text);
    }
    o.lent = false; /* judges may try other bytes in the launch's buffers */
    run_alone(a, d, &o);
}
