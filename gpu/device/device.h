/* The second runner: a launch on a real GPU, through the CUDA driver API. What it needs beyond struct runner. */
#ifndef GPU_DEVICE_DEVICE_H
#define GPU_DEVICE_DEVICE_H

#include "../launch.h"

struct device_identity {
    char name[128];   /* "NVIDIA H200" */
    char driver[64];  /* "580.159.04", or the CUDA version it serves when the kernel module does not tell */
    int cuda_version; /* 13000 */
    int sm;           /* 90 */
};

/* How many GPUs there are, at least 1. Fails with one line where there is no driver or no GPU. */
bool device_count(int *count, struct error *e);
/* GPU number `gpu`, counted from 0 (launch_options.gpu). Fails with one line where there is no such GPU. */
bool device_identify(int gpu, struct device_identity *id, struct error *e);
/* It has a launch that did not end: every further one there fails. Never waits. */
bool device_lost(int gpu);

/* "NVIDIA H200 (sm_90), driver 580.159.04, CUDA 13.0"; the caller frees it. */
char *device_text(const struct device_identity *id);

#endif
