/* The part of the CUDA driver API that a launch and its timing need, opened at run time: the binary never links
 * libcuda. Source: CUDA Driver API reference manual 13.0 (names, numbers and signatures of its ABI). */
#ifndef GPU_DEVICE_DRIVER_H
#define GPU_DEVICE_DRIVER_H

#include "../../ref/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int cu_result; /* CUresult */
typedef struct cu_context_object *cu_context;
typedef struct cu_module_object *cu_module;
typedef struct cu_function_object *cu_function;
typedef struct cu_stream_object *cu_stream;
typedef struct cu_event_object *cu_event;
typedef uint64_t cu_pointer; /* CUdeviceptr */

enum { /* CUresult */
       CU_SUCCESS = 0,
       CU_INVALID_VALUE = 1,
       CU_OUT_OF_MEMORY = 2,
       CU_LAUNCH_OUT_OF_RESOURCES = 701,
       CU_NOT_READY = 600,
};
enum { /* CUdevice_attribute */
       CU_CLOCK_KHZ = 13,
       CU_MULTIPROCESSORS = 16,
       CU_MEMORY_CLOCK_KHZ = 36,
       CU_L2_CACHE_BYTES = 38,
       CU_COMPUTE_CAPABILITY_MAJOR = 75,
       CU_COMPUTE_CAPABILITY_MINOR = 76,
       CU_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};
enum { CU_FUNCTION_SHARED_STATIC = 1, CU_FUNCTION_DYNAMIC_SHARED_MOST = 8 }; /* CUfunction_attribute */
enum { CU_JIT_ERROR_LOG = 5, CU_JIT_ERROR_LOG_BYTES = 6 };                   /* CUjit_option */

struct driver {
    cu_result (*init)(unsigned flags);
    cu_result (*driver_version)(int *version);
    cu_result (*device_count)(int *count);
    cu_result (*device_get)(int *device, int ordinal);
    cu_result (*device_name)(char *name, int size, int device);
    cu_result (*device_attribute)(int *value, int attribute, int device);
    cu_result (*primary_retain)(cu_context *context, int device);
    cu_result (*primary_reset)(int device);
    cu_result (*set_current)(cu_context context);
    cu_result (*module_load)(cu_module *module, const void *image, unsigned options, int *option, void **value);
    cu_result (*module_unload)(cu_module module);
    cu_result (*module_function)(cu_function *function, cu_module module, const char *name);
    cu_result (*module_global)(cu_pointer *pointer, size_t *bytes, cu_module module, const char *name);
    cu_result (*function_get)(int *value, int attribute, cu_function function);
    cu_result (*function_set)(cu_function function, int attribute, int value);
    cu_result (*mem_alloc)(cu_pointer *pointer, size_t bytes);
    cu_result (*mem_free)(cu_pointer pointer);
    cu_result (*to_device)(cu_pointer to, const void *from, size_t bytes);
    cu_result (*to_host)(void *to, cu_pointer from, size_t bytes);
    cu_result (*on_device)(cu_pointer to, cu_pointer from, size_t bytes);
    cu_result (*memset_words)(cu_pointer to, unsigned word, size_t count);
    cu_result (*mem_info)(size_t *free, size_t *total);
    cu_result (*launch)(cu_function f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, cu_stream stream, void **params,
                        void **extra);
    cu_result (*stream_query)(cu_stream stream);
    cu_result (*event_create)(cu_event *event, unsigned flags);
    cu_result (*event_destroy)(cu_event event);
    cu_result (*event_record)(cu_event event, cu_stream stream);
    cu_result (*event_elapsed)(float *milliseconds, cu_event begin, cu_event end);
    cu_result (*error_name)(cu_result r, const char **name);
    cu_result (*error_text)(cu_result r, const char **text);
};

/* libcuda.so.1, opened once; NULL with one line in e where there is none, or an entry point is missing. */
const struct driver *driver_open(struct error *e);

/* False, with "WHAT: CUDA_ERROR_NAME (number): text" in e, unless r is CU_SUCCESS. */
bool driver_check(const struct driver *d, cu_result r, struct error *e, const char *what);
/* "CUDA_ERROR_NAME (number): text", owned by the caller. */
char *driver_error(const struct driver *d, cu_result r);

#endif
