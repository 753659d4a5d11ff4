/* What became of one case: the verdict, every finding, and what the run counted. Reports read nothing else. */
#ifndef ORACLES_OUTCOME_H
#define ORACLES_OUTCOME_H

#include "../gpu/audit.h"
#include "oracle.h"

enum { OUTCOME_SCHEDULES = 3 };

struct outcome {
    char *id;      /* of the case, or the launch file's path */
    char *about;   /* kernel's name */
    char *rerun;   /* the command that runs it again, or NULL */
    char *variant; /* what tells it from other runs of this id: "FILE NAME=VALUE", or NULL */
    bool skipped;  /* selected, but what it needs is not there; see why */
    char *why;     /* of a skip, or NULL */
    struct findings findings;
    enum ruling rulings[ORACLES_MAX];                 /* by index in oracles[]; meaningless when skipped or refused */
    bool ruled[ORACLES_MAX];                          /* by index in oracles[]: some launch had something for it */
    bool judged;                                      /* the launch ran and the oracles saw it */
    bool complete;                                    /* all launches ran to their ends */
    bool refused;                                     /* one asked for more than there is: nothing was run */
    uint32_t unwatched;                               /* enum watch: what the launch was not watched for */
    bool parity_judged;                               /* some output was compared with right bytes */
    char schedules[OUTCOME_SCHEDULES][SCHEDULE_NAME]; /* the orders that were run, the first one counts */
    size_t schedule_count;
    char rerun_schedule[SCHEDULE_NAME]; /* what --schedule must say to see this again, "": nothing */
    char digest[65];                    /* SHA-256 of all output bytes in argument order, "" when it did not run */
    char inputs[65];                    /* of the launch and all that it reads (gpu/digest.h), "" unless asked for */
    bool canary;                        /* the canary build was judged, and compared with the plain one */
    bool on_gpu;                        /* a real GPU ran it: schedules and counts are not known */
    uint64_t warp_instructions, macs;
    size_t audit[AUDIT_KINDS]; /* places of each kind in the program (gpu/audit.h); all 0 when it did not run */
    size_t launches;           /* that were run in the first order; 0 when none was */
    struct census *censuses;   /* (census_count) with options.census, one a launch; file names are the module's */
    size_t census_count;
    double seconds;             /* of the execution alone */
    struct trace_print *prints; /* (print_count) the first ones of what printf wrote; owned */
    size_t print_count;
    uint64_t print_total; /* calls of printf, lane by lane */
};

enum verdict outcome_verdict(const struct outcome *o); /* worst finding; SKIPPED; PASS */
/* An oracle with some of its watches off. */
bool outcome_in_part(const struct outcome *o, const struct oracle *oracle);
/* "sync, uninit not judged, guard in part: --watches", or NULL when every oracle judged that has something to judge by.
 * Parity, and with it truth, has words of its own. The caller frees it. */
char *outcome_not_judged(const struct outcome *o);
void outcome_free(struct outcome *o);

#endif
