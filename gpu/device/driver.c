#include "driver.h"
#include "../../ref/checked.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct driver driver;
static struct error why;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_open;

static bool load(void *library, const char *name, void *into) {
    void *symbol = dlsym(library, name);
    if (!symbol)
        return fail(&why, "libcuda.so.1 has no %s: the driver is too old", name);
    memcpy(into, &symbol, sizeof symbol); /* POSIX makes a pointer to a function of it */
    return true;
}

static void open_driver(void) {
    const struct {
        const char *name;
        void *into;
    } symbols[] = {
        {"cuInit", &driver.init},
        {"cuDriverGetVersion", &driver.driver_version},
        {"cuDeviceGetCount", &driver.device_count},
        {"cuDeviceGet", &driver.device_get},
        {"cuDeviceGetName", &driver.device_name},
        {"cuDeviceGetAttribute", &driver.device_attribute},
        {"cuDevicePrimaryCtxRetain", &driver.primary_retain},
        {"cuDevicePrimaryCtxReset_v2", &driver.primary_reset},
        {"cuCtxSetCurrent", &driver.set_current},
        {"cuModuleLoadDataEx", &driver.module_load},
        {"cuModuleUnload", &driver.module_unload},
        {"cuModuleGetFunction", &driver.module_function},
        {"cuModuleGetGlobal_v2", &driver.module_global},
        {"cuFuncGetAttribute", &driver.function_get},
        {"cuFuncSetAttribute", &driver.function_set},
        {"cuMemAlloc_v2", &driver.mem_alloc},
        {"cuMemFree_v2", &driver.mem_free},
        {"cuMemcpyHtoD_v2", &driver.to_device},
        {"cuMemcpyDtoH_v2", &driver.to_host},
        {"cuMemcpyDtoD_v2", &driver.on_device},
        {"cuMemsetD32_v2", &driver.memset_words},
        {"cuMemGetInfo_v2", &driver.mem_info},
        {"cuLaunchKernel", &driver.launch},
        {"cuStreamQuery", &driver.stream_query},
        {"cuEventCreate", &driver.event_create},
        {"cuEventDestroy_v2", &driver.event_destroy},
        {"cuEventRecord", &driver.event_record},
        {"cuEventElapsedTime", &driver.event_elapsed},
        {"cuGetErrorName", &driver.error_name},
        {"cuGetErrorString", &driver.error_text},
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fail(&why, "no NVIDIA driver here: libcuda.so.1 cannot be opened; the PTX machine needs none");
        return;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; ++i)
        if (!load(library, symbols[i].name, symbols[i].into))
            return;
    is_open = true;
}

const struct driver *driver_open(struct error *e) {
    pthread_once(&once, open_driver);
    if (is_open)
        return &driver;
    *e = why;
    return NULL;
}

char *driver_error(const struct driver *d, cu_result r) {
    const char *name = NULL, *text = NULL;
    if (d->error_name(r, &name) != CU_SUCCESS || !name)
        name = "unknown error";
    if (d->error_text(r, &text) != CU_SUCCESS || !text)
        text = "no text";
    return must_format("%s (%d): %s", name, r, text);
}

bool driver_check(const struct driver *d, cu_result r, struct error *e, const char *what) {
    if (r == CU_SUCCESS)
        return true;
    char *text = driver_error(d, r);
    fail(e, "%s: %s", what, text);
    free(text);
    return false;
}
