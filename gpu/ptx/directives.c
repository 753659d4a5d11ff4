/* Directives that declare no variable: the header, line information, limits of a function. PTX ISA 11. */
#include "internal.h"
#include <stdlib.h>
#include <string.h>

enum { LAST_MAJOR = 9, LAST_MINOR = 2 }; /* the version of PTX that the front end is written from */

/* A real architecture of the PTX ISA 11.1.2. Those with `a` code of their own begin with sm_90, families with sm_100.
 */
static bool is_target(const char *name) {
    static const unsigned known[] = {10, 11, 12, 13, 20, 21, 30, 32, 35, 37,  50,  52,  53,  60,  61, 62,
                                     70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121};
    char *end;
    if (strncmp(name, "sm_", 3) || name[3] < '1' || name[3] > '9')
        return false;
    const unsigned long sm = strtoul(name + 3, &end, 10);
    if ((*end == 'a' && sm >= 90) || (*end == 'f' && sm >= 100))
        end++;
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        found |= sm == known[i];
    return found && !*end;
}

bool parse_header(struct parser *p) {
    const struct token *t = &p->token;
    size_t at = t->at;
    if (!is_dotted(p, "version"))
        return fail_unexpected(p, "'.version' as the first statement");
    advance(p);
    if (t->kind != TOKEN_FLOAT || !t->is_double || t->size > 7 || !memchr(t->text, '.', t->size))
        return fail_unexpected(p, "a version such as 9.0");
    char text[8] = {0}, *point;
    memcpy(text, t->text, t->size);
    p->module->version_major = (unsigned)strtoul(text, &point, 10);
    if (*point != '.' || point[1] < '0' || point[1] > '9')
        return fail_unexpected(p, "a version such as 9.0");
    p->module->version_minor = (unsigned)strtoul(point + 1, &point, 10);
    if (*point)
        return fail_unexpected(p, "a version such as 9.0");
    if (!p->module->version_major || p->module->version_major > LAST_MAJOR ||
        (p->module->version_major == LAST_MAJOR && p->module->version_minor > LAST_MINOR))
        return fail_at(p, t->at, "PTX version %s is unknown; known are 1.0 to %d.%d", text, LAST_MAJOR, LAST_MINOR);
    advance(p);
    if (!is_dotted(p, "target"))
        return fail_unexpected(p, "'.target' after .version");
    advance(p);
    if (t->kind != TOKEN_WORD)
        return fail_unexpected(p, "a target such as sm_80");
    if (!(p->module->target = intern_name(p, t->text, t->size)))
        return false;
    if (!is_target(p->module->target))
        return fail_at(p, t->at, "target '%.80s' is unknown; known are sm_10 to sm_121", p->module->target);
    p->module->target_line = t->line;
    for (advance(p); accept_mark(p, ',');) { /* debug, texmode_independent ... */
        if (t->kind != TOKEN_WORD)
            return fail_unexpected(p, "an option of .target");
        advance(p);
    }
    if (!is_dotted(p, "address_size")) /* without it PTX means 32 bits */
        return fail_unexpected(p, "'.address_size 64' after .target");
    advance(p);
    at = t->at;
    uint64_t bits;
    if (!expect_unsigned(p, "an address size", UINT32_MAX, &bits))
        return false;
    if (bits != 64)
        return fail_at(p, at, "only .address_size 64 is supported");
    p->module->address_size = (unsigned)bits;
    return true;
}

/* .file NUMBER "PATH" [, TIMESTAMP, SIZE] */
bool parse_file(struct parser *p) {
    uint64_t number, unused;
    advance(p);
    if (!expect_unsigned(p, "a file number", MAX_FILES - 1, &number))
        return false;
    if (p->token.kind != TOKEN_STRING)
        return fail_unexpected(p, "a path in quotes");
    struct ptx_module *m = p->module;
    if (!m->files && !(m->files = take(p, MAX_FILES, sizeof *m->files)))
        return false;
    char *path = take(p, p->token.size + 1, 1);
    if (!path)
        return false;
    memcpy(path, p->token.text, p->token.size);
    m->files[number] = path;
    m->file_count = number + 1 > m->file_count ? number + 1 : m->file_count;
    for (advance(p); accept_mark(p, ',');) {
        if (!expect_unsigned(p, "a number", UINT64_MAX, &unused))
            return false;
    }
    return !p->failed;
}

/* ---- .loc FILE LINE COLUMN [, function_name LABEL [+ N], inlined_at FILE LINE COLUMN] ---- */

static size_t slot_of(const struct parser *p, const struct place_in_source *at) {
    uint64_t h = ((uint64_t)(uint32_t)at->file << 40) ^ ((uint64_t)(uint32_t)at->line << 14) ^ (uint32_t)at->column;
    h *= 0x9e3779b97f4a7c15;
    const struct inlined_edge *table = p->inlined.items;
    size_t mask = p->inlined.room - 1, slot = (h ^ h >> 31) & mask;
    while (table[slot].at.line && memcmp(&table[slot].at, at, sizeof *at))
        slot = (slot + 1) & mask;
    return slot;
}

static bool remember_inlined(struct parser *p, struct place_in_source at, struct place_in_source into) {
    if (2 * (p->inlined_count + 1) > p->inlined.room) {
        struct growing old = p->inlined;
        size_t room = old.room ? 2 * old.room : 64;
        void *items = calloc(room, sizeof into + sizeof at);
        if (!items)
            return fail_at(p, p->token.at, "no memory for %zu .loc lines", room);
        p->inlined = (struct growing){.items = items, .room = room};
        for (size_t i = 0; i < old.room; i++) {
            const struct inlined_edge *edge = (struct inlined_edge *)old.items + i;
            if (edge->at.line)
                ((struct inlined_edge *)items)[slot_of(p, &edge->at)] = *edge;
        }
        free(old.items);
    }
    struct inlined_edge *edge = (struct inlined_edge *)p->inlined.items + slot_of(p, &at);
    p->inlined_count += !edge->at.line;
    *edge = (struct inlined_edge){at, into};
    return true;
}

/* FNV-1a */
static uint64_t hash_place(uint64_t h, const struct place_in_source *at) {
    const uint32_t words[3] = {(uint32_t)at->file, (uint32_t)at->line, (uint32_t)at->column};
    for (int i = 0; i < 12; i++)
        h = (h ^ (words[i / 4] >> 8 * (i % 4) & 255)) * 0x100000001b3;
    return h;
}

enum { MOST_CALLS = 65 };

/* nvcc gives one step of inlining a line, the outer steps on .loc lines before: follow them outwards. *chain: the hash
 * of all steps. calls: (MOST_CALLS) `at` and all that follow; returns how many. */
static size_t follow(const struct parser *p, struct place_in_source at, uint64_t *chain, struct ptx_call_place *calls) {
    size_t count = 0;
    *chain = hash_place(*chain, &at);
    calls[count++] = (struct ptx_call_place){at.file, at.line};
    while (count < MOST_CALLS && p->inlined.room && at.line) {
        const struct inlined_edge *edge = (struct inlined_edge *)p->inlined.items + slot_of(p, &at);
        if (!edge->at.line)
            break;
        at = edge->into;
        *chain = hash_place(*chain, &at);
        calls[count++] = (struct ptx_call_place){at.file, at.line};
    }
    return count;
}

static bool parse_place(struct parser *p, struct place_in_source *out) {
    uint64_t file, line, column;
    if (!expect_unsigned(p, "a file number", MAX_FILES - 1, &file) ||
        !expect_unsigned(p, "a line number", INT32_MAX, &line) || !expect_unsigned(p, "a column", INT32_MAX, &column))
        return false;
    *out = (struct place_in_source){(int)file, (int)line, (int)column};
    return true;
}

static bool accept_word(struct parser *p, const char *word) {
    if (p->token.kind != TOKEN_WORD || p->token.size != strlen(word) || memcmp(p->token.text, word, p->token.size))
        return false;
    advance(p);
    return true;
}

bool parse_loc(struct parser *p) {
    struct place_in_source at, into = {-1, 0, 0};
    advance(p);
    if (!parse_place(p, &at))
        return false;
    bool inlined = false;
    while (accept_mark(p, ',')) {
        if (accept_word(p, "function_name")) {
            uint64_t unused;
            if (p->token.kind != TOKEN_WORD)
                return fail_unexpected(p, "a label");
            advance(p);
            if (accept_mark(p, '+') && !expect_unsigned(p, "an offset", UINT64_MAX, &unused))
                return false;
        } else if (accept_word(p, "inlined_at")) {
            if (!parse_place(p, &into))
                return false;
            inlined = into.line > 0;
        } else {
            return fail_unexpected(p, "function_name or inlined_at");
        }
    }
    bool known = at.line > 0; /* line 0: the compiler has no line for this code */
    if (known && inlined && !remember_inlined(p, at, into))
        return false;
    uint64_t chain = hash_place(0xcbf29ce484222325, &at);
    struct ptx_call_place calls[MOST_CALLS], *kept = NULL;
    const size_t count = known && inlined ? follow(p, into, &chain, calls) : 0;
    if (count && !(kept = take(p, count, sizeof *kept)))
        return false;
    if (count)
        memcpy(kept, calls, count * sizeof *kept);
    p->loc.inlined = kept;
    p->loc.inlined_count = count;
    p->loc.place = known ? chain : 0;
    p->loc.file = known ? at.file : -1;
    p->loc.line = known ? at.line : 0;
    p->loc.inlined_file = count ? calls[count - 1].file : -1;
    p->loc.inlined_line = count ? calls[count - 1].line : 0;
    return !p->failed;
}

/* .pragma "A" [, "B"]; : hints for ptxas. */
bool parse_pragma(struct parser *p) {
    do {
        advance(p);
        if (p->token.kind != TOKEN_STRING)
            return fail_unexpected(p, "a string");
        advance(p);
    } while (is_mark(p, ','));
    return expect_mark(p, ';');
}

/* .section NAME { ... }: debug information, of which .loc and .file are all that is wanted. */
bool skip_section(struct parser *p) {
    size_t at = p->token.at;
    advance(p);
    if (p->token.kind != TOKEN_DOTTED && p->token.kind != TOKEN_WORD)
        return fail_unexpected(p, "the name of a section");
    advance(p);
    if (!expect_mark(p, '{'))
        return false;
    for (size_t depth = 1; depth; advance(p)) {
        if (p->token.kind == TOKEN_BAD)
            return false;
        if (p->token.kind == TOKEN_END)
            return fail_at(p, at, "this section never ends");
        depth += is_mark(p, '{');
        depth -= is_mark(p, '}');
    }
    return !p->failed;
}

/* .attribute(.managed), .attribute(.unified(1, 2)) */
bool parse_attribute(struct parser *p) {
    size_t at = p->token.at;
    advance(p);
    if (!expect_mark(p, '('))
        return false;
    for (size_t depth = 1; depth; advance(p)) {
        if (p->token.kind == TOKEN_BAD)
            return false;
        if (p->token.kind == TOKEN_END || is_mark(p, ';') || is_mark(p, '{'))
            return fail_at(p, at, "this attribute never ends");
        depth += is_mark(p, '(');
        depth -= is_mark(p, ')');
    }
    return !p->failed;
}

/* X [, Y [, Z]]; an axis not given is 1. */
static bool parse_extent(struct parser *p, unsigned out[3]) {
    out[1] = out[2] = 1;
    for (int axis = 0; axis < 3; axis++) {
        uint64_t value;
        if (axis && !accept_mark(p, ','))
            return true;
        if (!expect_unsigned(p, "a number of threads or blocks", INT32_MAX, &value))
            return false;
        out[axis] = (unsigned)value;
    }
    return true;
}

bool parse_function_directives(struct parser *p, struct ptx_function *f) {
    static const char *const with_number[] = {"minnctapersm",   "maxnctapersm", "maxnreg",
                                              "maxclusterrank", "abi_preserve", "abi_preserve_control"};
    static const char *const alone[] = {"noreturn", "explicitcluster", "blocksareclusters"};
    while (p->token.kind == TOKEN_DOTTED) {
        uint64_t unused;
        unsigned *extent = is_dotted(p, "maxntid")             ? f->maxntid
                           : is_dotted(p, "reqntid")           ? f->reqntid
                           : is_dotted(p, "reqnctapercluster") ? f->cluster
                                                               : NULL;
        bool number = false, bare = false;
        for (size_t i = 0; i < sizeof with_number / sizeof *with_number; i++)
            number |= is_dotted(p, with_number[i]);
        for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
            bare |= is_dotted(p, alone[i]);
        if (is_dotted(p, "pragma")) {
            if (!parse_pragma(p))
                return false;
            continue;
        }
        if (!extent && !number && !bare)
            return fail_unexpected(p, "a directive of the function, '{' or ';'");
        advance(p);
        if (extent && !parse_extent(p, extent))
            return false;
        if (number && !expect_unsigned(p, "a number", UINT32_MAX, &unused))
            return false;
    }
    return !p->failed;
}
