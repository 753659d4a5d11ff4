#include "inspect_tokens.h"
#include "../ref/checked.h"
#include "../ref/printable.h"
#include "../ref/tokenizer.h"
#include "command.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_tokens(const struct tokenizer *t, const uint32_t *ids, size_t count) {
    printf("%zu token%s\n", count, plural(count));
    for (size_t i = 0; i < count; i++)
        printf("%s%" PRIu32, i > 0 ? " " : "", ids[i]);
    puts(count > 0 ? "\n" : "");
    for (size_t i = 0; i < count; i++) {
        char shown[256];
        size_t length;
        const uint8_t *text = tokenizer_text(t, ids[i], &length);
        printf("%8" PRIu32 "  \"%s\"\n", ids[i], printable(shown, sizeof shown, text, length));
    }
}

static bool tokenize(const struct gguf_file *f, const char *text, struct error *e) {
    struct tokenizer *t = tokenizer_open(f, e);
    uint32_t *ids = NULL;
    size_t count;
    const bool good = t && tokenizer_encode(t, text, strlen(text), tokenizer_info(t)->add_bos, &ids, &count, e);
    if (good)
        print_tokens(t, ids, count);
    free(ids);
    tokenizer_free(t);
    return good;
}

int inspect_tokens(const char *path, const char *text) {
    struct error e;
    struct gguf_file *f = gguf_open(path, &e);
    const bool good = f && tokenize(f, text, &e);
    gguf_close(f);
    return good ? EXIT_PASSED : usage_error("inspect", "%s", e.text);
}
