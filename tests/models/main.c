/* make tiny-models: a tiny random model of each architecture in each weight format, into a folder. */
#include "../../ref/checked.h"
#include "../tiny_model.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: make-models FOLDER\n");
        return 2;
    }
    if (mkdir(argv[1], 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "make-models: %s: %s\n", argv[1], strerror(errno));
        return 2;
    }
    size_t made = 0;
    for (size_t a = 0; tiny_architectures[a]; a++)
        for (size_t f = 0; block_formats[f]; f++) {
            struct bytes b = tiny_model(tiny_architectures[a], block_formats[f], NULL);
            char *path = must_format("%s/%s-%s.gguf", argv[1], tiny_architectures[a], block_formats[f]->name);
            FILE *out = fopen(path, "wb");
            const bool good = out && fwrite(b.p, 1, b.n, out) == b.n;
            if (!out || fclose(out) != 0 || !good) {
                fprintf(stderr, "make-models: %s: %s\n", path, strerror(errno));
                return 2;
            }
            free(path);
            free(b.p);
            made++;
        }
    printf("%zu models in %s\n", made, argv[1]);
    return 0;
}
