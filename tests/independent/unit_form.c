#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    struct unit_type type;
} types[] = {
    {"pred", {'p', 1, 1, NULL}},
    {"b8", {'b', 8, 1, NULL}},
    {"b16", {'b', 16, 1, NULL}},
    {"b32", {'b', 32, 1, NULL}},
    {"b64", {'b', 64, 1, NULL}},
    {"b128", {'b', 128, 1, NULL}},
    {"u8", {'u', 8, 1, NULL}},
    {"u16", {'u', 16, 1, NULL}},
    {"u32", {'u', 32, 1, NULL}},
    {"u64", {'u', 64, 1, NULL}},
    {"s8", {'s', 8, 1, NULL}},
    {"s16", {'s', 16, 1, NULL}},
    {"s32", {'s', 32, 1, NULL}},
    {"s64", {'s', 64, 1, NULL}},
    {"u16x2", {'u', 16, 2, NULL}},
    {"s16x2", {'s', 16, 2, NULL}},
    {"u4", {'u', 4, 1, NULL}},
    {"s4", {'s', 4, 1, NULL}},
    {"b1", {'b', 1, 1, NULL}},
    {"f16", {'f', 16, 1, &unit_f16}},
    {"f16x2", {'f', 16, 2, &unit_f16}},
    {"bf16", {'f', 16, 1, &unit_bf16}},
    {"bf16x2", {'f', 16, 2, &unit_bf16}},
    {"tf32", {'f', 32, 1, &unit_tf32}},
    {"f32", {'f', 32, 1, &unit_f32}},
    {"f64", {'f', 64, 1, &unit_f64}},
    {"e4m3", {'f', 8, 1, &unit_e4m3}},
    {"e5m2", {'f', 8, 1, &unit_e5m2}},
    {"e4m3x2", {'f', 8, 2, &unit_e4m3}},
    {"e5m2x2", {'f', 8, 2, &unit_e5m2}},
};

bool unit_has(const struct unit_step *s, const char *part) {
    for (unsigned i = 0; i < s->parts; i++)
        if (!strcmp(s->part[i], part))
            return true;
    return false;
}

static const struct unit_rule *rule_in(const struct unit_rule *rules, const char *name) {
    for (; rules->name; rules++)
        if (!strcmp(rules->name, name))
            return rules;
    return NULL;
}

static const struct unit_rule *rule_of(const struct unit_step *s) {
    const struct unit_rule *const lists[] = {unit_rules_integer, unit_rules_bits,    unit_rules_video,
                                             unit_rules_convert, unit_rules_compare, unit_rules_memory,
                                             unit_rules_warp,    unit_rules_mma};
    const struct unit_rule *found = s->approx ? rule_in(unit_rules_approximate, s->name) : NULL;
    if (!found && s->types && s->type[0].kind == 'f')
        found = rule_in(unit_rules_float, s->name);
    for (size_t i = 0; i < sizeof lists / sizeof *lists && !found; i++)
        found = rule_in(lists[i], s->name);
    return found;
}

static void read_modifiers(struct unit_step *s) {
    static const char *const roundings[] = {"rn", "rz", "rm", "rp", "rna"};
    s->vector = 1;
    for (unsigned i = 0; i < s->parts; i++) {
        const char *part = s->part[i];
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            if (!strcmp(part, types[t].name) && s->types < 4)
                s->type[s->types++] = types[t].type;
        for (int r = 0; r < 5; r++) {
            size_t length = strlen(roundings[r]);
            bool whole = !strcmp(part, roundings[r]);
            if (whole || (!strncmp(part, roundings[r], length) && !strcmp(part + length, "i"))) {
                s->rounding = (enum unit_rounding)r;
                s->rounded = true;
                s->integral = !whole;
            }
        }
        if (part[0] == 'v' && part[1] >= '2' && part[1] <= '8' && !part[2])
            s->vector = (unsigned)(part[1] - '0');
    }
    s->ftz = unit_has(s, "ftz");
    s->sat = unit_has(s, "sat");
    s->satfinite = unit_has(s, "satfinite");
    s->relu = unit_has(s, "relu");
    s->nan = unit_has(s, "NaN");
    s->xorsign = unit_has(s, "xorsign");
    s->cc = unit_has(s, "cc");
    s->wide = unit_has(s, "wide");
    s->hi = unit_has(s, "hi");
    s->lo = unit_has(s, "lo");
    s->approx = unit_has(s, "approx");
    s->wrap = unit_has(s, "wrap");
    s->shiftamt = unit_has(s, "shiftamt");
}

/* Letters, digits and : _ of a word at text; its length. */
static size_t word_at(const char *text, char *word, size_t room) {
    size_t n = 0;
    while ((text[n] >= 'a' && text[n] <= 'z') || (text[n] >= 'A' && text[n] <= 'Z') ||
           (text[n] >= '0' && text[n] <= '9') || text[n] == '_' || text[n] == ':')
        n++;
    size_t keep = n < room ? n : room - 1;
    memcpy(word, text, keep);
    word[keep] = 0;
    return n;
}

static const char *read_memory(const char *text, struct unit_form *f, struct unit_ref *r) {
    char word[16];
    r->from = FROM_MEMORY;
    if (*text >= '0' && *text <= '9') {
        r->index = (unsigned)(*text++ - '0');
    } else {
        if (f->memories == UNIT_MEMORIES || f->inputs + 3 > UNIT_INPUTS || f->results + 2 > UNIT_RESULTS)
            return NULL;
        r->index = f->memories;
        struct unit_memory *m = &f->memory[f->memories++];
        text += word_at(text, word, sizeof word);
        m->rows = !strcmp(word, "rows");
        snprintf(m->space, sizeof m->space, "%s", m->rows ? "shared" : word);
        if (!strncmp(text, ".warp", 5)) {
            m->shared_by_warp = true;
            text += 5;
        }
        m->input = f->inputs;
        strcpy(f->input[f->inputs++], "b64");
        strcpy(f->input[f->inputs++], "b64");
        if (m->rows)
            strcpy(f->input[f->inputs++], "row");
        m->result = f->results;
        strcpy(f->result[f->results++], "b64");
        strcpy(f->result[f->results++], "b64");
        f->warp = f->warp || m->rows || m->shared_by_warp;
    }
    if (*text == '+')
        r->literal = strtoull(text + 1, (char **)(void *)&text, 0);
    return *text == ']' ? text + 1 : NULL;
}

static const char *read_operand(const char *text, struct unit_form *f, struct unit_step *s) {
    struct unit_ref r = {.from = FROM_NOWHERE};
    char word[12] = "";
    bool is_result = false;
    if (*text == '!') {
        r.negated = true;
        text++;
    }
    if (*text == '[') {
        text = read_memory(text + 1, f, &r);
        if (!text)
            return NULL;
    } else if (*text == '$' && text[1] >= '0' && text[1] <= '9') {
        r.from = FROM_INPUT;
        r.index = (unsigned)strtoul(text + 1, (char **)(void *)&text, 10);
    } else if (*text == '@') {
        r.from = FROM_RESULT;
        r.index = (unsigned)strtoul(text + 1, (char **)(void *)&text, 10);
    } else if (*text == '$' && f->inputs < UNIT_INPUTS) {
        text += 1 + word_at(text + 1, word, sizeof word);
        r.from = FROM_INPUT;
        r.index = f->inputs;
        strcpy(f->input[f->inputs++], word);
    } else if (*text == '=' && text[1] >= '0' && text[1] <= '9') {
        r.from = FROM_RESULT;
        r.index = (unsigned)strtoul(text + 1, (char **)(void *)&text, 10);
        is_result = true;
    } else if (*text == '=' && text[1] == '_') {
        text += 2;
        is_result = true;
    } else if (*text == '=' && f->results < UNIT_RESULTS) {
        text += 1 + word_at(text + 1, word, sizeof word);
        r.from = FROM_RESULT;
        r.index = f->results;
        strcpy(f->result[f->results++], word);
        is_result = true;
    } else {
        char *end;
        bool real = text[0] == '0' && (text[1] == 'f' || text[1] == 'd');
        r.from = FROM_LITERAL;
        r.literal = real           ? strtoull(text + 2, &end, 16)
                    : *text == '-' ? (uint64_t)strtoll(text, &end, 0)
                                   : strtoull(text, &end, 0);
        if (end == text)
            return NULL;
        text = end;
    }
    if (*text == '.')
        text += 1 + word_at(text + 1, r.selector, sizeof r.selector);
    if (is_result ? s->results == UNIT_RESULTS : s->sources == UNIT_OPERANDS)
        return NULL;
    if (is_result)
        s->result[s->results++] = r;
    else
        s->source[s->sources++] = r;
    return text;
}

static const char *read_step(const char *text, struct unit_form *f, struct unit_step *s, char *why, size_t room) {
    if (*text == '@') { /* read as an operand, and taken back */
        text = read_operand(text + 1, f, s);
        if (!text || !s->sources) {
            snprintf(why, room, "no guard");
            return NULL;
        }
        s->guarded = true;
        s->guard = s->source[--s->sources];
        text += strspn(text, " ");
    }
    text += word_at(text, s->name, sizeof s->name);
    while (*text == '.') {
        if (s->parts == UNIT_PARTS) {
            snprintf(why, room, "too many parts");
            return NULL;
        }
        text += 1 + word_at(text + 1, s->part[s->parts], sizeof s->part[0]);
        s->parts++;
    }
    read_modifiers(s);
    for (;;) {
        text += strspn(text, " ,{}|");
        if (!*text || *text == ';')
            break;
        const char *next = read_operand(text, f, s);
        if (!next) {
            snprintf(why, room, "no operand: %.40s", text);
            return NULL;
        }
        text = next;
    }
    s->rule = rule_of(s);
    if (!s->rule)
        snprintf(why, room, "no independent rule for %s", s->name);
    else
        f->warp = f->warp || s->rule->warp;
    return s->rule ? text : NULL;
}

bool unit_form_read(const char *text, struct unit_form *f, char *why, size_t room) {
    memset(f, 0, sizeof *f);
    while (text[strspn(text, " ;")]) {
        text += strspn(text, " ;");
        if (f->steps == UNIT_STEPS) {
            snprintf(why, room, "too many steps");
            return false;
        }
        text = read_step(text, f, &f->step[f->steps++], why, room);
        if (!text)
            return false;
    }
    return f->steps > 0;
}

static uint64_t fetch(const struct unit_ref *r, unsigned lane, const uint64_t in[UNIT_INPUTS][32],
                      const uint64_t out[UNIT_RESULTS][32]) {
    uint64_t x = r->from == FROM_INPUT    ? in[r->index][lane]
                 : r->from == FROM_RESULT ? out[r->index][lane]
                 : r->from == FROM_MEMORY ? (uint64_t)r->index << 8 | r->literal
                                          : r->literal;
    return r->negated ? x ^ 1 : x;
}

void unit_form_run(const struct unit_form *f, const uint64_t in[UNIT_INPUTS][32], uint64_t out[UNIT_RESULTS][32]) {
    static _Thread_local struct unit_lane lane[32];
    static _Thread_local uint64_t a[UNIT_OPERANDS][32], d[UNIT_RESULTS][32];
    for (unsigned i = 0; i < 32; i++) {
        lane[i].carry = false;
        for (unsigned m = 0; m < f->memories; m++) {
            unsigned giver = f->memory[m].shared_by_warp ? 0 : i;
            memcpy(lane[i].memory[m], &in[f->memory[m].input][giver], 8);
            memcpy(lane[i].memory[m] + 8, &in[f->memory[m].input + 1][giver], 8);
        }
    }
    for (unsigned k = 0; k < f->steps; k++) {
        const struct unit_step *s = &f->step[k];
        bool active[32];
        memset(d, 0, sizeof d);
        for (unsigned i = 0; i < 32; i++)
            active[i] = !s->guarded || fetch(&s->guard, i, in, (const uint64_t(*)[32])out);
        for (unsigned o = 0; o < s->sources; o++)
            for (unsigned i = 0; i < 32; i++)
                a[o][i] = fetch(&s->source[o], i, in, (const uint64_t(*)[32])out);
        /* the row that a lane names goes behind its memory operand */
        for (unsigned o = 0; o < s->sources; o++)
            if (s->source[o].from == FROM_MEMORY && f->memory[s->source[o].index].rows)
                for (unsigned i = 0; i < 32; i++)
                    a[o][i] |= (in[f->memory[s->source[o].index].input + 2][i] & 31) << 16;
        if (s->rule->warp)
            s->rule->warp(s, (const uint64_t(*)[32])a, d, lane);
        for (unsigned i = 0; i < 32 && s->rule->lane; i++) {
            for (unsigned m = 0; m < f->memories && i; m++) /* lanes take their turns at memory that they share */
                if (f->memory[m].shared_by_warp)
                    memcpy(lane[i].memory[m], lane[i - 1].memory[m], 16);
            uint64_t source[UNIT_OPERANDS], result[UNIT_RESULTS] = {0};
            if (!active[i])
                continue;
            for (unsigned o = 0; o < s->sources; o++)
                source[o] = a[o][i];
            s->rule->lane(s, source, result, &lane[i]);
            for (unsigned o = 0; o < s->results; o++)
                d[o][i] = result[o];
        }
        for (unsigned m = 0; m < f->memories; m++)
            for (unsigned i = 0; i < 31 && f->memory[m].shared_by_warp; i++)
                memcpy(lane[i].memory[m], lane[31].memory[m], 16);
        for (unsigned o = 0; o < s->results; o++)
            for (unsigned i = 0; i < 32 && s->result[o].from == FROM_RESULT; i++)
                if (active[i])
                    out[s->result[o].index][i] = d[o][i];
    }
    for (unsigned m = 0; m < f->memories; m++)
        for (unsigned i = 0; i < 32; i++) {
            memcpy(&out[f->memory[m].result][i], lane[i].memory[m], 8);
            memcpy(&out[f->memory[m].result + 1][i], lane[i].memory[m] + 8, 8);
        }
}

uint64_t unit_low(uint64_t x, unsigned bits) {
    return bits >= 64 ? x : x & (((uint64_t)1 << bits) - 1);
}

s128 unit_integer(struct unit_type t, uint64_t bits) {
    u128 x = unit_low(bits, t.bits);
    return t.kind == 's' && x >> (t.bits - 1) ? (s128)x - ((s128)1 << t.bits) : (s128)x;
}

uint64_t unit_integer_bits(struct unit_type t, s128 x) {
    return unit_low((uint64_t)(u128)x, t.bits);
}

s128 unit_clamp(struct unit_type t, s128 x) {
    s128 most = ((s128)1 << (t.kind == 's' ? t.bits - 1 : t.bits)) - 1, least = t.kind == 's' ? -most - 1 : 0;
    return x > most ? most : x < least ? least : x;
}
