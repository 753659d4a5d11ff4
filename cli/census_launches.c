/* warpproof census --table --launches: the launches that the table counts, each once, for a profiler to count. */
#include "../gpu/device/device.h"
#include "../gpu/digest.h"
#include "../ref/checked.h"
#include "command.h"
#include "ladder.h"
#include <stdio.h>
#include <stdlib.h>

static bool print_device(const struct judging *j, struct error *e) {
    struct device_identity id;
    if (j->runner != &runner_device) {
        printf("device\tthe PTX machine\n");
        return true;
    }
    if (!device_identify(j->devices.first, &id, e)) {
        return false;
    }
    char *text = device_text(&id);
    printf("device\t%s\n", text);
    free(text);
    return true;
}

/* A line for each launch that was made of a kernel; *number goes on from kernel to kernel, as a profiler counts. */
static bool print_launches(const struct rung *r, size_t *number, struct error *e) {
    char digest[DIGEST_HEX];
    if (!digest_program(r->module, digest, e)) {
        return false;
    }
    char *shape = rung_shape(r);
    for (size_t i = 0; i < r->outcome.launches; ++i, ++*number) {
        printf("launch\t%zu\t%s\t%zu\t%s\t%s\t%s\n", *number, r->spec->kernel, i + 1, rung_launch(r, i)->entry, shape,
               digest);
    }
    fflush(stdout);
    free(shape);
    return true;
}

int census_launches(struct ladder *l, const struct judging *j) {
    size_t number = 0, passed = 0;
    bool wrong = false, open = false;
    struct error e;
    bool good = print_device(j, &e);
    for (size_t i = 0; good && i < l->count; ++i) {
        struct rung *r = &l->rungs[i];
        rung_run(r, j);
        good = r->module == NULL || print_launches(r, &number, &e);
        passed += rung_passed(r);
        if (r->why != NULL) {
            printf("%s: %s\n", r->spec->kernel, r->why);
            open = true;
        } else if (!rung_passed(r)) {
            rung_failure(r, &wrong, &open);
        }
    }
    if (!good) {
        flush_output();
        return usage_error("census", "%s", e.text);
    }
    return wrong ? EXIT_KERNEL_WRONG : open ? EXIT_INPUT : passed > 0 ? EXIT_PASSED : EXIT_NOTHING_RAN;
}
