#include "selecting.h"
#include "command.h"
#include <stdio.h>
#include <string.h>

int check_patterns(const char *command, const char *const *patterns, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        if (patterns[i][0] == 0) {
            return usage_error(command, "a PATTERN is empty (without any, all cases are selected)");
        }
    }
    return -1;
}

bool note_models(const char *command, const struct case_list *list) {
    bool unreadable = false;
    for (size_t i = 0; i < list->model_count; ++i) {
        const struct case_model *m = list->models[i];
        if (m->why != NULL) {
            unreadable = true;
            fprintf(stderr, "warpproof %s: the cases of %s are not there: %s\n", command, m->name, m->why);
        } else if (m->file == NULL) {
            fprintf(stderr, "warpproof %s: the cases of %s are not there: `make models` brings it\n", command, m->name);
        }
    }
    return unreadable;
}

bool fail_missed(struct error *e, const char *pattern) {
    const bool glob = strpbrk(pattern, "*?[") != NULL;
    return fail(e, "no case matches '%s'%s (see warpproof list cases)", pattern,
                glob ? "; a glob must match a whole id, '*' at its ends helps" : "");
}
