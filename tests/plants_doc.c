/* The table of docs/plants.md and `from` of the plants are held to each other: every entry of a plant has a row that
 * names the plant and the oracle that must name it, and every row's plants are of its entry. */
#include "../cli/plant.h"
#include "../ref/checked.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, COLUMNS = 5 };

struct pair { /* an entry, and a plant of it or an oracle that must name one */
    char *entry, *other;
    bool seen;
};

struct pairs {
    struct pair items[MOST];
    size_t count;
};

static struct pairs plants, judges; /* as the plants say */

static void add(struct pairs *p, const char *entry, const char *other) {
    for (size_t i = 0; i < p->count; ++i) {
        if (strcmp(p->items[i].entry, entry) == 0 && strcmp(p->items[i].other, other) == 0) {
            return;
        }
    }
    cr_assert(p->count < MOST, "more than %d", MOST);
    p->items[p->count++] = (struct pair){must_strdup(entry), must_strdup(other), false};
}

/* Marks a pair of the table; the pair must be one of p. */
static void mark(struct pairs *p, const char *entry, const char *other) {
    for (size_t i = 0; i < p->count; ++i) {
        if (strcmp(p->items[i].entry, entry) == 0 && strcmp(p->items[i].other, other) == 0) {
            cr_expect(!p->items[i].seen, "docs/plants.md says %s of %s twice", other, entry);
            p->items[i].seen = true;
            return;
        }
    }
    cr_expect_fail("docs/plants.md says %s of %s, and no plant does", other, entry);
}

static void finish(struct pairs *p, const char *what) {
    for (size_t i = 0; i < p->count; ++i) {
        cr_expect(p->items[i].seen, "docs/plants.md does not say %s %s of %s", what, p->items[i].other,
                  p->items[i].entry);
        free(p->items[i].entry);
        free(p->items[i].other);
    }
}

/* The words of a cell, between commas, without quotes. */
static void mark_all(struct pairs *p, const char *entry, char *cell) {
    for (char *rest = cell, *word; (word = strtok_r(rest, " `,\n", &rest)) != NULL;) {
        mark(p, entry, word);
    }
}

static long order(const char *entry) { /* C before B, then by number */
    return (entry[0] == 'B') * 1000 + strtol(entry + 1, NULL, 10);
}

Test(plants_doc, the_table_is_what_the_plants_say) {
    size_t sown = 0;
    for (int g = 0; g < PLANT_GROUPS; ++g) {
        size_t n;
        char **names = plant_names(".", (enum plant_group)g, &n);
        for (size_t i = 0; i < n; ++i) {
            struct plant p;
            struct error e;
            cr_assert(plant_load(".", names[i], &p, &e), "%s", e.text);
            sown += g != PLANT_CANARY && p.from_count > 0;
            for (size_t k = 0; k < p.from_count && g != PLANT_CANARY; ++k) {
                add(&plants, p.from[k], p.name);
                add(&judges, p.from[k], p.oracle);
            }
            plant_free(&p);
            free(names[i]);
        }
        free(names);
    }
    FILE *in = fopen("docs/plants.md", "r");
    cr_assert(in != NULL, "docs/plants.md cannot be read: tests run in the root of the project");
    char line[8192];
    size_t rows = 0;
    long last = -1;
    while (fgets(line, sizeof line, in) != NULL) {
        if (strncmp(line, "| C", 3) != 0 && strncmp(line, "| B", 3) != 0) {
            continue;
        }
        char *cells[COLUMNS], *rest = line + 1;
        for (size_t i = 0; i < COLUMNS; ++i) {
            cells[i] = strsep(&rest, "|");
            cr_assert(cells[i] != NULL && cells[i][0] == ' ' && strlen(cells[i]) > 2, "row %zu of docs/plants.md",
                      rows);
        }
        char *entry = strtok(cells[0], " ");
        cr_expect(order(entry) > last, "docs/plants.md: %s is out of order", entry);
        last = order(entry);
        ++rows;
        mark_all(&plants, entry, cells[3]);
        mark_all(&judges, entry, cells[4]);
    }
    fclose(in);
    cr_expect(rows >= 60 && sown >= 60, "%zu entries in %zu plants", rows, sown);
    finish(&plants, "plant");
    finish(&judges, "oracle");
}
