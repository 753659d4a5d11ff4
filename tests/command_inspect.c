/* warpproof inspect: whole files, files cut short, suspicious scales, JSON. */
#include "../cli/command.h"
#include "../ref/checked.h"
#include "../ref/gguf_scan.h"
#include "command_run.h"
#include "gguf_sample.h"
#include <criterion/criterion.h>
#include <libfyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/warpproof-inspect-XXXXXX";

static char *in_folder(const char *name, const void *bytes, size_t n) {
    char *path = must_format("%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    cr_assert(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0, "cannot write %s", path);
    return path;
}

Test(command_inspect, a_file_and_its_cuts) {
    cr_assert(mkdtemp(folder), "no temporary folder");
    struct sample s = sample_file(3);
    char *whole = in_folder("whole.gguf", s.file.p, s.file.n);
    struct result r = run_command("inspect %s", whole);
    cr_expect(strstr(r.text, "4 tensors, 998 bytes: 1 f32, 1 q4_K, 1 i8, 1 tq1_0") && !strstr(r.text, "CUT"), "%s",
              r.text);
    expect_result(r, 0, "blk.0.weight");
    r = run_command("inspect %s --json", whole);
    size_t records = 0;
    for (char *line = strtok(r.text, "\n"); line; line = strtok(NULL, "\n"), records++) {
        struct fy_document *d = fy_document_build_from_string(NULL, line, FY_NT);
        cr_assert(d, "no JSON: %s", line);
        unsigned bytes = 0;
        cr_expect(fy_document_scanf(d, "/bytes %u", &bytes) == 1 && bytes > 0, "no bytes in %s", line);
        cr_expect(strstr(line, "\"whole\": true") != NULL, "not whole: %s", line);
        fy_document_destroy(d);
    }
    cr_expect(records == 5 && r.code == 0, "%zu records, exit %d", records, r.code);
    free(r.text);

    r = run_command("inspect %s --json --keys", whole);
    cr_expect(strstr(r.text, "{\"key\": \"sample.i\", \"type\": \"string\", \"value\": \"text\"}\n") &&
                  strstr(r.text, "{\"key\": \"sample.h\", \"type\": \"bool\", \"value\": true}\n") &&
                  strstr(r.text, "{\"key\": \"sample.l\", \"type\": \"int64\", \"value\": 76}\n"),
              "%s", r.text);
    expect_result(r, 0, "{\"key\": \"strings\", \"type\": \"array\", \"item\": \"string\", \"count\": 2}\n");

    char *cut = in_folder("cut.gguf", s.file.p, s.t[2].at_data + 3);
    r = run_command("inspect %s", cut);
    cr_expect(strstr(r.text, "CUT SHORT") && strstr(r.text, "tensor 2 \"rare\": its 54 bytes of data end at byte"),
              "%s", r.text);
    expect_result(r, 2, "cut short: the data of 2 of the 4 tensors listed are not there whole");
    r = run_command("inspect %s --json", cut);
    cr_expect(strstr(r.text, "\"tensor\": \"rare\"") && strstr(r.text, "\"whole\": false"), "%s", r.text);
    expect_result(r, 2, "\"missing\": ");
    free(cut);

    cut = in_folder("cut.gguf", s.file.p, s.t[2].at_type);
    r = run_command("inspect %s", cut);
    cr_expect(strstr(r.text, "blk.0.weight") && strstr(r.text, "norm"), "what is whole is not listed:\n%s", r.text);
    expect_result(r, 2, "cut short: 15 of 15 keys and 2 of 4 tensor descriptions are whole, no data");
    free(cut);

    patch(&s.file, 4, 0x03000000, 4);
    char *big = in_folder("big.gguf", s.file.p, s.file.n);
    expect_result(run_command("inspect %s --json", big), 2, "a big-endian file of version 3");
    free(big);
    free(whole);
    free(s.file.p);
    char *clean = must_format("rm -r %s", folder);
    cr_assert(system(clean) == 0, "cannot remove %s", folder);
    free(clean);
}

Test(command_inspect, suspicious_scales_are_named) {
    cr_assert(mkdtemp(folder), "no temporary folder");
    struct sample s = sample_file(3);
    for (size_t block = 0; block < 6; block++)
        patch(&s.file, s.t[0].at_data + 144 * block, block == 1 ? 0x7c00 : block == 4 ? 0x7e01 : 0x1419, 2);
    char *path = in_folder("odd.gguf", s.file.p, s.file.n);
    struct result r = run_command("inspect %s", path);
    cr_expect(strstr(r.text, "suspicious values or scales in 1 of them"), "%s", r.text);
    expect_result(r, 0, "; scales: 1 NaN, 1 infinite\n");
    unlink(path);
    rmdir(folder);
    free(path);
    free(s.file.p);
}

/* A file that another program shortens after it was mapped: one line and exit 2, not a signal. */
Test(command_inspect, a_file_shortened_under_the_reader) {
    char path[] = "/tmp/warpproof-shortened-XXXXXX";
    const int fd = mkstemp(path);
    cr_assert(fd >= 0, "no temporary file");
    struct sample s = sample_file(3);
    const size_t room = 1 << 20; /* the data are pages away from the header */
    cr_assert(write(fd, s.file.p, s.file.n) == (ssize_t)s.file.n && ftruncate(fd, (off_t)room) == 0, "cannot write");
    const pid_t pid = fork();
    cr_assert(pid >= 0, "no process");
    if (pid == 0) {
        struct gguf_scan scan;
        struct gguf_file *f = gguf_open(path, NULL);
        refuse_shortened_files();
        if (!f || ftruncate(fd, 0) != 0)
            _exit(98);
        for (size_t i = 0; i < f->tensor_count; i++)
            if (f->tensors[i].format)
                gguf_scan(&f->tensors[i], &scan, NULL);
        _exit(99);
    }
    int status;
    cr_assert(waitpid(pid, &status, 0) == pid, "the process is lost");
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 2, "status %x", (unsigned)status);
    close(fd);
    unlink(path);
    free(s.file.p);
}
