#include "split.h"
#include "printable.h"
#include <stdlib.h>
#include <string.h>

bool split_parse(const char *text, struct split *s, struct error *e) {
    *s = (struct split){.kind = SPLIT_NONE};
    return !strcmp(text, "none") || fail(e, "'%s' is no split; known: none", text);
}

bool split_check(const struct split *s, size_t id, size_t multiple, struct error *e) {
    (void)id, (void)multiple;
    return s->kind == SPLIT_NONE || fail(e, "no split");
}
