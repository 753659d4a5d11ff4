#include "devices.h"
#include "../gpu/device/device.h"
#include "command.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int devices_option(const char *command, const char *text, struct devices *d) {
    const size_t digits = strspn(text, "0123456789");
    const bool all = strcmp(text, "all") == 0;
    if (!all && (digits == 0 || digits > 4 || text[digits] != 0)) {
        return usage_error(command, "--device %s: want the number of a GPU, counted from 0, or all", text);
    }
    *d = (struct devices){.given = true, .all = all, .first = all ? 0 : atoi(text)};
    return -1;
}

/* The row of a GPU's compute capability, or the last one before it. */
static const struct arch *arch_of_gpu(int sm) {
    const struct arch *a = archs;
    while (a[1].name != NULL && (int)a[1].sm <= sm) {
        ++a;
    }
    return a;
}

int devices_open(const char *command, struct devices *d, const struct arch **arch) {
    struct device_identity first = {.sm = 0}, id;
    struct error e;
    int here;
    if (!device_count(&here, &e)) {
        return usage_error(command, "%s", e.text);
    }
    if (d->first >= here) {
        return usage_error(command, "--device %d: there %s %d here, counted from 0", d->first, here == 1 ? "is" : "are",
                           here);
    }
    d->count = d->all ? here : 1;
    for (int i = 0; i < d->count; ++i) {
        if (!device_identify(d->first + i, &id, &e)) {
            return usage_error(command, "%s", e.text);
        }
        if (i > 0 && id.sm != first.sm) {
            return usage_error(command,
                               "--device all: %s is sm_%d, %s (GPU %d) sm_%d, and a run judges by the limits of one "
                               "architecture; want --device N",
                               first.name, first.sm, id.name, i, id.sm);
        }
        first = i == 0 ? id : first;
    }
    for (int i = 0; i < d->count && device_identify(d->first + i, &id, &e); ++i) {
        char number[32] = "";
        if (here > 1) {
            snprintf(number, sizeof number, "GPU %d of %d, ", d->first + i, here);
        }
        fprintf(stderr, "warpproof %s: on %s%s (sm_%d), driver %s\n", command, number, id.name, id.sm, id.driver);
    }
    *arch = arch_of_gpu(first.sm);
    return -1;
}

bool devices_list(FILE *out, struct error *e) {
    struct device_identity id;
    int here;
    bool good = device_count(&here, e);
    for (int i = 0; good && i < here; ++i) {
        good = device_identify(i, &id, e);
        if (good) {
            char *text = device_text(&id);
            fprintf(out, "%d  %s\n", i, text);
            free(text);
        }
    }
    return good;
}

int devices_turn(const struct devices *d, size_t turn) {
    for (int i = 0; i < d->count; ++i) {
        const int gpu = d->first + (int)((turn + (size_t)i) % (size_t)d->count);
        if (!device_lost(gpu)) {
            return gpu;
        }
    }
    return d->first;
}

void devices_again(const struct devices *d, char text[DEVICES_AGAIN]) {
    text[0] = 0;
    if (d->first > 0) {
        snprintf(text, DEVICES_AGAIN, " --device %d", d->first);
    }
}
