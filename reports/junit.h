/* JUnit XML, as GitHub's test reporters and GitLab read it: testsuites, a testsuite a kernel, a testcase a case.
 *
 *   <testcase classname=KERNEL name="REST-OF-THE-ID (VARIANT)" time=SECONDS file=... line=...>
 *     <failure type=VERDICT message=FIRST-LINE>the whole message of the terminal</failure> | <skipped message=WHY/>
 *
 * Every verdict but PASS and SKIPPED is a failure, so the counts are those of the last line of the run. */
#ifndef REPORTS_JUNIT_H
#define REPORTS_JUNIT_H

#include "../ref/error.h"
#include "json.h"

/* Whole messages of more red cases than these are left out: readers take files of some tens of megabytes. */
enum { JUNIT_BODIES = 1000, JUNIT_MESSAGE = 1 << 14 /* bytes of one; the rest is counted */ };

struct junit_case { /* all texts owned; those after `name` may be NULL */
    char *kernel, *name;
    enum verdict verdict;
    double seconds;       /* of the execution, 0: not known */
    char *message, *body; /* of a failure; message: the reason of a skip too */
    char *file;           /* where the fault is, for a note beside the line */
    int line;
};

struct junit_property {
    char *name, *value; /* owned */
};

struct junit {
    const char *command; /* "gate" */
    double seconds;      /* of the whole run */
    struct junit_case *cases;
    size_t count;
    struct junit_property *properties; /* of every suite: no reader looks for them above */
    size_t property_count;
};

/* An empty case of the kernel, for filling. id: of the case; its name is what follows the kernel's, else all of it. */
struct junit_case *junit_add(struct junit *j, const char *kernel, const char *id, enum verdict v);
void junit_property(struct junit *j, const char *name, const char *value);
/* The outcomes of a run with its runner and GPUs. */
void junit_outcomes(struct junit *j, const struct outcome *outcomes, size_t count, const struct totals *totals);

/* Suites in the order of their first case. Writes the file whole or not at all (file.h). */
bool junit_write(const char *path, const struct junit *j, struct error *e);
void junit_free(struct junit *j);

#endif
