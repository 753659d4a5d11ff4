/* What is said of an instruction that cannot be run, and the checks that every instruction has: modifiers, the number
 * of operands, the architecture. */
#include "../../ref/checked.h"
#include "../requires.h"
#include "decode.h"
#include <stdio.h>

static bool say(struct decoder *d, const char *what, const char *why) {
    char place[600] = "";
    if (d->in->file >= 0 && (size_t)d->in->file < d->m->file_count && d->m->files[d->in->file])
        snprintf(place, sizeof place, " (%.500s:%d)", d->m->files[d->in->file], d->in->line);
    size_t column = 1;
    for (const char *s = d->m->text + d->in->ptx_at; column <= d->in->ptx_at && s[-(ptrdiff_t)column] != '\n';)
        ++column;
    return fail(d->e, "%.600s:%d:%zu: %s `%.400s`%s%s%s", d->m->path, d->in->ptx_line, column, what, d->in->text, place,
                why ? ": " : "", why ? why : "");
}

bool refuse(struct decoder *d, const char *why) {
    return say(d, why ? "cannot run" : "unknown instruction", why);
}

bool refuse_operand(struct decoder *d, const char *why) {
    return say(d, "wrong operand of", why);
}

bool on_architecture(struct decoder *d) {
    const struct arch *arch = d->l->options.arch ? d->l->options.arch : arch_default();
    const unsigned least = instruction_requires(d->in);
    char why[80];
    snprintf(why, sizeof why, "it needs sm_%u, and the launch is for %s", least, arch->name);
    return least <= arch->sm || refuse(d, why);
}

bool all_taken(struct decoder *d) {
    for (size_t i = 0; i < d->in->part_count; ++i)
        if (!(d->taken >> i & 1)) {
            char why[120];
            snprintf(why, sizeof why, "modifier .%.80s", d->in->parts[i]);
            return say(d, "unknown instruction", why);
        }
    return true;
}

static bool refuse_count(struct decoder *d, size_t least, size_t most) {
    char why[80];
    snprintf(why, sizeof why, least == most ? "%zu operand%s, it takes %zu" : "%zu operand%s, it takes %zu to %zu",
             d->in->operand_count, plural(d->in->operand_count), least, most);
    return refuse_operand(d, why);
}

bool operand_total(struct decoder *d, size_t least, size_t most) {
    if (d->in->operand_count < least || d->in->operand_count > most)
        return refuse_count(d, least, most);
    return true;
}
