/* Usage: bank-patterns patterns                                  the address patterns, as a table without counts
 *        bank-patterns kernels                                   PTX with one kernel an access
 *        bank-patterns launch TABLE [--runner machine|device]    one launch a row; the machine holds its own counts to
 *                                                                the model's
 *        bank-patterns join TABLE CSV                            the table with what `ncu --csv` counted of `launch`
 *        bank-patterns device                                    the GPU, in one line
 * Exit code: 0 done, 1 counts differ, 2 usage or environment. ci/banks-device does all of it on a GPU. */
#include "../../gpu/device/device.h"
#include "../../ref/checked.h"
#include "banks.h"
#include <stdlib.h>
#include <string.h>

static int complain(const char *text) {
    fflush(stdout);
    fprintf(stderr, "bank-patterns: %s\n", text);
    return 2;
}

static int launch_all(const struct bank_table *t, const struct runner *runner) {
    struct error e;
    char *text = kernels_text();
    struct ptx_module *m = ptx_parse("kernels.ptx", text, strlen(text), &e);
    const bool census = runner == &runner_machine;
    size_t differ = 0, done = 0;
    free(text);
    for (; m && done < t->count; ++done) {
        struct bank_count got;
        const struct bank_count want = bank_row_count(&t->rows[done]);
        if (!kernels_launch(m, &t->rows[done], runner, census, &got, &e))
            break;
        if (census && (got.wavefronts != want.wavefronts || got.conflicts != want.conflicts)) {
            ++differ;
            printf("DIFFERS line %zu: %s %s: %u wavefronts, %u conflicts, want %u and %u\n", t->rows[done].line,
                   t->rows[done].op.name, t->rows[done].label, got.wavefronts, got.conflicts, want.wavefronts,
                   want.conflicts);
        }
        if ((done + 1) % 100 == 0 || done + 1 == t->count)
            fprintf(stderr, "%zu of %zu launches\n", done + 1, t->count);
    }
    ptx_free(m);
    return !m || done < t->count ? complain(e.text) : t->count == 0 ? 3 : differ > 0;
}

int main(int argc, char **argv) {
    const char *command = argc > 1 ? argv[1] : "";
    struct error e;
    if (argc == 2 && strcmp(command, "patterns") == 0) {
        patterns_write(stdout);
        return 0;
    }
    if (argc == 2 && strcmp(command, "kernels") == 0) {
        char *text = kernels_text();
        fputs(text, stdout);
        free(text);
        return 0;
    }
    if (argc == 2 && strcmp(command, "device") == 0) {
        struct device_identity id;
        if (!device_identify(0, &id, &e))
            return complain(e.text);
        printf("%s (sm_%d), driver %s, CUDA %d.%d\n", id.name, id.sm, id.driver, id.cuda_version / 1000,
               id.cuda_version % 1000 / 10);
        return 0;
    }
    const bool launch = (argc == 3 || argc == 5) && strcmp(command, "launch") == 0;
    const bool join = argc == 4 && strcmp(command, "join") == 0;
    const struct runner *runner = &runner_device;
    if (launch && argc == 5) {
        if (strcmp(argv[3], "--runner") != 0 || (strcmp(argv[4], "machine") != 0 && strcmp(argv[4], "device") != 0))
            return complain("want --runner machine or --runner device");
        runner = strcmp(argv[4], "machine") == 0 ? &runner_machine : &runner_device;
    }
    if (!launch && !join)
        return complain("want patterns, kernels, launch TABLE [--runner NAME], join TABLE CSV or device");
    struct bank_table t;
    if (!bank_table_read(argv[2], &t, &e))
        return complain(e.text);
    const int code = launch                                         ? launch_all(&t, runner)
                     : join_counts(&t, argv[3], stdout, stderr, &e) ? 0
                                                                    : complain(e.text);
    bank_table_free(&t);
    return code;
}
