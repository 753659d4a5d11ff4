/* Usage: witness independent [--blocks N] [NAME...]     ref/ against tests/independent
 *        witness ggml FOLDER [--decoders] [--blocks N] [NAME...]
 *                                                          ref/ against ggml's libraries in this folder
 *        witness formats                                  the names of ref's block formats, one a line
 *        witness dump FORMAT N                            N blocks, then their values as ref decodes them, to stdout
 *        witness quantised FORMAT N                       values of N blocks, then the blocks that ref makes of them;
 *                                                         nothing where the format has no closed quantiser
 * NAME: a block format, an activation format or a contract; without one, all of them. Blocks N come on top of the
 * adversarial ones. Exit: 0 all equal, 1 a difference, 2 usage or no library, 3 nothing ran. */
#include "../../ref/activation.h"
#include "../../ref/contract.h"
#include "witness.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

static int usage(const char *text, const char *what) {
    fprintf(stderr,
            "witness: %s%s%s; usage: witness independent|ggml FOLDER [--decoders] [--blocks N] [NAME...], "
            "witness formats, witness dump|quantised FORMAT N\n",
            text, what ? " " : "", what ? what : "");
    return EXIT_USAGE;
}

static bool number_of(const char *text, size_t *n) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *n = value;
    return !errno && end != text && !*end && value <= 1u << 30;
}

static char **wanted_names; /* the rest of the command line */
static int wanted_count;

bool wanted(const char *name) {
    for (int i = 0; i < wanted_count; i++)
        if (!strcmp(wanted_names[i], name))
            return true;
    return !wanted_count;
}

static int dump(const char *what, const char *name, const char *count) {
    const struct block_format *f = format_named(name);
    size_t blocks;
    if (!f || !number_of(count, &blocks))
        return usage("no such format or number:", name);
    if (!strcmp(what, "quantised")) {
        dump_quantised(f, blocks);
        return fflush(stdout) || ferror(stdout) ? EXIT_USAGE : 0;
    }
    uint8_t block[FORMAT_MOST_VALUES * 4];
    float out[FORMAT_MOST_VALUES];
    for (int values = 0; values < 2; values++)
        for (size_t i = 0; i < blocks; i++) {
            block_of(f, i, true, block);
            f->dequantize(block, out);
            if (values)
                fwrite(out, sizeof *out, f->block_values, stdout);
            else
                fwrite(block, 1, f->block_bytes, stdout);
        }
    return fflush(stdout) || ferror(stdout) ? EXIT_USAGE : 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "formats")) {
        for (const struct block_format *const *f = block_formats; *f; f++)
            puts((*f)->name);
        return 0;
    }
    if (argc == 4 && (!strcmp(argv[1], "dump") || !strcmp(argv[1], "quantised")))
        return dump(argv[1], argv[2], argv[3]);
    bool ggml = argc > 2 && !strcmp(argv[1], "ggml");
    if (!ggml && (argc < 2 || strcmp(argv[1], "independent")))
        return usage("what to compare with?", NULL);
    int at = ggml ? 3 : 2;
    bool decoders = at < argc && !strcmp(argv[at], "--decoders");
    at += decoders;
    size_t blocks = ggml ? 1000000 : 20000;
    if (at < argc && !strcmp(argv[at], "--blocks")) {
        if (at + 1 >= argc || !number_of(argv[at + 1], &blocks))
            return usage("--blocks needs a number", NULL);
        at += 2;
    }
    wanted_names = argv + at;
    wanted_count = argc - at;
    for (int i = at; i < argc; i++)
        if (!format_named(argv[i]) && !activation_named(argv[i]) && !contract_named(argv[i]))
            return usage("no such format or contract:", argv[i]);
    if (ggml && !ggml_open(argv[2]))
        return EXIT_USAGE;

    for (const struct block_format *const *row = block_formats; *row; row++) {
        const struct block_format *f = *row;
        if (!wanted(f->name))
            continue;
        if (ggml) {
            compare_ggml_decoder(f, blocks);
            if (decoders)
                continue;
            compare_quantiser(f, blocks);
            compare_integers(f, blocks / 10);
        } else {
            compare_independent(f, blocks);
        }
    }
    if (ggml && !decoders) {
        compare_activation_quantisers(blocks);
        compare_contracts();
    }
    return report_totals();
}
