/*
 * main() of the test binary: Criterion's runner, closed by one line of totals and an honest exit status.
 *
 * Criterion alone exits 0 when a filter matches nothing, and counts tests that a filter left out as skipped.
 * Here nothing run is exit 3, and only a test that said so itself (cr_skip_test, .disabled) is a skip.
 *
 * Exit: 0 at least one test passed and none failed; 1 a test failed or crashed; 3 nothing ran.
 */
#include <criterion/criterion.h>
#include <criterion/hooks.h>
#include <criterion/internal/ordered-set.h>
#include <stdio.h>
#include <unistd.h>

enum { EXIT_NOTHING_RAN = 3 };

static struct { size_t passed, failed, skipped; } total;

/* Tests their author switched off. Asked before the run: a filter switches tests off by the same flag. */
static size_t count_disabled(const struct criterion_test_set *set) {
    size_t disabled = 0;
    FOREACH_SET(const struct criterion_suite_set *s, set->suites) {
        bool suite_off = s->suite.data && s->suite.data->disabled;
        FOREACH_SET(const struct criterion_test *t, s->tests) {
            disabled += suite_off || (t->data && t->data->disabled);
        }
    }
    return disabled;
}

/* A test that ran and called cr_skip_test. Tests that never ran leave no entry of their own to count. */
static size_t count_skipped_while_running(const struct criterion_global_stats *stats) {
    size_t skipped = 0;
    for (const struct criterion_suite_stats *s = stats->suites; s; s = s->next) {
        for (const struct criterion_test_stats *t = s->tests; t; t = t->next) {
            bool off = t->test->data && t->test->data->disabled;
            skipped += t->test_status == CR_STATUS_SKIPPED && !off;
        }
    }
    return skipped;
}

ReportHook(POST_ALL)(struct criterion_global_stats *stats) {
    /* Crashes are among the failed. A process that dies after its test's body (a leak found at exit) is only a
     * warning to Criterion, and its test a pass: here it is a failure. */
    size_t died_late = stats->warnings + stats->errors;
    total.failed = stats->tests_failed + died_late;
    total.passed = stats->tests_passed > died_late ? stats->tests_passed - died_late : 0;
    total.skipped += count_skipped_while_running(stats);
}

/* Read by AddressSanitizer at start, in `make asan`: Criterion sees a signal, but no exit status of its workers. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "abort_on_error=1";
}

int main(int argc, char *argv[]) {
    struct criterion_test_set *tests = criterion_initialize();
    int status = 0;

    if (criterion_handle_args(argc, argv, true)) {
        total.skipped = count_disabled(tests);
        int good = criterion_run_all_tests(tests);
        if (total.passed + total.failed == 0)
            status = EXIT_NOTHING_RAN;
        else
            status = !good || total.failed > 0;
        /* Criterion reports on standard error; our line comes after it, whatever the two streams lead to. */
        fflush(stderr);
        printf("%zu passed, %zu failed, %zu skipped\n", total.passed, total.failed, total.skipped);
        fflush(stdout);
    }
    criterion_finalize(tests);
    /* Only the runner comes here; tests are processes of their own. Criterion sometimes leaks 48 bytes in it, which the
     * leak checker would report at a return. */
    fflush(NULL);
    _exit(status);
}
