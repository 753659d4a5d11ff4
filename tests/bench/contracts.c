/* How fast the reference itself is: multiplications a second of every matrix contract, on one thread and on all, and
 * how much its walk gains over the plain way, every cell alone with its operands unpacked anew. A measurement, not a
 * test: nothing here is judged. Usage: build/bench-ref [PART-OF-A-NAME] */
#include "../../ref/activation.h"
#include "../../ref/contract.h"
#include "../../ref/format.h"
#include "../../ref/half.h"
#include "../../ref/random.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NT = 64, OD = 512, ID = 4096, PLAIN_NT = 2, PLAIN_OD = 16 };
static const double SECONDS = 0.4; /* a measurement takes at least so long */

static void *room(size_t bytes) {
    void *p = calloc(bytes ? bytes : 1, 1);
    if (!p) {
        fprintf(stderr, "bench-ref: no memory for %zu bytes\n", bytes);
        exit(2);
    }
    return p;
}

/* A scale of about 1 / 64 in a field of a block. */
static void set_scale(uint8_t *block, struct block_field field, struct random_stream *s) {
    const float x = 0x1p-6f * (1 + random_unit(s));
    const uint16_t half = half_from_float(x);
    const uint8_t power = 121; /* E8M0 */
    if (field.bytes)
        memcpy(block + field.at,
               field.bytes == 4   ? (const void *)&x
               : field.bytes == 2 ? (const void *)&half
                                  : &power,
               field.bytes);
}

/* Random bits under ordinary scales. */
static uint8_t *random_weight(const struct block_format *f, struct random_stream *s) {
    const size_t blocks = (size_t)OD * ID / f->block_values;
    uint8_t *bytes = room(blocks * f->block_bytes);
    for (size_t i = 0; i < blocks * f->block_bytes; i++)
        bytes[i] = (uint8_t)random_u32(s);
    for (size_t b = 0; b < blocks; b++) {
        set_scale(bytes + b * f->block_bytes, f->d, s);
        set_scale(bytes + b * f->block_bytes, f->dmin, s);
    }
    return bytes;
}

/* Normal deviates in a format of plain numbers (f16). */
static uint8_t *random_numbers(const struct block_format *f, size_t rows, struct random_stream *s) {
    uint8_t *bytes = room(rows * ID * f->block_bytes);
    for (size_t i = 0; i < rows * ID; i++) {
        const float x = random_normal(s);
        f->quantize(&x, bytes + i * f->block_bytes);
    }
    return bytes;
}

static uint8_t *random_activation(const struct activation_format *f, struct random_stream *s) {
    size_t bytes = 0;
    if (!activation_bytes(f, NT, ID, &bytes))
        exit(2);
    uint8_t *buffer = room(bytes);
    for (size_t t = 0; t < NT; t++)
        for (size_t i = 0; i < ID / f->block_values; i++) {
            int8_t q[ACTIVATION_MOST_VALUES];
            float d[ACTIVATION_MOST_VALUES / 32];
            uint8_t block[ACTIVATION_MOST_BYTES];
            for (size_t k = 0; k < f->block_values; k++)
                q[k] = (int8_t)(random_below(s, 255) - 127);
            for (size_t k = 0; k < (f->block_values + 31) / 32; k++)
                d[k] = half_to_float(half_from_float(0x1p-6f * (1 + random_unit(s))));
            f->pack(q, d, block);
            activation_put(f, buffer, NT, ID, t, i, block);
        }
    return buffer;
}

/* The buffer of one token alone. */
static uint8_t *token_alone(const struct activation_format *f, const uint8_t *buffer, size_t token) {
    size_t bytes = 0;
    if (!activation_bytes(f, 1, ID, &bytes))
        exit(2);
    uint8_t *alone = room(bytes);
    for (size_t i = 0; i < ID / f->block_values; i++) {
        uint8_t block[ACTIVATION_MOST_BYTES];
        activation_get(f, buffer, NT, ID, token, i, block);
        activation_put(f, alone, 1, ID, 0, i, block);
    }
    return alone;
}

static uint8_t *row_alone(const struct block_format *f, const uint8_t *buffer, size_t token) {
    uint8_t *alone = room(ID * f->block_bytes);
    memcpy(alone, buffer + token * ID * f->block_bytes, ID * f->block_bytes);
    return alone;
}

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* GMAC/s of the fastest of the runs that fit into SECONDS, by the clock. */
static double speed(const struct contract *c, const struct contract_operands *op, size_t count, clockid_t clock,
                    float *result) {
    const double begin = now(clock);
    double best = 0;
    do {
        const double start = now(clock);
        double macs = 0;
        for (size_t i = 0; i < count; i++) {
            c->evaluate(&op[i], result);
            macs += (double)op[i].nt * (double)op[i].od * (double)op[i].id;
        }
        const double rate = macs / (now(clock) - start) * 1e-9;
        best = rate > best ? rate : best;
    } while (now(clock) - begin < SECONDS);
    return best;
}

static void measure(const struct contract *c, int threads) {
    const struct block_format *w = format_named(c->weight);
    const struct activation_format *a = activation_named(c->activation);
    const struct block_format *numbers = format_named(c->activation);
    const bool plain_numbers = w && w == numbers && w->block_values == 1 && w->quantize;
    if (!w || (!plain_numbers && (!a || !a->pack)) || ID % c->depth_multiple) {
        printf("%-28s not measured: no way to make its operands\n", c->name);
        return;
    }
    struct random_stream s = random_open(random_key(c->name), 0);
    uint8_t *weight = plain_numbers ? random_numbers(w, OD, &s) : random_weight(w, &s);
    uint8_t *activation = plain_numbers ? random_numbers(w, NT, &s) : random_activation(a, &s), *alone[PLAIN_NT];
    struct contract_operands op = {.weight = weight, .activation = activation, .nt = NT, .od = OD, .id = ID},
                             cell[PLAIN_NT * PLAIN_OD];
    for (size_t t = 0; t < PLAIN_NT; t++) {
        alone[t] = plain_numbers ? row_alone(w, activation, t) : token_alone(a, activation, t);
        for (size_t j = 0; j < PLAIN_OD; j++)
            cell[t * PLAIN_OD + j] =
                (struct contract_operands){.weight = weight + j * (ID / w->block_values) * w->block_bytes,
                                           .activation = alone[t],
                                           .nt = 1,
                                           .od = 1,
                                           .id = ID};
    }
    float *result = room(c->result_bytes(&op));
    omp_set_num_threads(1);
    const double plain = speed(c, cell, PLAIN_NT * PLAIN_OD, CLOCK_PROCESS_CPUTIME_ID, result);
    const double one = speed(c, &op, 1, CLOCK_PROCESS_CPUTIME_ID, result);
    omp_set_num_threads(threads);
    const double all = speed(c, &op, 1, CLOCK_MONOTONIC, result);
    printf("%-28s %10.2f %10.2f %10.2f %9.1f\n", c->name, one, all, plain, one / plain);
    fflush(stdout);
    free(result);
    for (size_t t = 0; t < PLAIN_NT; t++)
        free(alone[t]);
    free(activation);
    free(weight);
}

static void print_machine(int threads) {
    char line[256] = "", model[200] = "unknown processor", date[32] = "";
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %199[^\n]", model) == 1)
            break;
    if (f)
        fclose(f);
    const time_t seconds = time(NULL);
    struct tm t;
    if (gmtime_r(&seconds, &t))
        strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &t);
    printf("%s, %d threads; compiler %s; %s\n", model, threads, __VERSION__, date);
    printf("GMAC/s at nt %d, od %d, id %d; plain: one cell at a time, on one thread\n"
           "one thread by its processor time, all threads by the clock on the wall\n\n",
           NT, OD, ID);
    printf("%-28s %10s %10s %10s %9s\n", "contract", "1 thread", "all", "plain", "1 / plain");
}

int main(int argc, char **argv) {
    const int threads = omp_get_max_threads();
    print_machine(threads);
    for (const struct contract *const *c = contracts; *c; c++)
        if ((*c)->weight && (argc < 2 || strstr((*c)->name, argv[1])))
            measure(*c, threads);
    return 0;
}
