#include "../ref/checked.h"
#include "../ref/half_functions.h"
#include "../ref/printable.h"
#include "../ref/rcp_approx.h"
#include "command.h"
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int usage_error(const char *command, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text;
    const int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        text = must_strdup("no memory for the message");
    fprintf(stderr, "warpproof %s: ", command);
    const char *line = text;
    for (const char *end = line; *line != 0; line = end) { /* what was typed may hold anything; carets need newlines */
        end = line + strcspn(line, "\n\\"); /* a backslash stands for itself: texts of files come escaped already */
        char shown[4096];
        fputs(printable(shown, sizeof shown, line, (size_t)(end - line)), stderr);
        if (*end != 0)
            fputc(*end++, stderr);
    }
    fputc('\n', stderr);
    free(text);
    return EXIT_INPUT;
}

int option_error(const char *command, int argc, char **argv, int result) {
    const char *typed = optind > 0 && optind <= argc ? argv[optind - 1] : "";
    if (result == ':') {
        return usage_error(command, "option '%s' needs a value (see warpproof %s --help)", typed, command);
    }
    if (optopt > 0 && typed[0] == '-' && typed[1] == '-') { /* 0 where no long option has that name */
        return usage_error(command, "option '%s' takes no value (see warpproof %s --help)", typed, command);
    }
    if (optopt > 0 && optopt < 128) { /* a short one, perhaps inside a cluster */
        return usage_error(command, "unknown option '-%c' (see warpproof %s --help)", optopt, command);
    }
    return usage_error(command, "unknown or ambiguous option '%s' (see warpproof %s --help)", typed, command);
}

static void subcommands_help(const struct subcommand *subjects, size_t count, const char *command, const char *what) {
    printf("usage: warpproof %s %s ...\n\n", command, what);
    for (size_t i = 0; i < count; ++i) {
        printf("  %-10s %s\n", subjects[i].name, subjects[i].about);
    }
    printf("\nwarpproof %s %s --help shows its options.\n", command, what);
}

int subcommands_main(const struct subcommand *subjects, size_t count, const char *what, const char *wanted, int argc,
                     char **argv) {
    const char *command = argv[0];
    if (argc < 2) {
        return usage_error(command, "want %s (see warpproof %s --help)", wanted, command);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        subcommands_help(subjects, count, command, what);
        return EXIT_PASSED;
    }
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(argv[1], subjects[i].name) == 0) {
            return subjects[i].main(argc - 1, argv + 1);
        }
    }
    return usage_error(command, "unknown %s '%s': want %s (see warpproof %s --help)", what, argv[1], wanted, command);
}

char *command_text(const char *start, int argc, char **argv) {
    char *text = must_strdup(start);
    size_t length = strlen(text);
    for (int i = 0; i < argc; ++i) {
        const size_t n = strlen(argv[i]);
        text = must_realloc(text, length + n + 2, 1);
        text[length] = ' ';
        memcpy(text + length + 1, argv[i], n + 1);
        length += n + 1;
    }
    return text;
}

int option_once(const char *command, const struct option *longs, uint64_t *seen, int c) {
    const int bit = c - 256;
    if (bit < 0 || bit >= 32) {
        return -1;
    }
    const bool again = *seen >> bit & 1;
    *seen |= UINT64_C(1) << bit;
    for (; again && longs->val != c;) {
        ++longs;
    }
    return again ? usage_error(command, "--%s is given twice", longs->name) : -1;
}

int take_once(const char *command, const char *option, const char **value) {
    if (*value != NULL) {
        return usage_error(command, "%s is given twice", option);
    }
    *value = optarg;
    return optarg[0] != 0 ? -1 : usage_error(command, "%s: want the name of a file", option);
}

static void on_bus_error(int number) {
    (void)number;
    static volatile sig_atomic_t told; /* another thread may meet it too */
    if (told)
        _exit(EXIT_INPUT);
    told = 1;
    static const char text[] = "warpproof: a file was shortened while it was being read\n";
    const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
    _exit(EXIT_INPUT);
}

void refuse_shortened_files(void) {
    struct sigaction action = {.sa_handler = on_bus_error};
    sigaction(SIGBUS, &action, NULL);
}

static int lost_because; /* errno of the first flush that failed */

void flush_output(void) {
    if (fflush(stdout) != 0 && lost_because == 0) {
        lost_because = errno;
    }
}

int close_output(int code) {
    flush_output();
    const bool lost = ferror(stdout) != 0;
    if (fclose(stdout) != 0 && lost_because == 0) {
        lost_because = errno;
    }
    if (!lost && lost_because == 0) {
        return code;
    }
    fprintf(stderr, "warpproof: cannot write the output: %s\n", strerror(lost_because != 0 ? lost_because : EIO));
    return EXIT_INPUT;
}

static bool is_root(const char *folder) {
    char *probe = must_format("%s/gpu/kernels", folder);
    struct stat s;
    const bool yes = stat(probe, &s) == 0 && S_ISDIR(s.st_mode);
    free(probe);
    return yes;
}

char *project_root(struct error *e) {
    const char *given = getenv("WARPPROOF_ROOT");
    if (given != NULL && given[0] != 0) {
        if (!is_root(given)) {
            fail(e, "WARPPROOF_ROOT=%s: no folder gpu/kernels there", given);
            return NULL;
        }
        return must_strdup(given);
    }
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = 0;
        for (int up = 0; up < 2 && strrchr(self, '/') != NULL; ++up) {
            *strrchr(self, '/') = 0;
        }
        if (self[0] != 0 && is_root(self)) {
            return must_strdup(self);
        }
    }
    if (is_root(".")) {
        return must_strdup(".");
    }
    fail(e, "cannot find the project's folder (gpu/kernels, fixtures): run from it, or set WARPPROOF_ROOT");
    return NULL;
}

bool load_measured_tables(const char *root, struct error *e) {
    static const struct {
        const char *name;
        bool (*load)(const char *path, struct error *e);
    } tables[] = {{"rcp_approx", rcp_approx_load}, {"half_functions", half_functions_load}};
    bool good = true;
    for (size_t i = 0; good && i < sizeof tables / sizeof *tables; ++i) {
        char *path = must_format("%s/fixtures/golden/%s_sm90.bin.zz", root, tables[i].name);
        good = access(path, F_OK) != 0 || tables[i].load(path, e);
        free(path);
    }
    return good;
}

const char *started_as = "build/warpproof";

const char *command_again(const char *root) {
    struct stat here, project;
    const bool at_home = root != NULL && stat(".", &here) == 0 && stat(root, &project) == 0 &&
                         here.st_dev == project.st_dev && here.st_ino == project.st_ino;
    return at_home ? "build/warpproof" : started_as;
}

char *shell_word(const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";
    const size_t length = strlen(text);
    if (length > 0 && strspn(text, plain) == length) {
        return must_strdup(text);
    }
    char *word = must_calloc(5 * length + 3, 1), *to = word;
    *to++ = '\'';
    for (; *text != 0; ++text) {
        if (*text == '\'') {
            to = stpcpy(to, "'\"'\"'"); /* no backslash: a report would spell it out */
        } else {
            *to++ = *text;
        }
    }
    *to = '\'';
    return word;
}

bool parse_threads(const char *text, int *threads) {
    char *end;
    errno = 0;
    const long n = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != 0 || n < 1 || n > 1024) {
        return false;
    }
    *threads = (int)n;
    return true;
}
