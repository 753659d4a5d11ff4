/* Which lanes and registers of one operand of an mma held wrong elements. */
#ifndef ORACLES_LANE_MAP_H
#define ORACLES_LANE_MAP_H

#include <stdint.h>

enum { LANE_MAP_REGISTERS = 4 };

struct lane_map {
    char fragment[48];                      /* of gpu/fragment.h: "mma.m16n8k32.s8/A" */
    uint64_t wrong[LANE_MAP_REGISTERS][32]; /* (register, lane) how often, over all mma that were compared */
    uint64_t all;                           /* their sum */
};

#endif
