/* What the files of the tokenizer share. Nothing else includes this, but tests. */
#ifndef REF_TOKENIZER_PARTS_H
#define REF_TOKENIZER_PARTS_H

#include "tokenizer.h"

#define NO_TOKEN ((uint32_t)TOKEN_NONE)

enum token_type { /* tokenizer.ggml.token_type */
                  TOKEN_NORMAL = 1,
                  TOKEN_UNKNOWN,
                  TOKEN_CONTROL,
                  TOKEN_USER_DEFINED,
                  TOKEN_UNUSED,
                  TOKEN_BYTE,
};

enum {
    MOST_TOKENS = 1 << 24,
    MOST_TOKEN_BYTES = 1024, /* of a normal or user-defined token: bounds the work of a character */
    MOST_TEXT = 1 << 28,
    MOST_PROBES = 1000, /* a vocabulary never comes near it; one made to collide would make tables quadratic */
};

struct token {
    const uint8_t *text; /* (length) in the file */
    uint64_t length;
    enum token_type type;
};

struct token_slot { /* of the table text -> id */
    uint32_t id, tag;
};

struct merge_slot {         /* of the table of merges; rank NO_TOKEN: empty */
    uint64_t pair;          /* left id << 32 | right id */
    uint32_t rank, product; /* place in the file; the id of both texts together */
};

struct tokenizer {
    struct tokenizer_info info;
    const struct gguf_file *file;
    bool bpe, space_prefix;
    struct token *tokens; /* (info.size) */
    uint64_t longest;     /* bytes of the longest token that merging can make */
    struct token_slot *slots;
    size_t slot_mask; /* slots - 1 */
    uint32_t byte_id[256];

    uint32_t *rank;         /* llama: (info.size) lower is better: the score, as an ordered integer */
    bool before_space[256]; /* llama: a token has this byte right before U+2581 */

    struct merge_slot *merges; /* gpt2 */
    size_t merge_mask;
    bool whole_words;                                                   /* a piece that is a token is not merged */
    size_t (*piece)(const uint32_t *c, const uint8_t *class, size_t n); /* tokenizer_pre.c */

    size_t user_count;
    uint32_t *user;           /* (user_count) ids of user-defined tokens, by their text */
    uint32_t *user_rank;      /* (user_count) of user[i]: its place when the longest goes first */
    uint32_t *user_of_rank;   /* (user_count) */
    uint32_t user_first[257]; /* user[user_first[b] .. user_first[b+1]-1] begin with byte b */
};

/* Writes "PATH: message" and returns false. */
bool tokenizer_refuse(const struct tokenizer *t, struct error *e, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Merging can make tokens of this type. User-defined ones are literal text: with U+2581 for a space, "▁x" would be made
 * of " x"; among the merges of a byte-level vocabulary they may stand between. */
static inline bool token_is_merged(const struct tokenizer *t, enum token_type type) {
    return type == TOKEN_NORMAL || (t->bpe && type == TOKEN_USER_DEFINED);
}

/* ---- tokenizer_lookup.c: text -> id ---- */

uint64_t token_hash(const uint8_t *text, size_t length);
bool lookup_build(struct tokenizer *t, struct error *e);
/* The token that merging can make with this text, or NO_TOKEN. */
uint32_t lookup(const struct tokenizer *t, const uint8_t *text, size_t length);

/* ---- tokenizer_merge.c: merging pairs of symbols, the best first ---- */

struct id_list {
    uint32_t *id; /* (count) owned */
    size_t count, room;
};
void push_id(struct id_list *list, uint32_t id);

struct key_heap {
    uint64_t *key; /* (count) owned; key[0] is the least */
    size_t count, room;
};
void heap_push(struct key_heap *h, uint64_t key);
uint64_t heap_pop(struct key_heap *h); /* the least; count > 0 */

enum { MERGE_END = UINT32_MAX, MERGE_NO_RANK = UINT32_MAX };

struct merge_symbol { /* a run of the text that is one token, or, with NO_TOKEN, one character */
    uint64_t key;     /* in the heap: rank << 32 | this symbol, of the pair with the next one; all ones: none */
    uint32_t start;   /* first byte; the end is the start of the next symbol */
    uint32_t id, previous, next, product;
};

struct merge_work {
    const uint8_t *text; /* what `start` counts in */
    uint32_t end;        /* byte after the last symbol */
    struct merge_symbol *symbol;
    size_t count, room;
    struct key_heap heap;
    struct id_list ids; /* the result of the whole encoding */
    uint8_t *bytes;     /* scratch of the caller's */
    size_t bytes_room;
};
void merge_add(struct merge_work *w, uint32_t start, uint32_t id); /* one more symbol, at the end */

/* The rank (lower merges first; MERGE_NO_RANK: never) of two neighbours, and what they become. */
typedef uint32_t merge_rank(const struct tokenizer *t, const struct merge_work *w, const struct merge_symbol *left,
                            const struct merge_symbol *right, uint32_t *product);
/* Merges while any pair has a rank: the lowest rank first, the leftmost of equals. Symbol 0 stays the first. */
void merge_all(const struct tokenizer *t, struct merge_work *w, merge_rank *rank);
void merge_free(struct merge_work *w);

/* ---- tokenizer_user.c: user-defined tokens ---- */

bool user_build(struct tokenizer *t, struct error *e);
/* matches = (*count) at << 32 | id of the user-defined tokens in text, ascending, not overlapping; the caller frees
 * them. */
uint64_t *user_matches(const struct tokenizer *t, const uint8_t *text, size_t length, size_t *count);

/* ---- tokenizer_spm.c, tokenizer_bpe.c: a run of text between user-defined tokens ---- */

bool spm_build(struct tokenizer *t, struct error *e);
/* Appends to w->ids. prefix: a space goes before the text. */
bool spm_encode(const struct tokenizer *t, struct merge_work *w, const uint8_t *text, size_t length, bool prefix,
                struct error *e);
bool bpe_build(struct tokenizer *t, struct error *e);
bool bpe_encode(const struct tokenizer *t, struct merge_work *w, const uint8_t *text, size_t length, struct error *e);
/* The byte that character c of a token stands for, or -1. */
int bpe_byte(uint32_t c);

/* ---- tokenizer_pre.c ---- */

/* A pre-tokeniser: how many of the n >= 1 characters c (their classes: class) its first piece has, at least 1. */
struct pre_tokenizer {
    const char *name;
    size_t (*piece)(const uint32_t *c, const uint8_t *class, size_t n);
    bool whole_words, add_bos;
};
const struct pre_tokenizer *pre_tokenizer_named(const uint8_t *name, size_t length);
const char *pre_tokenizer_names(void); /* "gpt-2, qwen2, ..." */

/* ---- reading keys ---- */

#define ANY_COUNT UINT64_MAX

/* The array of `item` under the key, with `count` elements (or ANY_COUNT); NULL, and *e set, when it is not there. */
const struct gguf_entry *tokenizer_array(const struct tokenizer *t, const char *key, enum gguf_value_type item,
                                         uint64_t count, struct error *e);

#endif
