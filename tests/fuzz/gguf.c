/* libFuzzer target: the GGUF reader, the scan, the tokenizer and the decoder of what it accepts, over any bytes. The
 * sanitisers judge; beside them, a file is accepted whole or as cut short, never both ways differently. */
#include "../../ref/decoder_product.h"
#include "../../ref/gguf_scan.h"
#include "../../ref/tokenizer.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_SCANNED = 1 << 16, MOST_TENSORS = 4 };

static void look_at(const struct gguf_file *f) {
    size_t scanned = 0;
    for (size_t i = 0; i < f->tensor_count; i++) {
        const struct gguf_tensor *t = &f->tensors[i];
        if (!t->data || !t->format || t->bytes > MOST_SCANNED || scanned++ >= MOST_TENSORS)
            continue;
        struct gguf_scan scan;
        if (!gguf_scan(t, &scan, NULL))
            abort();
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < f->entry_count; i++)
        for (uint64_t k = 0; k < f->entries[i].length; k++)
            sum += f->entries[i].bytes[k];
    static volatile uint64_t sink;
    sink = sum; /* so that the reads stay */
}

/* A text and its way back; and one id beyond the last. */
static void tokenize(const struct gguf_file *f) {
    static const char text[] = "  abba [x]\n\n1234's \xc3\xa9\xe2\x96\x81\xf0\x9f\xa6\x84";
    struct error e = {""};
    struct tokenizer *t = tokenizer_open(f, &e);
    uint32_t *ids;
    size_t count;
    if (!t && !e.text[0])
        abort();
    if (t && tokenizer_encode(t, text, sizeof text, false, &ids, &count, &e)) {
        char *back = tokenizer_decode(t, ids, count);
        if (!back)
            abort();
        free(back);
        free(ids);
        if (tokenizer_decode(t, &(uint32_t){tokenizer_info(t)->size}, 1))
            abort();
    }
    tokenizer_free(t);
}

/* One token through a model. */
static void decode(const struct gguf_file *f) {
    struct error e = {""};
    const struct decoder_arm arm = {.product = product_plain_arm};
    struct decoder_model *m = decoder_model_open(f, &e);
    struct decoder *d = m ? decoder_open(m, 1, &e) : NULL;
    float *logits = m ? calloc(m->vocabulary, sizeof *logits) : NULL;
    const uint32_t id = 0;
    struct decoder_choice choice;
    if (!d && !e.text[0])
        abort();
    if (d && logits && decoder_feed(d, &id, 1, &arm, logits, &e) &&
        decoder_choose(logits, m->vocabulary, &choice, &e) && choice.id >= m->vocabulary)
        abort();
    free(logits);
    decoder_close(d);
    decoder_model_close(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct error e = {""}, cut_error = {""};
    struct gguf_file *f = gguf_parse("fuzz.gguf", bytes, size, &e);
    struct gguf_file *cut = gguf_parse_cut("fuzz.gguf", bytes, size, &cut_error);
    if ((!f && !e.text[0]) || (!cut && !cut_error.text[0]) || (f && !cut) ||
        (cut && cut->cut && (f || !cut->missing.text[0])) || (cut && !cut->cut && !f))
        abort();
    if (f) {
        look_at(f);
        tokenize(f);
        decode(f);
    }
    if (cut)
        look_at(cut);
    gguf_close(f);
    gguf_close(cut);
    return 0;
}
