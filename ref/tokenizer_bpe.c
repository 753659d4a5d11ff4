/* Byte-level BPE: pieces of the pre-tokeniser, their bytes merged in the order of the file's merges. */
#include "checked.h"
#include "printable.h"
#include "tokenizer_parts.h"
#include "unicode_classes.h"
#include "utf8.h"
#include <string.h>

/* ---- bytes as characters ----
 * The vocabulary writes a byte as a character that can be seen: the printable ones of Latin-1 stand for themselves, the
 * other 68 bytes, ascending, are U+0100 and on. Source: GPT-2, bytes_to_unicode. */

static bool is_itself(uint32_t byte) {
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xff && byte != 0xad);
}

int bpe_byte(uint32_t c) {
    if (c < 0x100)
        return is_itself(c) ? (int)c : -1;
    uint32_t nth = c - 0x100;
    for (int byte = 0; byte < 0x100; byte++)
        if (!is_itself((uint32_t)byte) && nth-- == 0)
            return byte;
    return -1;
}

static uint32_t character_of_byte(uint32_t byte) {
    if (is_itself(byte))
        return byte;
    uint32_t c = 0x100;
    for (uint32_t b = 0; b < byte; b++)
        c += !is_itself(b);
    return c;
}

/* ---- the merges ---- */

static size_t pair_slot(const struct tokenizer *t, uint64_t pair) {
    const uint64_t h = pair * 0x9e3779b97f4a7c15u;
    return (h ^ h >> 32) & t->merge_mask;
}

static struct merge_slot *find_merge(const struct tokenizer *t, uint64_t pair) {
    size_t at = pair_slot(t, pair);
    while (t->merges[at].rank != MERGE_NO_RANK && t->merges[at].pair != pair)
        at = (at + 1) & t->merge_mask;
    return &t->merges[at];
}

static bool add_merge(struct tokenizer *t, uint32_t rank, const uint8_t *text, uint64_t length, struct error *e) {
    char shown[128];
    const uint8_t *gap = length > 1 ? memchr(text + 1, ' ', length - 1) : NULL;
    if (!gap || gap + 1 == text + length)
        return tokenizer_refuse(t, e, "merge %u, \"%s\", is not two texts with a space between", rank,
                                printable(shown, sizeof shown, text, length));
    const size_t left = (size_t)(gap - text), right = (size_t)length - left - 1;
    const uint32_t a = lookup(t, text, left), b = lookup(t, gap + 1, right);
    uint8_t both[MOST_TOKEN_BYTES];
    uint32_t product = NO_TOKEN;
    if (left + right <= t->longest) {
        memcpy(both, text, left);
        memcpy(both + left, gap + 1, right);
        product = lookup(t, both, left + right);
    }
    if (a == NO_TOKEN || b == NO_TOKEN || product == NO_TOKEN)
        return tokenizer_refuse(t, e, "merge %u, \"%s\": %s no normal token", rank,
                                printable(shown, sizeof shown, text, length),
                                a == NO_TOKEN   ? "its left side is"
                                : b == NO_TOKEN ? "its right side is"
                                                : "both together are");
    const uint64_t pair = (uint64_t)a << 32 | b;
    size_t at = pair_slot(t, pair);
    for (size_t probes = 0; t->merges[at].rank != MERGE_NO_RANK; probes++, at = (at + 1) & t->merge_mask) {
        if (t->merges[at].pair == pair)
            return true; /* named twice: the first counts */
        if (probes >= MOST_PROBES)
            return tokenizer_refuse(t, e, "over %d merges share a hash: made to, and not served", MOST_PROBES);
    }
    t->merges[at] = (struct merge_slot){pair, rank, product};
    return true;
}

static bool read_merges(struct tokenizer *t, struct error *e) {
    const struct gguf_entry *merges = tokenizer_array(t, "tokenizer.ggml.merges", GGUF_STRING, ANY_COUNT, e);
    if (!merges)
        return false;
    if (merges->count > MOST_TOKENS)
        return tokenizer_refuse(t, e, "%llu merges, at most %d are served", (unsigned long long)merges->count,
                                MOST_TOKENS);
    size_t slots = 16;
    while (slots < 2 * (size_t)merges->count)
        slots *= 2;
    t->merges = must_calloc(slots, sizeof *t->merges);
    t->merge_mask = slots - 1;
    for (size_t i = 0; i < slots; i++)
        t->merges[i].rank = MERGE_NO_RANK;
    const uint8_t *p = merges->bytes;
    for (uint32_t i = 0; i < merges->count; i++) {
        const uint64_t length = gguf_number(p, 8);
        if (!add_merge(t, i, p + 8, length, e))
            return false;
        p += 8 + length;
    }
    return true;
}

bool bpe_build(struct tokenizer *t, struct error *e) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint8_t character[4];
        t->byte_id[byte] = lookup(t, character, utf8_encode(character_of_byte(byte), character));
    }
    return read_merges(t, e);
}

static uint32_t rank(const struct tokenizer *t, const struct merge_work *w, const struct merge_symbol *left,
                     const struct merge_symbol *right, uint32_t *product) {
    (void)w;
    const struct merge_slot *m = find_merge(t, (uint64_t)left->id << 32 | right->id);
    *product = m->product;
    return m->rank;
}

/* The token of a whole piece, written as the vocabulary does, or NO_TOKEN. */
static uint32_t whole_piece(const struct tokenizer *t, const uint8_t *text, size_t length) {
    uint8_t written[MOST_TOKEN_BYTES + 4];
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        if (n >= t->longest)
            return NO_TOKEN;
        n += utf8_encode(character_of_byte(text[i]), written + n);
    }
    return lookup(t, written, n);
}

static bool encode_piece(const struct tokenizer *t, struct merge_work *w, const uint8_t *text, size_t length,
                         struct error *e) {
    const uint32_t whole = t->whole_words ? whole_piece(t, text, length) : NO_TOKEN;
    if (whole != NO_TOKEN) {
        push_id(&w->ids, whole);
        return true;
    }
    w->count = 0;
    for (size_t i = 0; i < length; i++) {
        if (t->byte_id[text[i]] == NO_TOKEN)
            return tokenizer_refuse(t, e, "no token for the byte 0x%02x of the text", text[i]);
        merge_add(w, (uint32_t)i, t->byte_id[text[i]]);
    }
    w->end = (uint32_t)length;
    merge_all(t, w, rank);
    for (uint32_t i = 0; i != MERGE_END; i = w->symbol[i].next)
        push_id(&w->ids, w->symbol[i].id);
    return true;
}

bool bpe_encode(const struct tokenizer *t, struct merge_work *w, const uint8_t *text, size_t length, struct error *e) {
    const size_t need = 5 * length; /* of each character: itself, 4 bytes, and its class, 1 byte */
    if (need > w->bytes_room) {
        w->bytes = must_realloc(w->bytes, need, 1);
        w->bytes_room = need;
    }
    uint32_t *c = (uint32_t *)(void *)w->bytes;
    uint8_t *class = w->bytes + 4 * length;
    size_t n = 0;
    for (size_t at = 0; at < length; n++) {
        at += utf8_decode(text + at, length - at, &c[n]);
        class[n] = (uint8_t)unicode_class(c[n]);
    }
    size_t at = 0; /* byte of the text that character i begins at */
    for (size_t i = 0, piece; i < n; i += piece) {
        piece = t->piece(c + i, class + i, n - i);
        size_t bytes = 0;
        for (size_t k = i; k < i + piece; k++)
            bytes += c[k] < 0x80 ? 1 : c[k] < 0x800 ? 2 : c[k] < 0x10000 ? 3 : 4;
        if (!encode_piece(t, w, text + at, bytes, e))
            return false;
        at += bytes;
    }
    return true;
}
