/* Mutants of kernels' programs, each run on cases until a judge is red (docs/mutate.md). */
#ifndef CLI_MUTATE_H
#define CLI_MUTATE_H

#include "../gpu/mutant.h"
#include "../gpu/mutant_flow.h"
#include "../oracles/trial.h"
#include "case_set.h"

enum fate {
    FATE_KILLED,     /* a judge named it */
    FATE_EQUIVALENT, /* it passed, and computes the same for every shape and operand: gpu/mutant_proof.h */
    FATE_NAMED,      /* it passed, and fixtures/mutants.yaml has a proof in words */
    FATE_UNREACHED,  /* it passed, and no lane executes the instruction in any of the cases */
    FATE_SURVIVED,   /* it passed, and nothing more is known */
    FATE_INVALID,    /* the machine refuses the program: no mutant */
    FATES,
};
extern const char *const fate_names[FATES];

struct mutate_kernel {
    const struct spec *spec;
    const struct ptx_module *module;
    struct mutant_list mutants;
    struct mutant_flow **flows; /* (flow_count) of the entries */
    size_t flow_count;
    const struct test_case **cases; /* (case_count) in the order they are tried */
    size_t case_count, small_count; /* the first small_count: the small set, whose operands are kept */
    size_t quick_count;             /* the first quick_count: those of the gate; what follows is of its full lattice */
    struct operands *operands;      /* (small_count) */
    uint64_t *steps;                /* (small_count) budget of a block */
};

struct mutation { /* one mutant */
    struct mutate_kernel *kernel;
    const struct mutant *mutant;
    char *name; /* KERNEL/OPERATOR/LINE/K */
    enum fate fate;
    int oracle; /* of a killed one, the first that was red: index into oracles[] */
    enum verdict verdict;
    const char *id; /* the case that killed it */
    char *reason;   /* what the judge said, why it is equivalent, or what passed */
    bool full;      /* of a killed one: all quick cases passed, one of the full lattice was red */
    char *named;    /* what fixtures/mutants.yaml says of it, or NULL; owned */
    size_t runs;    /* cases that it ran */
    bool proved;    /* gpu/mutant_proof.h calls it equivalent; of a killed one that is a fault of the proof */
};

struct mutate_options {
    uint32_t off;      /* judges that do not count, a bit each */
    size_t most_cases; /* a mutant is run on */
    size_t most_full;  /* of them those that are not quick */
    bool check;        /* what a judge kills is proved thread by thread as well: it must not succeed */
    int threads;
};

struct mutate_cases {
    const struct case_set *set; /* the full lattice */
    const bool *quick;          /* (set->list.count) it is a case of the quick one as well */
};

/* Chooses and orders the kernel's cases, makes operands of the small set, and runs those without a mutant: they must
 * pass. */
bool mutate_prepare(struct mutate_kernel *k, const struct mutate_cases *all, const struct mutate_options *o,
                    struct error *e);
void mutate_kernel_free(struct mutate_kernel *k);

/* Runs one mutant and says its fate. */
void mutate_one(struct mutation *x, const struct mutate_options *o);

/* mutate_report.c */
void mutate_print(const struct mutation *all, size_t count, const struct mutate_options *o);
bool mutate_json(const char *path, const struct mutation *all, size_t count, struct error *e);
size_t mutate_fate_count(const struct mutation *all, size_t count, enum fate f);

#endif
