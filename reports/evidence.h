/* Recorded runs on real GPUs: a file of JSON lines, one a case, plain or gzip'ed (NAME.gz).
 *
 *   {"case": ID, "kernel": NAME, "ptx": SHA-256 of the program, "inputs": of the launch and all that it reads
 *    (gpu/digest.h), "output": of the bytes that the GPU gave ("" when it did not run to its end), "verdict": PASS ...,
 *    "device": "NVIDIA H200", "driver": "580.159.04", "cuda": "13.0", "toolkit": "V13.0.88" of the program,
 *    "date": "2026-11-30", "command": "warpproof evidence record ..."}
 *
 * All keys, all strings, nothing else. */
#ifndef REPORTS_EVIDENCE_H
#define REPORTS_EVIDENCE_H

#include "../gpu/digest.h"
#include "../oracles/finding.h"

enum { EVIDENCE_COMMAND = 4096 }; /* bytes of the longest command that a line takes */

struct evidence_line {
    char *id, *kernel; /* of the case */
    char ptx[DIGEST_HEX], inputs[DIGEST_HEX], output[DIGEST_HEX];
    enum verdict verdict;
    char *device, *driver, *cuda, *toolkit, *date, *command;
    const char *path; /* the file it was read from, owned by the evidence; NULL: none */
    size_t number;    /* its line there, from 1 */
};

struct recorded {
    struct evidence_line *lines; /* (count) after recorded_sort by case, newest first */
    size_t count;
    char **paths; /* (path_count) */
    size_t path_count;
};

/* Adds the lines of a regular file. Errors are "FILE:LINE: message". The caller frees *r, also after a failure. */
bool recorded_read(const char *path, struct recorded *r, struct error *e);
void recorded_sort(struct recorded *r);
/* The lines of a case, of a sorted *r: the first of *count, or NULL. */
const struct evidence_line *recorded_of(const struct recorded *r, const char *id, size_t *count);
void recorded_free(struct recorded *r);

/* Writes the file whole or not at all; gzip'ed where the name ends in .gz. Fails on what could not be read again. */
bool evidence_write(const char *path, const struct evidence_line *lines, size_t count, struct error *e);

#endif
