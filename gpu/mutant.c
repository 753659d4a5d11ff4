#include "mutant.h"
#include "../ref/checked.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *const mutant_operator_names[MUTANT_OPERATORS] = {
    "address", "order",     "predicate", "barrier", "wait",   "rounding",
    "stride",  "registers", "bound",     "store",   "vector", "comparison",
};

void mutants_free(struct mutant_list *list) {
    for (size_t i = 0; i < list->count; ++i) {
        free(list->items[i].after);
        free(list->items[i].what);
    }
    free(list->items);
    *list = (struct mutant_list){0};
}

char *mutant_name(const struct mutant *x) {
    return must_format("%s/%d/%u", mutant_operator_names[x->by], x->line, x->number);
}

char *mutant_text(const struct ptx_module *m, const struct mutant *x, size_t *size) {
    const size_t after = strlen(x->after), rest = x->at + x->bytes;
    *size = m->text_bytes - x->bytes + after;
    char *text = must_calloc(*size + 1, 1);
    memcpy(text, m->text, x->at);
    memcpy(text + x->at, x->after, after);
    memcpy(text + x->at + after, m->text + rest, m->text_bytes - rest);
    return text;
}

/* Runs of blanks become one. */
static char *one_line(const char *text, size_t n) {
    char *line = must_calloc(n + 1, 1);
    size_t length = 0;
    for (size_t i = 0; i < n; ++i) {
        if (!isspace((unsigned char)text[i])) {
            line[length++] = text[i];
        } else if (length > 0 && line[length - 1] != ' ') {
            line[length++] = ' ';
        }
    }
    return line;
}

char *mutant_before(const struct ptx_module *m, const struct mutant *x) {
    return one_line(m->text + x->at, x->bytes);
}

char *mutant_after(const struct mutant *x) {
    return x->after[0] == 0 ? must_strdup("(dropped)") : one_line(x->after, strlen(x->after));
}

/* ---- a statement in the text ---- */

static size_t skip_blanks(const char *text, size_t at) {
    while (isspace((unsigned char)text[at])) {
        ++at;
    }
    return at;
}

/* The operands between the opcode and ';', cut at commas outside of brackets. */
static bool cut_operands(const char *text, size_t at, size_t end, struct mutant_statement *s) {
    int depth = 0;
    for (size_t from = skip_blanks(text, at), i = from; i <= end; ++i) {
        depth += strchr("{[(", text[i]) != NULL;
        depth -= strchr("}])", text[i]) != NULL;
        if (i < end && (text[i] != ',' || depth > 0)) {
            continue;
        }
        size_t last = i;
        while (last > from && isspace((unsigned char)text[last - 1])) {
            --last;
        }
        if (last > from) {
            if (s->count == STATEMENT_OPERANDS) {
                return false;
            }
            s->operands[s->count++] = (struct mutant_span){from, last - from};
        }
        from = i < end ? skip_blanks(text, i + 1) : i;
    }
    return true;
}

/* "@%p1" or "@!%p1" ahead of the opcode. */
static struct mutant_span guard_before(const char *text, size_t at) {
    size_t end = at;
    while (end > 0 && isspace((unsigned char)text[end - 1])) {
        --end;
    }
    size_t from = end;
    while (from > 0 && text[from - 1] != '@' && text[from - 1] != ';' && text[from - 1] != '\n') {
        --from;
    }
    if (from == 0 || text[from - 1] != '@') {
        return (struct mutant_span){at, 0};
    }
    return (struct mutant_span){from - 1, end - from + 1};
}

bool mutant_statement(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_instruction *in,
                      struct mutant_statement *s) {
    const char *text = m->text, *semicolon = strchr(text + in->ptx_at, ';');
    *s = (struct mutant_statement){.module = m, .function = f, .in = in};
    if (semicolon == NULL) {
        return false;
    }
    const size_t end = (size_t)(semicolon - text);
    for (size_t i = in->ptx_at; i < end; ++i) {
        if (text[i] == '/' || text[i] == '"') {
            return false;
        }
    }
    s->opcode = (struct mutant_span){in->ptx_at, strcspn(text + in->ptx_at, " \t\n;")};
    s->guard = (struct mutant_span){in->ptx_at, 0};
    if (in->guard >= 0) {
        s->guard = guard_before(text, in->ptx_at);
        if (s->guard.bytes == 0) {
            return false;
        }
    }
    s->whole = (struct mutant_span){s->guard.at, end + 1 - s->guard.at};
    return cut_operands(text, s->opcode.at + s->opcode.bytes, end, s);
}
