#include "yaml.h"
#include "../ref/checked.h"
#include <errno.h>
#include <fcntl.h>
#include <libfyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_FILE = 4 << 20,
    MAX_DEPTH = 32,
    MAX_BRACKETS = 10000,
    MAX_MARKS = 1 << 19,
    MAX_NODES = 1 << 17, /* bounds memory: a node costs about 150 bytes, and a file of commas could have millions */
};

struct yaml_pool {
    struct yaml_node node;
    struct yaml_node *last; /* item or key, while the tree is built */
    char *text;
    struct yaml_pool *older;
};

static bool continues(char c) { /* a byte inside a UTF-8 sequence */
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* ---- complaints ---- */

static size_t byte_of(const struct yaml_node *node, size_t offset) {
    return offset ? node->content + offset : node->start;
}

struct place yaml_place(const struct yaml_doc *doc, const struct yaml_node *node, size_t offset) {
    return place_at(doc->path, doc->text, doc->length, byte_of(node, offset));
}

bool yaml_fail(const struct yaml_doc *doc, const struct yaml_node *node, size_t offset, struct error *e,
               const char *format, ...) {
    va_list args;
    va_start(args, format);
    place_fail_at(doc->path, doc->text, doc->length, byte_of(node, offset), e, format, args);
    va_end(args);
    return false;
}

__attribute__((format(printf, 4, 5))) static bool fail_at(const struct yaml_doc *doc, size_t byte, struct error *e,
                                                          const char *format, ...) {
    va_list args;
    va_start(args, format);
    place_fail_at(doc->path, doc->text, doc->length, byte, e, format, args);
    va_end(args);
    return false;
}

/* ---- reading the file ---- */

static bool read_file(struct yaml_doc *doc, struct error *e) {
    int fd = open(doc->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe must not block the open */
    if (fd < 0)
        return *doc->path ? fail(e, "%.300s: cannot be opened: %s", doc->path, strerror(errno))
                          : fail(e, "the name of a file is empty");
    struct stat st;
    bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (!ok)
        fail(e, "%.300s: not a regular file", doc->path);
    doc->text = must_calloc(MAX_FILE + 2, 1);
    while (ok && doc->length <= MAX_FILE) {
        ssize_t got = read(fd, doc->text + doc->length, MAX_FILE + 1 - doc->length);
        if (got == 0)
            break;
        if (got < 0 && errno != EINTR)
            ok = fail(e, "%.300s: cannot be read: %s", doc->path, strerror(errno));
        doc->length += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    if (ok && doc->length > MAX_FILE)
        ok = fail(e, "%.300s: larger than 4 MiB", doc->path);
    doc->text = must_realloc(doc->text, doc->length + 1, 1);
    doc->text[doc->length] = 0;
    return ok;
}

/* Bytes of the UTF-8 sequence at s, 0 when it is none (overlong, surrogate, cut off, beyond U+10FFFF). */
static size_t utf8_length(const unsigned char *s, size_t left, uint32_t *code) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
    if (n == 0 || n > left)
        return 0;
    *code = n == 1 ? s[0] : s[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        *code = *code << 6 | (s[i] & 0x3Fu);
    }
    if (n > 1 && (*code < least[n] || *code > 0x10FFFF || (*code >= 0xD800 && *code <= 0xDFFF)))
        return 0;
    return n;
}

/* What a terminal obeys instead of showing it: controls, byte order and direction marks, line separators. */
static bool is_control(uint32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x200E || code == 0x200F ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF ||
           code == 0xFFFE || code == 0xFFFF;
}

/* Only printable UTF-8 goes on: a caret line needs it, and so does a terminal. */
static bool check_characters(struct yaml_doc *doc, struct error *e) {
    const unsigned char *s = (const unsigned char *)doc->text;
    if (doc->length >= 3 && !memcmp(s, "\xef\xbb\xbf", 3)) {
        memset(doc->text, ' ', 3); /* the caret line has no place for it */
        return fail_at(doc, 0, e, "a byte order mark is not accepted: save the file as UTF-8 without one");
    }
    for (size_t i = 0, n; i < doc->length; i += n) {
        uint32_t code = 0;
        n = utf8_length(s + i, doc->length - i, &code);
        bool space = code == '\t' || code == '\n' || (code == '\r' && s[i + 1] == '\n');
        if (n == 0 || (is_control(code) && !space)) {
            doc->text[i] = '\n'; /* the source line is shown up to the bad byte only */
            return fail_at(doc, i, e, n == 0 ? "not UTF-8 text" : "control characters are not accepted");
        }
    }
    return true;
}

/* ---- the tree ---- */

static struct yaml_pool *new_node(struct yaml_doc *doc, enum yaml_kind kind, size_t start) {
    struct yaml_pool *p = must_calloc(1, sizeof *p);
    p->node.kind = kind;
    p->node.start = p->node.content = start;
    p->older = doc->pool;
    doc->pool = p;
    return p;
}

static int by_text(const void *a, const void *b) {
    const struct yaml_node *x = *(const struct yaml_node *const *)a, *y = *(const struct yaml_node *const *)b;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->start > y->start) - (x->start < y->start);
}

static bool check_duplicates(const struct yaml_doc *doc, const struct yaml_node *mapping, struct error *e) {
    const struct yaml_node **keys = must_calloc(mapping->count + 1, sizeof *keys), *twice = NULL;
    size_t n = 0;
    for (const struct yaml_node *k = mapping->first; k; k = k->next)
        keys[n++] = k;
    qsort(keys, n, sizeof *keys, by_text);
    for (size_t i = 1; i < n; i++)
        if (strcmp(keys[i - 1]->text, keys[i]->text) == 0 && (!twice || keys[i]->start < twice->start))
            twice = keys[i];
    free(keys);
    return twice ? yaml_fail(doc, twice, 0, e, "key %s is there twice", quote(twice->text).text) : true;
}

struct builder {
    struct yaml_doc *doc;
    struct yaml_pool *open[MAX_DEPTH]; /* sequences and mappings around the place of the parser */
    struct yaml_pool *key[MAX_DEPTH];  /* of an open mapping: the key that waits for its value */
    size_t depth, nodes;
    size_t at; /* byte after the last node: the place of an empty value */
    bool rooted;
};

/* Puts a new node where the parser stands. */
static bool place_node(struct builder *b, struct yaml_pool *p, struct error *e) {
    if (++b->nodes > MAX_NODES)
        return yaml_fail(b->doc, &p->node, 0, e, "more than %d values in one file", MAX_NODES);
    if (b->depth == 0) {
        b->doc->root = &p->node;
        b->rooted = true;
        return true;
    }
    struct yaml_pool *parent = b->open[b->depth - 1], **key = &b->key[b->depth - 1];
    if (parent->node.kind == YAML_MAPPING && *key) {
        (*key)->node.value = &p->node;
        *key = NULL;
        return true;
    }
    if (parent->node.kind == YAML_MAPPING) {
        if (p->node.kind != YAML_SCALAR || !*p->node.text)
            return yaml_fail(b->doc, &p->node, 0, e, "a key must be a word");
        if (p->node.plain && strcmp(p->node.text, "<<") == 0)
            return yaml_fail(b->doc, &p->node, 0, e, "merge keys are not accepted: write the values out");
        if (p->node.start < parent->node.start) /* [a: b] opens the mapping after its key */
            parent->node.start = p->node.start;
        *key = p;
    }
    if (parent->last)
        parent->last->next = &p->node;
    else
        parent->node.first = &p->node;
    parent->last = &p->node;
    parent->node.count++;
    return true;
}

static bool add_scalar(struct builder *b, struct fy_token *token, struct error *e) {
    const struct fy_mark *start = fy_token_start_mark(token);
    struct yaml_pool *p = new_node(b->doc, YAML_SCALAR, start ? start->input_pos : b->at);
    size_t length = 0;
    const char *text = fy_token_get_text(token, &length);
    p->text = must_calloc(length + 1, 1);
    if (length)
        memcpy(p->text, text, length);
    p->node.text = p->text;
    enum fy_scalar_style style = fy_token_scalar_style(token);
    p->node.plain = style == FYSS_PLAIN;
    char before = p->node.start > 0 ? b->doc->text[p->node.start - 1] : 0;
    if ((style == FYSS_DOUBLE_QUOTED && before == '"') || (style == FYSS_SINGLE_QUOTED && before == '\''))
        p->node.start--;
    for (size_t i = 0; i < length; i++)
        if (((unsigned char)text[i] < 0x20 && text[i] != '\n' && text[i] != '\t') || text[i] == 0x7F)
            return yaml_fail(b->doc, &p->node, 0, e, "control characters are not accepted");
    return place_node(b, p, e);
}

static bool open_node(struct builder *b, enum yaml_kind kind, const struct fy_mark *mark, struct error *e) {
    struct yaml_pool *p = new_node(b->doc, kind, mark ? mark->input_pos : b->at);
    if (b->depth == MAX_DEPTH)
        return yaml_fail(b->doc, &p->node, 0, e, "nested deeper than %d levels", MAX_DEPTH);
    if (!place_node(b, p, e))
        return false;
    b->open[b->depth] = p;
    b->key[b->depth++] = NULL;
    return true;
}

static bool refuse(const struct builder *b, struct fy_token *token, const char *what, struct error *e) {
    const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;
    size_t at = mark ? mark->input_pos : b->at;
    if (at > 0 && (b->doc->text[at - 1] == '&' || b->doc->text[at - 1] == '*'))
        at--;
    return fail_at(b->doc, at, e, "%s are not accepted: write the value out", what);
}

static bool take_event(struct builder *b, struct fy_event *event, struct error *e) {
    struct fy_token *tag = fy_event_get_tag_token(event), *anchor = fy_event_get_anchor_token(event);
    if (event->type == FYET_ALIAS)
        return refuse(b, fy_event_get_token(event), "aliases", e);
    if (anchor)
        return refuse(b, anchor, "anchors", e);
    if (tag)
        return refuse(b, tag, "tags", e);
    const struct fy_mark *start = fy_event_start_mark(event), *end = fy_event_end_mark(event);
    bool ok = true;
    switch (event->type) {
    case FYET_DOCUMENT_START:
        if (b->rooted)
            return fail_at(b->doc, start ? start->input_pos : b->at, e, "a second document in one file");
        if (fy_document_state_version_explicit(event->document_start.document_state) ||
            fy_document_state_tags_explicit(event->document_start.document_state))
            return fail_at(b->doc, 0, e, "directives are not accepted");
        break;
    case FYET_MAPPING_START:
        ok = open_node(b, YAML_MAPPING, start, e);
        break;
    case FYET_SEQUENCE_START:
        ok = open_node(b, YAML_SEQUENCE, start, e);
        break;
    case FYET_MAPPING_END:
        b->depth--;
        ok = check_duplicates(b->doc, &b->open[b->depth]->node, e);
        break;
    case FYET_SEQUENCE_END:
        b->depth--;
        break;
    case FYET_SCALAR:
        ok = add_scalar(b, event->scalar.value, e);
        break;
    default:
        break;
    }
    if (end)
        b->at = end->input_pos;
    return ok;
}

static void discard(struct fy_diag *diag, void *user, const char *text, size_t length) {
    (void)diag, (void)user, (void)text, (void)length; /* messages are collected, nothing is printed */
}

/* The first complaint of libfyaml, in our form. */
static bool fail_syntax(const struct yaml_doc *doc, struct fy_diag *diag, struct error *e) {
    void *cursor = NULL;
    struct fy_diag_error *first = fy_diag_errors_iterate(diag, &cursor);
    if (!first)
        return fail(e, "%.300s: not YAML", doc->path);
    size_t byte = 0;
    for (int line = 1; line < first->line && byte < doc->length; line++) {
        const char *end = memchr(doc->text + byte, '\n', doc->length - byte);
        byte = end ? (size_t)(end - doc->text) + 1 : doc->length;
    }
    for (int column = 1; column < first->column && byte < doc->length && doc->text[byte] != '\n'; column++)
        do
            byte++;
        while (byte < doc->length && continues(doc->text[byte]));
    return fail_at(doc, byte, e, "%s", first->msg);
}

/* libfyaml reads ahead to the end of an open bracket, some hundred bytes of memory a token. Brackets and commas in
 * quotes and comments count here as well, hence the wide margins; the exact limits are MAX_DEPTH and MAX_NODES. */
static bool check_brackets(const struct yaml_doc *doc, struct error *e) {
    int depth = 0, marks = 0;
    for (size_t i = 0; i < doc->length; i++) {
        char c = doc->text[i];
        bool opens = c == '[' || c == '{', closes = c == ']' || c == '}';
        depth += opens ? 1 : closes && depth > 0 ? -1 : 0;
        marks += opens || closes || c == ',';
        if (depth > MAX_BRACKETS)
            return fail_at(doc, i, e, "more than %d brackets are open", MAX_BRACKETS);
        if (marks > MAX_MARKS)
            return fail_at(doc, i, e, "more than %d brackets and commas in one file", MAX_MARKS);
    }
    return true;
}

struct fy_diag *yaml_quiet_diag(void) {
    struct fy_diag_cfg diag_cfg;
    fy_diag_cfg_default(&diag_cfg);
    diag_cfg.fp = NULL;
    diag_cfg.output_fn = discard;
    diag_cfg.colorize = false;
    return fy_diag_create(&diag_cfg);
}

static bool parse(struct yaml_doc *doc, struct error *e) {
    struct fy_diag *diag = yaml_quiet_diag();
    struct fy_parse_cfg cfg = {.diag = diag,
                               .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE};
    struct fy_parser *parser = diag ? fy_parser_create(&cfg) : NULL;
    struct builder b = {.doc = doc};
    bool ok = false;
    if (!parser)
        fail(e, "%.300s: libfyaml cannot be started", doc->path);
    else {
        fy_diag_set_collect_errors(diag, true);
        ok = fy_parser_set_string(parser, doc->text, doc->length) == 0;
        for (struct fy_event *event; ok && (event = fy_parser_parse(parser));) {
            ok = take_event(&b, event, e);
            fy_parser_event_free(parser, event);
        }
        if (ok && (fy_parser_get_stream_error(parser) || fy_diag_got_error(diag)))
            ok = fail_syntax(doc, diag, e);
        if (ok && !b.rooted)
            ok = fail(e, "%.300s:1:1: the file is empty", doc->path);
    }
    fy_parser_destroy(parser);
    fy_diag_destroy(diag);
    return ok;
}

struct yaml_doc *yaml_open(const char *path, struct error *e) {
    struct yaml_doc *doc = must_calloc(1, sizeof *doc);
    doc->path = must_strdup(path);
    if (read_file(doc, e) && check_characters(doc, e) && check_brackets(doc, e) && parse(doc, e))
        return doc;
    yaml_close(doc);
    return NULL;
}

struct yaml_doc *yaml_open_text(const char *path, const char *text, struct error *e) {
    struct yaml_doc *doc = must_calloc(1, sizeof *doc);
    doc->path = must_strdup(path);
    doc->text = must_strdup(text);
    doc->length = strlen(text);
    bool ok = doc->length <= MAX_FILE || fail(e, "%.300s: larger than 4 MiB", path);
    if (ok && check_characters(doc, e) && check_brackets(doc, e) && parse(doc, e))
        return doc;
    yaml_close(doc);
    return NULL;
}

void yaml_close(struct yaml_doc *doc) {
    if (!doc)
        return;
    for (struct yaml_pool *p = doc->pool, *older; p; p = older) {
        older = p->older;
        free(p->text);
        free(p);
    }
    free(doc->path);
    free(doc->text);
    free(doc);
}

/* ---- strict readers ---- */

static const char *const kind_words[] = {"a single value", "a list", "a mapping of keys to values"};

bool yaml_expect(const struct yaml_doc *doc, const struct yaml_node *node, enum yaml_kind kind, const char *what,
                 struct error *e) {
    if (node->kind != kind)
        return yaml_fail(doc, node, 0, e, "%s must be %s, not %s", what, kind_words[kind], kind_words[node->kind]);
    return true;
}

/* "a, b, c" in out, which is large enough for our own lists; "..." where it is not. */
static void join(char *out, size_t size, const char *const *list) {
    size_t used = 0;
    for (out[0] = 0; *list && used < size; list++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", *list);
    if (used >= size)
        strcpy(out + size - 4, "...");
}

static bool fail_choice(const struct yaml_doc *doc, const struct yaml_node *node, const char *problem,
                        const char *const *allowed, struct error *e) {
    char list[600];
    join(list, sizeof list, allowed);
    const char *meant = nearest(node->text, allowed);
    if (meant)
        return yaml_fail(doc, node, 0, e, "%s %s; did you mean '%s'? allowed: %s", problem, quote(node->text).text,
                         meant, list);
    return yaml_fail(doc, node, 0, e, "%s %s; allowed: %s", problem, quote(node->text).text, list);
}

static bool listed(const char *word, const char *const *list, size_t *index) {
    for (size_t i = 0; list[i]; i++)
        if (strcmp(list[i], word) == 0) {
            *index = i;
            return true;
        }
    return false;
}

bool yaml_check_keys(const struct yaml_doc *doc, const struct yaml_node *node, const char *what,
                     const char *const *allowed, struct error *e) {
    size_t index;
    if (!yaml_expect(doc, node, YAML_MAPPING, what, e))
        return false;
    for (const struct yaml_node *key = node->first; key; key = key->next)
        if (!listed(key->text, allowed, &index))
            return fail_choice(doc, key, "unknown key", allowed, e);
    return true;
}

const struct yaml_node *yaml_get(const struct yaml_node *mapping, const char *key) {
    for (const struct yaml_node *k = mapping->kind == YAML_MAPPING ? mapping->first : NULL; k; k = k->next)
        if (strcmp(k->text, key) == 0)
            return k->value;
    return NULL;
}

bool yaml_require(const struct yaml_doc *doc, const struct yaml_node *mapping, const char *key, const char *what,
                  const struct yaml_node **value, struct error *e) {
    *value = yaml_get(mapping, key);
    return *value ? true : yaml_fail(doc, mapping, 0, e, "%s needs the key '%s'", what, key);
}

bool yaml_string(const struct yaml_doc *doc, const struct yaml_node *node, const char *what, const char **text,
                 struct error *e) {
    if (!yaml_expect(doc, node, YAML_SCALAR, what, e))
        return false;
    if (!*node->text)
        return yaml_fail(doc, node, 0, e, "%s is empty", what);
    *text = node->text;
    return true;
}

const char *yaml_parse_integer(const char *text, int64_t *value) {
    bool negative = *text == '-';
    const char *digits = text + negative;
    bool hex = digits[0] == '0' && digits[1] == 'x';
    digits += hex ? 2 : 0;
    if (!*digits || digits[strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789")])
        return "is not an integer";
    if (!hex && digits[0] == '0' && digits[1])
        return "has a leading zero; decimal or 0x";
    errno = 0;
    unsigned long long magnitude = strtoull(digits, NULL, hex ? 16 : 10);
    if (errno || magnitude > (unsigned long long)INT64_MAX + negative)
        return "does not fit 64 bits";
    *value = (int64_t)(negative ? 0 - magnitude : magnitude);
    return NULL;
}

bool yaml_integer(const struct yaml_doc *doc, const struct yaml_node *node, const char *what, int64_t min, int64_t max,
                  int64_t *value, struct error *e) {
    const char *text = NULL;
    if (!yaml_string(doc, node, what, &text, e))
        return false;
    const char *problem = node->plain ? yaml_parse_integer(text, value) : "is a quoted text, not an integer";
    if (problem)
        return yaml_fail(doc, node, 0, e, "%s: %s %s", what, quote(text).text, problem);
    if (*value < min || *value > max)
        return yaml_fail(doc, node, 0, e, "%s: %lld is not in %lld .. %lld", what, (long long)*value, (long long)min,
                         (long long)max);
    return true;
}

bool yaml_bool(const struct yaml_doc *doc, const struct yaml_node *node, const char *what, bool *value,
               struct error *e) {
    const char *text = NULL;
    if (!yaml_string(doc, node, what, &text, e))
        return false;
    *value = strcmp(text, "true") == 0;
    if (!node->plain || (!*value && strcmp(text, "false") != 0))
        return yaml_fail(doc, node, 0, e, "%s must be true or false", what);
    return true;
}

bool yaml_choice(const struct yaml_doc *doc, const struct yaml_node *node, const char *what, const char *const *choices,
                 size_t *index, struct error *e) {
    const char *text = NULL;
    if (!yaml_string(doc, node, what, &text, e))
        return false;
    if (listed(text, choices, index))
        return true;
    char *problem = must_format("%s cannot be", what);
    fail_choice(doc, node, problem, choices, e);
    free(problem);
    return false;
}
