/* One instruction: guard, opcode and its parts, operands. What it does is not looked at, with three exceptions that
 * decide how names are read: bra takes a label, brx a table of labels, call has lists in parentheses. */
#include "internal.h"
#include <string.h>

bool parse_guard(struct parser *p, int *guard, bool *negated) {
    advance(p); /* @ */
    *negated = accept_mark(p, '!');
    if (p->token.kind != TOKEN_WORD)
        return fail_unexpected(p, "a predicate register");
    size_t at = p->token.at;
    struct symbol *s = intern(p, p->token.text, p->token.size);
    struct binding *b;
    if (!look_up(p, s, at, &b))
        return false;
    if (!b)
        return fail_at(p, at, "'%.80s' is not declared", s->name);
    if (b->kind != BOUND_REGISTER || b->type != PTX_PRED)
        return fail_at(p, at, "'%.80s' is not a predicate register", s->name);
    *guard = b->index;
    advance(p);
    return true;
}

/* The first character behind the comment that starts at text[at], at most `to`. */
static size_t after_comment(const char *text, size_t at, size_t to) {
    bool block = text[at + 1] == '*';
    for (size_t i = at + 2; i < to; i++) {
        if (block ? i + 1 < to && text[i] == '*' && text[i + 1] == '/' : text[i] == '\n')
            return block ? i + 2 : i;
    }
    return to;
}

/* text[from, to) on one line: blanks, line ends and comments become single blanks. */
static const char *one_line(struct parser *p, size_t from, size_t to) {
    char *out = take(p, to - from + 1, 1);
    size_t n = 0;
    for (size_t i = from; out && i < to; i++) {
        char c = p->text[i];
        bool comment = c == '/' && i + 1 < to && (p->text[i + 1] == '/' || p->text[i + 1] == '*');
        if (comment)
            i = after_comment(p->text, i, to) - 1;
        if (!comment && c != ' ' && (c < '\t' || c > '\r'))
            out[n++] = c;
        else if (n && out[n - 1] != ' ')
            out[n++] = ' ';
    }
    return out;
}

static bool is_opcode(const char *opcode, const char *name) {
    return !strcmp(opcode, name);
}

static bool parse_operands(struct parser *p, struct ptx_instruction *in) {
    bool call = is_opcode(in->opcode, "call"), branch = is_opcode(in->opcode, "bra");
    size_t first = p->raw.count;
    while (!is_mark(p, ';')) {
        struct raw_operand raw = {0};
        if (p->raw.count - first == MAX_OPERANDS)
            return fail_at(p, p->token.at, "more than %d operands", MAX_OPERANDS);
        if (p->raw.count > first && !expect_mark(p, ','))
            return false;
        bool ok = call && is_mark(p, '(') ? parse_argument_list(p, &raw) : parse_operand(p, &raw, branch);
        if (!ok || !push_raw(p, &raw))
            return false;
    }
    return settle(p, first, &in->operands, &in->operand_count);
}

static bool note_call(struct parser *p, const struct ptx_instruction *in, size_t at) {
    if (!in->operand_count)
        return fail_at(p, at, "call needs a function to call");
    struct call_site *site = grow(p, &p->calls, sizeof *site);
    if (!site)
        return false;
    *site = (struct call_site){.operands = in->operands, .operand_count = in->operand_count, .at = at};
    return true;
}

bool parse_instruction(struct parser *p, const struct token *opcode, int guard, bool negated) {
    struct ptx_instruction in = p->loc;
    in.guard = guard;
    in.guard_negated = negated;
    in.ptx_line = opcode->line;
    in.ptx_at = opcode->at;
    if (!(in.opcode = intern_name(p, opcode->text, opcode->size)))
        return false;
    for (; p->token.kind == TOKEN_DOTTED; advance(p)) {
        if (in.part_count == PTX_MAX_PARTS)
            return fail_at(p, p->token.at, "an opcode of more than %d parts", PTX_MAX_PARTS);
        if (!(in.parts[in.part_count++] = intern_name(p, p->token.text, p->token.size)))
            return false;
    }
    if (!parse_operands(p, &in) || !(in.text = one_line(p, opcode->at, p->token_ended)))
        return false;
    if (is_opcode(in.opcode, "call") && !note_call(p, &in, opcode->at))
        return false;
    if (is_opcode(in.opcode, "bra") && (in.operand_count != 1 || in.operands[0].kind != PTX_OP_NAME))
        return fail_at(p, opcode->at, "bra needs one label");
    if (p->instructions.count == MAX_INSTRUCTIONS)
        return fail_at(p, opcode->at, "more than %d instructions in one function", MAX_INSTRUCTIONS);
    struct ptx_instruction *kept = grow(p, &p->instructions, sizeof *kept);
    if (!kept)
        return false;
    *kept = in;
    return expect_mark(p, ';');
}

bool parse_target_table(struct parser *p, struct binding *table) {
    bool labels = is_dotted(p, "branchtargets");
    size_t first = p->raw.count;
    do {
        struct raw_operand raw = {0};
        advance(p);
        if (p->token.kind != TOKEN_WORD)
            return fail_unexpected(p, labels ? "a label" : "a function");
        if (p->raw.count - first == MAX_OPERANDS)
            return fail_at(p, p->token.at, "more than %d targets", MAX_OPERANDS);
        if (!parse_operand(p, &raw, labels) || !push_raw(p, &raw))
            return false;
    } while (is_mark(p, ','));
    return settle(p, first, &table->rows, &table->row_count) && expect_mark(p, ';');
}
