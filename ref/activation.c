#include "activation.h"
#include <string.h>

extern const struct activation_format activation_pad40;

const struct activation_format *const activation_formats[] = {&activation_pad40, NULL};

const struct activation_format *activation_named(const char *name) {
    for (const struct activation_format *const *f = activation_formats; *f; f++)
        if (!strcmp((*f)->name, name))
            return *f;
    return NULL;
}
