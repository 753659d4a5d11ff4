#include "digest.h"
#include "../ref/checked.h"
#include "ptx/ptx.h"
#include "raw.h"
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hash {
    EVP_MD_CTX *context;
    bool good;
};

static struct hash begin(void) {
    struct hash h = {EVP_MD_CTX_new(), true};
    h.good = h.context != NULL && EVP_DigestInit_ex(h.context, EVP_sha256(), NULL) == 1;
    return h;
}

static void take(struct hash *h, const void *bytes, size_t size) {
    h->good = h->good && (size == 0 || EVP_DigestUpdate(h->context, bytes, size) == 1);
}

/* A line of text. */
__attribute__((format(printf, 2, 3))) static void say(struct hash *h, const char *format, ...) {
    char *line = NULL;
    va_list args;
    va_start(args, format);
    const int n = vasprintf(&line, format, args);
    va_end(args);
    h->good = h->good && n >= 0;
    if (n >= 0) {
        take(h, line, (size_t)n + 1);
        free(line);
    }
}

static bool end(struct hash *h, char hex[DIGEST_HEX]) {
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    const bool good = h->good && EVP_DigestFinal_ex(h->context, bytes, &length) == 1 && length == 32;
    for (unsigned i = 0; good && i < length; ++i) {
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    }
    hex[good ? 64 : 0] = 0;
    EVP_MD_CTX_free(h->context);
    return good;
}

static void take_launch(struct hash *h, const struct launch *l) {
    say(h, "entry %s grid %u %u %u block %u %u %u shared %zu arguments %zu", l->entry, l->grid[0], l->grid[1],
        l->grid[2], l->block[0], l->block[1], l->block[2], l->shared_bytes, l->arg_count);
    uint64_t *numbers = must_calloc(l->buffer_count + 1, sizeof *numbers);
    for (size_t i = 0; i < l->buffer_count; ++i) {
        numbers[i] = i;
    }
    for (size_t i = 0; i < l->arg_count; ++i) {
        uint8_t *bytes = must_calloc(l->args[i].bytes + 1, 1);
        launch_arg_bytes(&l->args[i], numbers, bytes);
        say(h, "%s of %zu bytes", l->args[i].buffer >= 0 ? "buffer" : "value", l->args[i].bytes);
        take(h, bytes, l->args[i].bytes);
        free(bytes);
    }
    free(numbers);
}

bool digest_inputs(const struct bound *b, char hex[DIGEST_HEX]) {
    static const char *const roles[] = {"in", "out", "inout", "scratch"};
    struct hash h = begin();
    take_launch(&h, &b->launch);
    for (size_t i = 0; i < b->then_count; ++i) {
        take_launch(&h, &b->then[i].launch);
    }
    for (size_t i = 0; i < b->launch.buffer_count; ++i) {
        const struct launch_buffer *buffer = &b->launch.buffers[i];
        say(&h, "%s %s of %zu bytes", roles[buffer->role], buffer->name, buffer->bytes);
        if (buffer->role == BUFFER_IN || buffer->role == BUFFER_INOUT) {
            take(&h, buffer->data, buffer->bytes);
        }
    }
    return end(&h, hex);
}

bool digest_outputs(const struct launch *l, const uint8_t *const *replaced, char hex[DIGEST_HEX]) {
    struct hash h = begin();
    for (size_t i = 0; i < l->buffer_count; ++i) {
        const struct launch_buffer *b = &l->buffers[i];
        if (b->role == BUFFER_OUT || b->role == BUFFER_INOUT) {
            take(&h, replaced != NULL && replaced[i] != NULL ? replaced[i] : b->data, b->bytes);
        }
    }
    return end(&h, hex);
}

bool digest_program(const struct ptx_module *m, char hex[DIGEST_HEX], struct error *e) {
    return sha256_hex(m->text, m->text_bytes, hex) || fail(e, "cannot compute the sha256 of %s", m->path);
}

char *program_tools(const struct ptx_module *m) {
    static const char lead[] = "// Cuda compilation tools, ";
    const char *at = strstr(m->text, lead);
    const size_t n = at != NULL ? strcspn(at, "\r\n") : 0;
    return at != NULL ? must_format("%.*s", (int)(n < 200 ? n - 3 : 0), at + 3) : NULL;
}

char *program_toolkit(const struct ptx_module *m) {
    char *tools = program_tools(m);
    const char *at = tools != NULL ? strstr(tools, ", V") : NULL;
    const size_t n = at != NULL ? strspn(at + 2, "V.0123456789") : 0;
    char *release = n > 1 && n < 32 ? must_format("%.*s", (int)n, at + 2) : NULL;
    free(tools);
    return release;
}
