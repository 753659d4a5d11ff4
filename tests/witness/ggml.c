#include "witness.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *base, *cpu;

static void *open_library(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        fprintf(stderr, "witness: %s\n", dlerror());
    return library;
}

/* A function of the library; POSIX lets its address pass through a pointer to void. */
typedef void function(void);
static function *find(void *library, const char *name) {
    void *address = dlsym(library, name);
    function *f;
    memcpy(&f, &address, sizeof f);
    return f;
}

/* What the wheel's libggml-cpu.so is compiled for. */
static bool runs_avx2(void) {
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

bool ggml_open(const char *folder) {
    base = open_library(folder, "libggml-base.so.0");
    if (!base)
        return false;
    if (runs_avx2()) {
        cpu = open_library(folder, "libggml-cpu.so.0");
        if (!cpu)
            return false;
        function *init = find(cpu, "ggml_cpu_init"); /* fills the tables that its conversions read */
        if (init)
            init();
    }
    function *version = find(base, "ggml_version");
    if (version)
        printf("ggml %s\n", ((const char *(*)(void))version)());
    return true;
}

ggml_decoder *ggml_decoder_of(const char *format) {
    char name[64];
    if (!strcmp(format, "f16") || !strcmp(format, "bf16"))
        snprintf(name, sizeof name, "ggml_%s_to_fp32_row", strcmp(format, "f16") ? "bf16" : "fp16");
    else
        snprintf(name, sizeof name, "dequantize_row_%s", format);
    return (ggml_decoder *)find(base, name);
}

ggml_quantiser *ggml_quantiser_of(const char *format) {
    char name[64];
    if (!strcmp(format, "f16"))
        snprintf(name, sizeof name, "ggml_fp32_to_fp16_row");
    else if (!strcmp(format, "bf16"))
        snprintf(name, sizeof name, "ggml_fp32_to_bf16_row_ref");
    else
        snprintf(name, sizeof name, "quantize_row_%s_ref", format);
    return (ggml_quantiser *)find(base, name);
}

ggml_dot *ggml_dot_of(const char *format, const char **activation) {
    static const char *const partners[] = {"q8_0", "q8_1", "q8_K"};
    for (size_t i = 0; i < sizeof partners / sizeof *partners; i++) {
        char name[64];
        snprintf(name, sizeof name, "ggml_vec_dot_%s_%s_generic", format, partners[i]);
        function *dot = cpu ? find(cpu, name) : NULL;
        if (dot) {
            *activation = partners[i];
            return (ggml_dot *)dot;
        }
    }
    return NULL;
}

struct ggml_side {
    ggml_decoder *decode;
    const struct block_format *format;
};

static void decode_ggml(const void *context, const uint8_t *blocks, float *out, size_t count) {
    const struct ggml_side *side = context;
    side->decode(blocks, out, (int64_t)(count * side->format->block_values));
}

void compare_ggml_decoder(const struct block_format *f, size_t blocks) {
    struct ggml_side side = {ggml_decoder_of(f->name), f};
    if (!side.decode)
        report(SKIPPED, "ggml", f->name, "dequantize", "ggml has no decoder of it");
    else
        compare_decoder(f, "ggml", decode_ggml, &side, blocks, false);
}
