/* Planted faults of ref/: a wrong decoder (fixtures/plants/decoder) must turn the comparison with tests/independent red
 * under the name of its format. ci/witness demands the same of the comparison with ggml, and of the other plants. */
#include "../ref/checked.h"
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* The folder of the binary under test: the witness and its planted builds lie beside it. */
static char *build_folder(void) {
    const char *given = getenv("WARPPROOF"), *slash = given ? strrchr(given, '/') : NULL;
    return slash ? must_format("%.*s", (int)(slash - given), given) : must_format("build");
}

/* The exit code of a command, or -1; its output, cut at size - 1 characters, in text. */
static int run(const char *command, char *text, size_t size) {
    FILE *pipe = popen(command, "r");
    cr_assert(pipe != NULL, "cannot run %s", command);
    size_t length = fread(text, 1, size - 1, pipe);
    text[length] = 0;
    char rest[4096];
    while (fread(rest, 1, sizeof rest, pipe) > 0)
        ;
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The text after "red: " in a plant's .yaml, "FORMAT dequantize"; format: the word before the blank. */
static void read_red(const char *patch, char format[64]) {
    char *path = must_format("%.*s.yaml", (int)strlen(patch) - (int)strlen(".patch"), patch), line[256], check[64] = "";
    FILE *file = fopen(path, "r");
    cr_assert(file != NULL, "%s is missing", path);
    *format = 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "red: %63s %63s", format, check) == 2)
            break;
    fclose(file);
    cr_assert(!strcmp(check, "dequantize"), "%s: 'red: FORMAT dequantize' expected", path);
    free(path);
}

Test(planted, wrong_decoders_are_named_by_the_second_decoder) {
    char *folder = build_folder(), text[1 << 16];
    glob_t patches;
    cr_assert(!glob("fixtures/plants/decoder/*.patch", 0, NULL, &patches), "no planted decoders");
    for (size_t i = 0; i < patches.gl_pathc; i++) {
        const char *patch = patches.gl_pathv[i], *name = strrchr(patch, '/') + 1;
        char format[64], said[128];
        read_red(patch, format);
        for (int planted = 0; planted < 2; planted++) { /* the right decoder first: it must be green */
            char *command = planted ? must_format("%s/planted/decoder/%.*s/witness independent --blocks 1000 %s 2>&1",
                                                  folder, (int)strlen(name) - (int)strlen(".patch"), name, format)
                                    : must_format("%s/witness independent --blocks 1000 %s 2>&1", folder, format);
            int code = run(command, text, sizeof text);
            snprintf(said, sizeof said, "%-4s  independent  %-14s  dequantize", planted ? "FAIL" : "ok", format);
            cr_expect(code == planted && strstr(text, said), "%s: exit %d, want %d and '%s' in:\n%s", command, code,
                      planted, said, text);
            free(command);
        }
    }
    globfree(&patches);
    free(folder);
}
