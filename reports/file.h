/* Writes the file of a report. */
#ifndef REPORTS_FILE_H
#define REPORTS_FILE_H

#include "../ref/error.h"
#include <stddef.h>
#include <stdio.h>

/* Makes `size` bytes the contents of the file that `path` leads to, also through symbolic links.
 * A regular file, or none yet: whole or not at all, by a temporary beside it and rename; permission bits stay. The
 * temporary has no name until it is whole, where the file system can do that: a run that is killed leaves nothing.
 * Anything else that can be written (a device, a FIFO), and the file that standard output or standard error goes to
 * already: written through, never replaced. A FIFO waits for its reader, as in the shell.
 * A file without a write bit in its mode is kept, whoever asks: "Permission denied".
 * A folder, a file-size limit or a reader that goes away is an error, and no signal: "PATH: cannot write: REASON". */
bool file_put(const char *path, const void *bytes, size_t size, struct error *e);

/* The same with what put(out, of) writes: made in memory first. */
bool file_put_text(const char *path, void (*put)(FILE *out, const void *of), const void *of, struct error *e);

/* Whether file_put could write there as things stand: no folder, nothing that is read-only, a folder that takes files.
 * Writes nothing. The error is that of file_put. */
bool file_can_put(const char *path, struct error *e);

/* Both paths lead to one file that is there. */
bool file_same(const char *a, const char *b);
/* The same, or both would make one new file. */
bool file_same_place(const char *a, const char *b);
/* The path leads to where a stream goes already. */
bool file_is_stream(const char *path, FILE *stream);

#endif
