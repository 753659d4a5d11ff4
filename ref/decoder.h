/* A decoder-only transformer out of a GGUF file, decoded greedily: architectures llama, qwen2 and gemma3.
 *
 * Contract. x (nt, width) f32 is the residual stream. For each layer, in this order, rn = one f32 rounding:
 *
 *   h = norm(x; attn_norm)
 *   q = Q h,  k = K h,  v = V h                                    (+ bias, rn, where there is one)
 *   q, k = norm of each head (gemma3: attn_q_norm, attn_k_norm);  q, k = rotary of each head
 *   a = attention of each head over the positions that it sees; head i uses key head i / (heads / key_heads)
 *   o = O a (+ bias);  gemma3: o = norm(o; post_attention_norm);  x = rn(x + o)
 *   h = norm(x; ffn_norm);  u = rn(activation(G h) * U h);  d = D u;  gemma3: d = norm(d; post_ffw_norm);  x = rn(x +
 * d)
 *
 * and at the end logits = H norm(x; output_norm), of the positions that are asked for alone. x starts as the embedding
 * row, in gemma3 as rn(row * (float)sqrt(width)). norm, rotary, attention and the activations (SiLU; GELU in gemma3)
 * are those of decoder_math.h. Q K V O G U D H are the matrix products, which an arm computes (struct decoder_arm):
 * everything else is the same code in every arm, and nothing depends on the number of threads.
 *
 * The scale of attention is 1 / sqrt(key_length); of gemma3 with 62 layers 1 / sqrt(width / heads). A layer of gemma3
 * sees the last attention.sliding_window positions and turns by base 10000 (or rope.freq_base_swa) without scaling,
 * except every 6th (or attention.sliding_window_pattern), which sees all and turns by rope.freq_base.
 *
 * Source: the models' papers and configurations; GGUF's keys and tensor names (ggml docs/gguf.md). */
#ifndef REF_DECODER_H
#define REF_DECODER_H

#include "decoder_math.h"
#include "gguf.h"

enum decoder_weight { WEIGHT_Q, WEIGHT_K, WEIGHT_V, WEIGHT_O, WEIGHT_GATE, WEIGHT_UP, WEIGHT_DOWN, LAYER_WEIGHTS };

struct decoder_matrix {
    const struct gguf_tensor *tensor; /* (od, id) of the file */
    const float *bias;                /* (od), or NULL; into the file's or the model's memory */
};

struct decoder_layer {
    struct decoder_matrix weight[LAYER_WEIGHTS];
    const float *attention_norm, *ffn_norm;           /* (width) */
    const float *q_norm, *k_norm;                     /* (key_size) or NULL */
    const float *post_attention_norm, *post_ffw_norm; /* (width) or NULL */
    struct rotary rotary;
    size_t window; /* positions seen, the own one among them; 0: all */
};

struct decoder_model {
    const struct gguf_file *file; /* the caller's, open as long as the model is */
    const char *architecture;     /* "llama", "qwen2", "gemma3" */
    size_t layers, width, hidden, heads, key_heads, key_size, value_size, vocabulary, context;
    float epsilon, embedding_scale, attention_scale;
    bool gelu;
    struct decoder_layer *layer; /* (layers) */
    const struct gguf_tensor *embedding;
    struct decoder_matrix head;
    const float *output_norm; /* (width) */
    float *memory;            /* the vectors of f32 that the pointers above go to */
};

/* Reads and checks hyperparameters and tensors. Fails, with a line that names the key or the tensor, on: another
 * architecture, missing or odd keys, counts of 0 or past their limits, heads that do not divide, tensors that are
 * missing, of another shape, not decodable, or that the architecture has no place for, weights that are not finite, a
 * list of tokens of another length than the vocabulary, experts, soft caps, and a rotary scaling other than linear.
 * NULL on failure. */
struct decoder_model *decoder_model_open(const struct gguf_file *f, struct error *e);
void decoder_model_close(struct decoder_model *m); /* NULL is fine */

/* One matrix product: y (nt, od) = x (nt, id) times weight (od, id), transposed. */
struct decoder_product {
    const struct gguf_tensor *tensor; /* name, format, bytes; od = rows, id = extent[0] */
    const float *x;                   /* (nt, id) */
    size_t nt, od, id;
    size_t layer;    /* of the model; SIZE_MAX: the head */
    size_t step;     /* the call of decoder_feed, from 0 */
    size_t position; /* of token 0 of x in the sequence */
};

/* What computes the matrix products. False ends the run, with the reason in e. */
struct decoder_arm {
    bool (*product)(void *self, const struct decoder_product *p, float *y, struct error *e); /* y: (nt, od) */
    void *self;
};

/* A sequence: the keys and values of its positions. */
struct decoder;
/* Room for `positions` tokens. NULL when they are more than the model's context or memory is short. */
struct decoder *decoder_open(const struct decoder_model *m, size_t positions, struct error *e);
void decoder_close(struct decoder *d); /* NULL is fine */

/* Takes `count` >= 1 token ids in at the next positions. logits (vocabulary) = those of the last one; NULL: none, and
 * the head is not computed. Fails on an id that the vocabulary does not have, on a sequence that is full, and where the
 * arm fails. */
bool decoder_feed(struct decoder *d, const uint32_t *ids, size_t count, const struct decoder_arm *arm, float *logits,
                  struct error *e);

struct decoder_choice {
    uint32_t id;    /* of the largest logit; the lowest id on a tie */
    uint32_t other; /* of the largest among the rest; likewise; id itself in a vocabulary of 1 */
    double margin;  /* its distance to the largest, in nats: the difference of the logits */
};
/* Fails on a NaN, and names the first id that has one. */
bool decoder_choose(const float *logits, size_t vocabulary, struct decoder_choice *c, struct error *e);

#endif
