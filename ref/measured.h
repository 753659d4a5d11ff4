/* Tables that were measured on hardware, as files: zlib streams of bytes that are known by their SHA-256. */
#ifndef REF_MEASURED_H
#define REF_MEASURED_H

#include "error.h"
#include <stddef.h>
#include <stdint.h>

/* The bytes of the table in the file, to be freed; NULL, with one line in e, when it is any other file. */
uint8_t *measured_table_read(const char *path, size_t bytes, const uint8_t sha256[32], struct error *e);

#endif
