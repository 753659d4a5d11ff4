/* From outcomes to counts and the exit code (design.md 8). */
#ifndef CLI_JUDGE_EXIT_H
#define CLI_JUDGE_EXIT_H

#include "../reports/json.h"

/* Passed, failed (any finding), skipped, and the sums of what ran. */
struct totals totals_of(const struct outcome *outcomes, size_t count, double wall_seconds, int threads);

/* 1 when a kernel is wrong, else 2 when an input is, else 0 when something passed, else 3. */
int exit_code_of(const struct outcome *outcomes, size_t count);

#endif
