/* Writes the seeds of the fuzzer into a folder: the sample file of both versions, cut at places, the hostile files of
 * the field, and a vocabulary of each kind.  Usage: gguf_corpus FOLDER */
#include "../../ref/checked.h"
#include "../gguf_sample.h"
#include "../vocabulary_sample.h"
#include <stdio.h>
#include <stdlib.h>

static bool write_seed(const char *folder, const char *name, size_t number, const struct bytes *b, size_t n) {
    char *path = must_format("%s/%s-%zu.gguf", folder, name, number);
    FILE *out = fopen(path, "wb");
    bool good = out && fwrite(b->p, 1, n, out) == n;
    good = (!out || fclose(out) == 0) && good;
    if (!good)
        fprintf(stderr, "gguf_corpus: cannot write %s\n", path);
    free(path);
    return good;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: gguf_corpus FOLDER\n");
        return 2;
    }
    bool good = true;
    for (uint32_t version = 2; version <= 3; version++) {
        struct sample s = sample_file(version);
        good &= write_seed(argv[1], "sample", version, &s.file, s.file.n);
        for (size_t n = 32; n < s.file.n; n += 97)
            good &= write_seed(argv[1], version == 2 ? "cut2" : "cut3", n, &s.file, n);
        free(s.file.p);
    }
    for (size_t i = 0; hostile_gguf[i].id; i++) {
        struct bytes b = {0};
        hostile_gguf[i].make(&b);
        good &= write_seed(argv[1], hostile_gguf[i].id, i, &b, b.n);
        free(b.p);
    }
    for (unsigned byte_level = 0; byte_level < 2; byte_level++) {
        struct vocabulary *v = small_vocabulary(byte_level);
        struct bytes b = vocabulary_file(v);
        good &= write_seed(argv[1], "vocabulary", byte_level, &b, b.n);
        free(b.p);
        vocabulary_free(v);
    }
    return good ? 0 : 2;
}
