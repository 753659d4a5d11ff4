/* What the files of `warpproof greedy` share: the arm that compares, what it found, and what is printed of it. */
#ifndef CLI_GREEDY_H
#define CLI_GREEDY_H

#include "../gpu/plan.h"
#include "../oracles/kernel_run.h"
#include "../oracles/outcome.h"
#include "../ref/decoder.h"
#include "devices.h"
#include "plant.h"
#include <stdio.h>

/* A fault between the arms, put into what the kernels get. */
enum greedy_plant {
    GREEDY_PLANT_NONE,
    GREEDY_PLANT_WEIGHT_NIBBLE,    /* one code of the last layer's ffn_down is another */
    GREEDY_PLANT_WEIGHT_SCALE,     /* the last bit of one scale there */
    GREEDY_PLANT_STALE_ACTIVATION, /* from the second call on, layer 0's ffn_down takes the first call's activations */
};
extern const char *const greedy_plant_names[]; /* by the enum; ended by NULL */

/* Products that one kernel (or the reference, for one contract) served. */
struct served {
    const struct plan_row *row;
    bool single;      /* one token */
    unsigned tensors; /* bit w: of enum decoder_weight; bit LAYER_WEIGHTS: the head */
    uint64_t products, macs, bits;
    uint64_t warp_instructions; /* of the machine */
    double seconds;             /* of the kernel, and of the reference */
    double reference_seconds;
};

/* The first product whose bits are not the reference's. */
struct difference {
    bool present;
    bool quantiser;     /* it is the quantised activation, not the product */
    size_t step, layer; /* layer SIZE_MAX: the head */
    char *tensor;       /* its name */
    const char *kernel;
    size_t nt, od, id;   /* of the product; of a quantiser od is 0 */
    size_t wrong, cells; /* cells that differ */
    size_t token, row;   /* of the first; a quantiser's row is the word of the token's blocks */
    size_t position;     /* of the token in the sequence */
    uint32_t want, got;
    bool faulty; /* a watch found something as well */
    char *shape; /* which cells are wrong, in words; and what makes such a pattern, or NULL */
    const char *suspects;
    char *operands;         /* what is wrong with the operands that the kernel got, or NULL: they are right */
    char *folder, *rerun;   /* of the case; NULL: it could not be written, */
    char *unwritten;        /* for this reason */
    struct outcome outcome; /* the case alone, all watches on */
};

struct greedy_arm {
    const struct decoder_model *model;
    struct plan *plan;
    const struct runner *runner; /* NULL: the reference alone */
    struct launch_options options;
    const struct devices *devices; /* which take the launches in turn, where runner is that of a GPU */
    int threads;
    enum greedy_plant plant;
    struct plant kernel_plant;  /* name NULL: none */
    struct ptx_module *planted; /* its program, once it is loaded */
    const char *case_folder, *root;
    struct served *served;
    size_t served_count;
    uint64_t products, bits; /* compared */
    struct difference difference;
    /* GREEDY_PLANT_*: the changed tensor, the first call's activations */
    uint8_t *changed, *stale;
    size_t stale_bytes;
    /* what a long run shows, or NULL */
    void (*progress)(const struct greedy_arm *a, const struct decoder_product *p);
    size_t steps;
};

/* decoder_arm.product: by the plan; with a runner every result's bits are compared with the reference's, and the first
 * difference ends the run: false, and difference.present. */
bool greedy_product(void *arm, const struct decoder_product *p, float *y, struct error *e);
/* Every product of the model can be served, by the plan and, with a runner, by its kernels. nt: of the prompt. */
bool greedy_check(struct greedy_arm *a, size_t nt, struct error *e);
/* A kernel of that name serves some product, or quantises for it. After greedy_check. */
bool greedy_uses(struct greedy_arm *a, size_t nt, const char *kernel);
/* DIFFERS; or, where a launch did not end or a watch found a fault, what the case alone, all watched, is. */
enum verdict greedy_verdict(const struct difference *d);
/* The program of a row's kernel: the planted one in its place. NULL when that cannot be read. */
const struct ptx_module *greedy_module(struct greedy_arm *a, const struct plan_row *row, struct error *e);
void greedy_arm_free(struct greedy_arm *a);

/* Fills what the difference says beyond its place, and writes the case: greedy_case.c. The results differ; activation,
 * weight: as the kernel got them; right: the activation as the reference has it. */
struct differing {
    const struct plan_row *row;
    const struct decoder_product *p;
    struct contract_operands operands;
    const uint8_t *want, *got, *right;
    size_t bytes, right_bytes;
};
void greedy_differ(struct greedy_arm *a, const struct differing *d);

/* What was decoded. */
struct decoded {
    const char *model, *arm;
    uint32_t *prompt;
    size_t prompt_count;
    struct decoder_choice *choices; /* (count) */
    size_t count;
    const uint32_t *forced; /* (count) what was fed in place of the choices, or NULL */
    char **pieces;          /* (count) texts of the choices, printable, or NULL */
    size_t agreed;
    double seconds;
};
void greedy_report(FILE *out, const struct greedy_arm *a, const struct decoded *d);
bool greedy_json(const char *path, const struct greedy_arm *a, const struct decoded *d, struct error *e);

#endif
