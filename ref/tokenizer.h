/* Text to token ids and back, by the vocabulary of a GGUF file (tokenizer.ggml.*).
 *
 * Two kinds, by tokenizer.ggml.model:
 *   "llama"  SentencePiece style: spaces become U+2581, characters are merged to the token of the highest score, the
 *            leftmost of equals first, and a character that is no token becomes its bytes, <0xNN>.
 *            Source: SentencePiece, model type BPE, byte_fallback, identity normalisation.
 *   "gpt2"   byte-level BPE: a pre-tokeniser (tokenizer.ggml.pre) cuts the text, each piece's bytes are merged in the
 *            order of the file's merges. Served: gpt-2, qwen2, llama-bpe, default (tokenizer_pre.c). Text is not
 *            normalised: Qwen's own tokeniser composes it first (NFC), llama.cpp does not.
 * Anything else is refused by name.
 *
 * Control tokens in the text are NOT parsed: "<bos>" is five characters of text. User-defined tokens are: before
 * anything else, the longest first, of equal length the lower id, then from left to right (as llama.cpp does).
 * Text never becomes a control, unknown, unused or (but by its byte) byte token. */
#ifndef REF_TOKENIZER_H
#define REF_TOKENIZER_H

#include "gguf.h"

enum { TOKEN_NONE = -1 }; /* as an id: (uint32_t)TOKEN_NONE, there is none */

struct tokenizer_info {
    const char *model, *pre;    /* "llama" or "gpt2"; the pre-tokeniser, "" of the first kind */
    uint32_t size;              /* tokens; ids are 0 .. size-1 */
    uint32_t bos, eos, unknown; /* ids, or TOKEN_NONE */
    bool add_bos;               /* the file wants the begin-of-sequence token before a prompt */
};

struct tokenizer;

/* The tokenizer of a file, which must stay open as long as it is used. On failure NULL, with one line "PATH: what".
 * Refused, beside what is not served: arrays of other types or lengths than the tokens', ids out of range, scores that
 * are not finite, byte tokens that are not each <0xNN> once or not all there, merges that name no tokens; and of the
 * normal and user-defined tokens: empty ones, over 1,024 bytes, two with the same text. Where a merge is named twice,
 * the first counts. */
struct tokenizer *tokenizer_open(const struct gguf_file *f, struct error *e);
void tokenizer_free(struct tokenizer *t); /* t may be NULL */

const struct tokenizer_info *tokenizer_info(const struct tokenizer *t);

/* The text of token `id` as the file has it ("▁the", "<0x0A>"), in the file, not NUL-terminated; *length: its
 * bytes. NULL when id is out of range. */
const uint8_t *tokenizer_text(const struct tokenizer *t, uint32_t id, size_t *length);

/* *ids = (*count) the token ids of text (length bytes of UTF-8, at most 2^28; NUL is a character), after the
 * begin-of-sequence token with add_bos; the caller frees it. The end-of-sequence token is never added. False, with
 * nothing to free: text that is no UTF-8 (with the byte's place), a character that has no token and no bytes, or
 * add_bos without such a token. Time: n log n in the longest piece between spaces; an n of 10^7 takes seconds. */
bool tokenizer_encode(const struct tokenizer *t, const char *text, size_t length, bool add_bos, uint32_t **ids,
                      size_t *count, struct error *e);

/* The text of ids[0 .. count-1], NUL-terminated, which the caller frees; *length, where length is given: its bytes
 * without that NUL. Byte tokens are put together; whether the result is UTF-8 is up to the ids: print it by
 * ref/printable.h. Control, unknown and unused tokens are no text. Where the file says that a space goes before every
 * text (add_space_prefix), the first space is dropped. NULL when an id is out of range. */
char *tokenizer_decode_bytes(const struct tokenizer *t, const uint32_t *ids, size_t count, size_t *length);
char *tokenizer_decode(const struct tokenizer *t, const uint32_t *ids, size_t count);

#endif
