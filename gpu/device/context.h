/* The GPUs of this machine, each with a lock, a context and built programs of its own; internal to gpu/device.
 *
 * Whoever works on one enters it, and leaves it when all that it has allocated there is freed:
 *
 *     struct gpu *g = gpu_enter(l->options.gpu, e);
 *     if (!g)
 *         return false;
 *     ... gpu_function, gpu_allow_shared, g->driver->mem_alloc, ->launch ..., gpu_wait
 *     gpu_leave(g);
 *
 * In between its context is this thread's, and nobody else's: others wait, those of other GPUs do not. */
#ifndef GPU_DEVICE_CONTEXT_H
#define GPU_DEVICE_CONTEXT_H

#include "../launch.h"
#include "device.h"
#include "driver.h"

enum { GPU_BAND = 4096, GPU_BAND_BYTE = 0xa5 }; /* bytes of a guard band around a buffer, and what is in it */

struct gpu_state;
struct gpu { /* one that is entered; it lives as long as the program */
    const struct driver *driver;
    int number; /* from 0, in the driver's order: --device, launch_options.gpu */
    int device; /* CUdevice */
    struct device_identity identity;
    bool alive; /* false since gpu_reset, or since gpu_wait gave up: what was allocated is gone, or out of reach; free
                 * nothing */
    struct gpu_state *state;
};

/* Waits for GPU `number`, and makes its context this thread's. NULL: there is no such GPU, or it is lost; e has one
 * line. */
struct gpu *gpu_enter(int number, struct error *e);
void gpu_leave(struct gpu *g);

/* The program of l, its cubin or PTX, and its entry there; a program that the driver has built is kept, whatever its
 * launch. Good until the GPU is left. */
bool gpu_module(struct gpu *g, const struct launch *l, cu_module *module, struct error *e);
bool gpu_function(struct gpu *g, const struct launch *l, cu_function *function, struct error *e);

/* Asks for the dynamic shared memory of l. *refused: NULL; or, with true, why this GPU has not that much: the caller
 * frees it. */
bool gpu_allow_shared(struct gpu *g, const struct launch *l, cu_function function, char **refused, struct error *e);

/* The arguments of l as cuLaunchKernel takes them, addresses[i] for buffer i; free with gpu_params_free. */
void **gpu_params(const struct launch *l, const uint64_t *addresses);
void gpu_params_free(const struct launch *l, void **params);

/* Waits for all that was launched (on the default stream). CU_NOT_READY: it did not end in `seconds`, cannot be
 * stopped from here, and the GPU is lost: nobody can enter it any more. Every other error calls for gpu_reset. */
cu_result gpu_wait(struct gpu *g, int seconds);
/* How long a launch may take, in seconds: $WARPPROOF_DEVICE_SECONDS, else two minutes. */
int gpu_longest(void);

/* After a fault, which leaves a context that is good for nothing: everything in it is gone, and the next one who enters
 * this GPU gets a new one. */
void gpu_reset(struct gpu *g);

/* Of a monotonic clock. */
double gpu_seconds_now(void);

#endif
