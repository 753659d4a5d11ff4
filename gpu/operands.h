/* The operands of one case: bytes made for a contract, a shape and a data class. */
#ifndef GPU_OPERANDS_H
#define GPU_OPERANDS_H

#include "../ref/activation.h"
#include "../ref/contract.h"
#include "data.h"
#include "yaml.h"

struct operands {
    uint8_t *weight;     /* (weight_bytes) exact allocation, NULL for a quantiser */
    uint8_t *activation; /* (activation_bytes) exact allocation */
    size_t weight_bytes, activation_bytes;
    size_t result_bytes;         /* of the contract's result */
    struct activation_sums sums; /* of an activation out of a file */
    uint8_t *expected;           /* (result_bytes) what a file says the result is, NULL: nothing */
    bool lent; /* weight and activation are somebody else's: a launch takes these very bytes and does not change them */
    struct contract_operands view; /* the same bytes as the contract takes them */
};

/* An operand in a raw file: its whole buffer, as a kernel takes it. */
struct operand_file {
    const char *path;           /* NULL: none */
    const char *sha256;         /* 64 lower-case hex digits, or NULL */
    const struct yaml_doc *doc; /* the file that names it, and where: messages get the place; NULL: none */
    const struct yaml_node *node;
};

/* What to make. */
struct operands_request {
    const struct contract *contract;
    size_t nt, od, id;  /* od is not used for a quantiser */
    struct split split; /* other than none only where the contract splits */
    enum data_class data;
    uint64_t key; /* random_key of the case id */
    /* DATA_FILE only: the files. weight_file.path is NULL for a quantiser, expect_file.path may be. */
    struct operand_file weight_file, activation_file, expect_file;
    /* DATA_REAL only: the model's file and its embedding; weight is a tensor of the contract's weight format with od
     * rows of id values, NULL for a quantiser. */
    const char *model_path;
    const struct gguf_tensor *weight, *embedding;
};

/* The sizes alone: *o without memory. Fails on an unknown format, a depth that is no positive multiple of the
 * contract's and the formats' or that the class does not serve, on a split that the contract or the depth does not
 * take, and on sizes past OPERANDS_MAX_BYTES. */
bool operands_measure(const struct operands_request *r, struct operands *o, struct error *e);

/* Makes them, or reads them. Weights come from stream 0 of the key and activations from stream 1, so neither depends on
 * the other's size. In class real f32 activations are the strung-together embedding rows, other formats their quantised
 * form. Fails where operands_measure does, on a class without data for a format, on a tensor of another shape or with
 * values that are not finite, on a stored sum that no 32 int8 have, and on a file that is no regular file, of another
 * size (the message says which shape or format that size would fit) or of another digest; *o is then empty. */
bool operands_make(const struct operands_request *r, struct operands *o, struct error *e);
/* DATA_FILE only: sizes as operands_measure, and of the files. Reads none of them. */
bool operands_check_files(const struct operands_request *r, struct error *e);
void operands_free(struct operands *o); /* leaves *o empty */

#define OPERANDS_MAX_BYTES ((size_t)4 << 30) /* of one buffer */

#endif
