/* JSON lines, one record a case: {"case", "kernel", "verdict", "oracles": {name: "clean" | "found" | "not judged"},
 * "schedules": [those that were run; digest and counts are the first one's], "digest", "warp_instructions", "macs",
 * "audit", "findings": [...]}; from a real GPU without "schedules" and counts, which it does not tell. Then one last
 * record {"summary": ...} with the counts and all that depends on the clock or the machine. Two runs of the same cases
 * differ in that last line alone, which also names the GPUs ("devices"). */
#ifndef REPORTS_JSON_H
#define REPORTS_JSON_H

#include "../oracles/outcome.h"
#include "../ref/error.h"
#include <libfyaml.h>

struct totals {
    size_t passed, failed, skipped, launches;
    bool on_gpu;         /* by the runner on a real GPU: nothing was counted */
    int gpu_first, gpus; /* which ones, counted from 0 */
    uint64_t warp_instructions, macs;
    double seconds;      /* execution alone, summed over cases */
    double wall_seconds; /* of the whole run */
    int threads;
};

/* A finding as an object of a record. */
struct fy_node *json_finding(struct fy_document *d, const struct finding *f);
/* The GPUs from `first` on: [{"device": 0, "name": "NVIDIA H200", "sm": 90, "driver": "580.159.04"}]. */
struct fy_node *json_devices(struct fy_document *d, int first, int count);
const char *ruling_name(enum ruling r); /* "clean", "found", "not judged" */

/* Makes the whole text, then writes it as file_put does (file.h): a regular file whole or not at all. */
bool json_write(const char *path, const struct outcome *outcomes, size_t count, const struct totals *totals,
                struct error *e);

#endif
