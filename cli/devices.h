/* --device N|all: which GPUs of this machine take the launches of --runner device. */
#ifndef CLI_DEVICES_H
#define CLI_DEVICES_H

#include "../gpu/arch.h"
#include "../ref/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct devices { /* all zeros: the first GPU */
    bool given;  /* the option was */
    bool all;
    int first; /* N; of all 0 */
    int count; /* how many take turns, 1 without all; 0 until devices_open */
};

#define DEVICES_USAGE                                                                                                  \
    "  --device N|all     which GPU, counted from 0 (default 0); all: cases take turns on all that are here\n"

/* Takes the option's value. -1, or the exit code after a message. */
int devices_option(const char *command, const char *text, struct devices *d);

/* Before anything is launched: finds the GPUs, says on stderr what each is, and gives *arch, the row of their compute
 * capability or the last one before it. -1, or the exit code after a message: there is no driver, no GPU, not that
 * many, or those of `all` are of several architectures, whose limits and tensor cores a run could not judge by. */
int devices_open(const char *command, struct devices *d, const struct arch **arch);

/* The GPU whose turn it is (launch_options.gpu): the same whatever the threads, so that a run can be repeated; but
 * where that one is lost, one that is not. */
int devices_turn(const struct devices *d, size_t turn);

/* One line a GPU: "0  NVIDIA H200 (sm_90), driver 580.159.04, CUDA 13.0". Fails where there is none. */
bool devices_list(FILE *out, struct error *e);

/* " --device 2" for the command that runs a case again; "" for the first, and for all. */
#define DEVICES_AGAIN 32
void devices_again(const struct devices *d, char text[DEVICES_AGAIN]);

#endif
