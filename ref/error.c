#include "error.h"
#include <stdarg.h>
#include <stdio.h>

bool fail(struct error *e, const char *format, ...) {
    if (!e)
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    return false;
}
