/* warpproof list: what there is to run and to run it with. */
#include "../gpu/case.h"
#include "../gpu/machine/tensor_model.h"
#include "../oracles/oracle.h"
#include "../ref/activation.h"
#include "../ref/checked.h"
#include "../ref/format.h"
#include "command.h"
#include "devices.h"
#include "plant.h"
#include "selecting.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "usage: warpproof list kernels | formats | contracts | oracles | plants | archs | devices\n"
                            "       warpproof list cases [--all] [PATTERN]...\n"
                            "\n"
                            "  --all    the cases of fixtures/cases/all as well\n"
                            "  --help   this text\n"
                            "\n"
                            "exit: 0 done, 2 input or usage error, 3 there is none\n";

static int list_kernels(const char *root, struct error *e) {
    size_t n;
    char **paths = kernel_files(root, &n);
    int code = EXIT_NOTHING_RAN;
    for (size_t i = 0; i < n; ++i) {
        struct spec *s = code != EXIT_INPUT ? spec_load(paths[i], root, e) : NULL;
        if (s == NULL) {
            code = EXIT_INPUT;
        } else {
            printf("%-24s %s\n", s->kernel, s->about != NULL ? s->about : "");
            code = EXIT_PASSED;
        }
        spec_free(s);
        free(paths[i]);
    }
    if (code == EXIT_NOTHING_RAN) {
        fail(e, "no launch files in %s/gpu/kernels", root);
    }
    free(paths);
    return code;
}

static const char *direction(bool quantises, bool searches) {
    return !quantises ? "dequantise" : searches ? "both ways, own search" : "both ways";
}

static int list_formats(void) {
    printf("%-14s %-11s %12s %12s  %s\n", "format", "kind", "values/block", "bytes/block", "conversion");
    for (size_t i = 0; block_formats[i] != NULL; ++i) {
        const struct block_format *f = block_formats[i];
        printf("%-14s %-11s %12zu %12zu  %s\n", f->name, "weight", f->block_values, f->block_bytes,
               direction(f->quantize != NULL, f->searches));
    }
    for (size_t i = 0; activation_formats[i] != NULL; ++i) {
        const struct activation_format *f = activation_formats[i];
        printf("%-14s %-11s %12zu %12zu  %s%s\n", f->name, "activation", f->block_values, f->block_bytes,
               direction(f->quantize != NULL, false), f->get != NULL ? ", own layout" : "");
    }
    return EXIT_PASSED;
}

void list_contracts(FILE *out) {
    for (size_t i = 0; contracts[i] != NULL; ++i) {
        const struct contract *c = contracts[i];
        char *formats = must_format("%s%s%s -> %s", c->weight != NULL ? c->weight : "", c->weight != NULL ? " x " : "",
                                    c->activation, c->result);
        fprintf(out, "%-26s %-30s depth a multiple of %zu%s%s\n", c->name, formats, c->depth_multiple,
                c->splits ? "; splits" : "", c->rcp_table ? "; needs the measured reciprocal" : "");
        free(formats);
    }
}

static int list_oracles(void) {
    for (size_t i = 0; oracles[i] != NULL; ++i) {
        printf("%-10s %s\n", oracles[i]->name, oracles[i]->about);
    }
    return EXIT_PASSED;
}

static int list_archs(void) {
    printf("%-8s %-14s %11s %15s %15s %14s  %s\n", "arch", "tensor cores", "KiB a block", "KiB a processor",
           "threads a proc.", "blocks a proc.", "floating-point mma");
    for (const struct arch *a = archs; a->name != NULL; ++a) {
        const struct tensor_unit *u = tensor_unit(a);
        printf("%-8s %-14s %11zu %15zu %15u %14u  %s%s\n", a->name, u->name, a->shared_block / 1024,
               a->shared_sm / 1024, a->threads_sm, a->blocks_sm, u->measured ? "measured" : "model of the literature",
               a == arch_default() ? "; the default" : "");
    }
    return EXIT_PASSED;
}

static int list_plants(const char *root, struct error *e) {
    int code = EXIT_NOTHING_RAN;
    for (int g = 0; g < PLANT_GROUPS; ++g) {
        size_t n;
        char **names = plant_names(root, (enum plant_group)g, &n);
        for (size_t i = 0; i < n; ++i) {
            struct plant p;
            if (code != EXIT_INPUT && plant_load(root, names[i], &p, e)) {
                if (g == PLANT_CANARY) {
                    plant_as_canary(&p);
                }
                printf("%-8s %-24s %s %s: %s", plant_group_names[g], p.name, p.oracle, verdict_name(p.verdict),
                       p.about);
                for (size_t k = 0; k < p.from_count; ++k) {
                    printf("%s%s%s", k == 0 ? " [" : " ", p.from[k], k + 1 == p.from_count ? "]" : "");
                }
                printf("\n");
                plant_free(&p);
                code = EXIT_PASSED;
            } else {
                code = EXIT_INPUT;
            }
            free(names[i]);
        }
        free(names);
    }
    if (code == EXIT_NOTHING_RAN) {
        fail(e, "no plants in %s/fixtures/plants", root);
    }
    return code;
}

static int list_cases(const char *root, const char *const *patterns, size_t n, bool all, struct error *e) {
    char *folder = must_format("%s/fixtures/cases", root), *models = must_format("%s/build/models", root);
    struct case_list list;
    int code = EXIT_INPUT;
    if (case_list_load(folder, root, models, all, &list, e)) {
        bool *chosen = must_calloc(list.count + 1, sizeof *chosen);
        const char *missed = NULL;
        const size_t left = case_select(&list, patterns, n, chosen, &missed);
        for (size_t i = 0; i < list.count; ++i) {
            if (chosen[i]) {
                printf("%s\n", list.cases[i].id);
            }
        }
        flush_output();
        const bool unreadable = (n == 0 || missed != NULL) && note_models("list", &list, n == 0);
        code = missed == NULL && left > 0 ? EXIT_PASSED : unreadable ? EXIT_INPUT : EXIT_NOTHING_RAN;
        if (code != EXIT_PASSED) {
            if (missed != NULL) {
                fail_missed(e, &list, missed, !all);
            } else {
                fail(e, "there are no cases");
            }
        }
        free(chosen);
        case_list_free(&list);
    }
    free(folder);
    free(models);
    return code;
}

int list_main(int argc, char **argv) {
    enum { ALL = 256 };
    static const struct option longs[] = {
        {"all", no_argument, NULL, ALL}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    bool all = false;
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":h", longs, NULL)) != -1;) {
        if (c == ALL) {
            all = true;
            continue;
        }
        if (c != 'h') {
            return option_error("list", argc, argv, c);
        }
        fputs(usage, stdout);
        return EXIT_PASSED;
    }
    if (optind == argc) {
        return usage_error("list", "want kernels, formats, contracts, cases, oracles, plants, archs or devices");
    }
    const char *what = argv[optind++];
    if (optind < argc && strcmp(what, "cases") != 0) {
        return usage_error("list", "'%s': only `list cases` takes patterns", argv[optind]);
    }
    if (all && strcmp(what, "cases") != 0) {
        return usage_error("list", "--all: only `list cases` takes it");
    }
    const char *const *patterns = (const char *const *)argv + optind;
    const size_t pattern_count = (size_t)(argc - optind);
    if (check_patterns("list", patterns, pattern_count) >= 0) {
        return EXIT_INPUT;
    }
    struct error e;
    char *root = project_root(&e);
    int code = EXIT_INPUT;
    if (strcmp(what, "formats") == 0) {
        code = list_formats();
    } else if (strcmp(what, "contracts") == 0) {
        list_contracts(stdout);
        code = EXIT_PASSED;
    } else if (strcmp(what, "oracles") == 0) {
        code = list_oracles();
    } else if (strcmp(what, "archs") == 0) {
        code = list_archs();
    } else if (strcmp(what, "devices") == 0) {
        code = devices_list(stdout, &e) ? EXIT_PASSED : EXIT_INPUT;
    } else if (strcmp(what, "kernels") != 0 && strcmp(what, "plants") != 0 && strcmp(what, "cases") != 0) {
        fail(&e, "'%s': want kernels, formats, contracts, cases, oracles, plants, archs or devices", what);
    } else if (root != NULL) {
        code = strcmp(what, "kernels") == 0  ? list_kernels(root, &e)
               : strcmp(what, "plants") == 0 ? list_plants(root, &e)
                                             : list_cases(root, patterns, pattern_count, all, &e);
    }
    if (code != EXIT_PASSED) {
        flush_output();
        usage_error("list", "%s", e.text);
    }
    free(root);
    return code;
}
