/* The pages of explain and gate: every part of them, and what a browser makes of them. */
#include "../ref/checked.h"
#include "command_run.h"
#include "report_read.h"
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

TestSuite(report_pages, .init = make_folder, .fini = remove_folder, .timeout = 300);

static void expect_parts(const char *html, const char *const *parts, size_t count) {
    for (size_t i = 0; i < count; ++i)
        cr_expect(strstr(html, parts[i]), "no %s in\n%s", parts[i], html);
}

#define THREE "--plant three_faults_at_once '*mmq_wide_ldb_kd8/nt70.od70.id256/rand*'"
#define WRONG(stage, wrong, compared)                                                                                  \
    "<th scope=\"row\">" stage "</th><td class=\"word\"><span class=\"bad\">WRONG</span></td><td>" wrong               \
    "</td><td>" compared "</td>"

/* Each stage with its fault, the registers that the fault is of, the banks of the store, and whose evidence there is.
 */
static const char *const three_parts[] = {
    WRONG("staging", "4342", "77824 bytes"),
    WRONG("fragments", "38912", "196608 registers"),
    WRONG("rescale", "2450", "4900 cells"),
    "<th scope=\"row\">sums</th><td class=\"word\"><span class=\"good\">ok</span>",
    "<h4>Fault 3 of 3: rescale</h4>",
    "mma.m16n8k32.s8/A: 64 of 128 registers of a warp were given something wrong, 38912 times in all",
    "banks, worst access of this place: st.shared.v2.u32 at gpu/kernels/stage_pad40.cuh:61 (inlined at "
    "gpu/kernels/mmq_wide_ldb.cu:94), block (0,0,0) warp 0: wavefronts 16, conflicts 14",
    "<th scope=\"row\">gpu/kernels/mmq_wide_ldb.cu:73</th><td class=\"word\"><code>ld.shared.v2.u32</code></td>"
    "<td>512</td><td>512</td><td class=\"dim\">0</td><td>1</td>",
    "<span class=\"bad\">stale: of another program</span>",
};

Test(report_pages, explain_writes_a_page) {
    size_t size;
    expect_result(run_command("explain " THREE " --html %s/r.html", run_folder), 1, "fault 3 of 3");
    char *html = report_read("r.html", &size);
    expect_parts(html, three_parts, sizeof three_parts / sizeof *three_parts);
    cr_expect(report_times(html, "<path class=\"m\"") == 64 && report_times(html, "<h4>Fault") == 3, "%s", html);
    free(html);
    expect_result(run_command("explain tests/foreign/unknown.yaml --html %s/r.html", run_folder), 2,
                  "INPUT run/unknown");
    html = report_read("r.html", &size);
    cr_expect(strstr(html, "unknown instruction") && strstr(html, "<span class=\"bad\">1 failed</span>"), "%s", html);
    free(html);
    if (command_stride() > 1)
        return;
    expect_result(run_command("explain '*mmq_wide_ldb_kd8/nt70.od70.id256/rand*' --html %s/r.html", run_folder), 0,
                  "PASS");
    html = report_read("r.html", &size);
    static const char *const right_parts[] = {"<span class=\"good\">1 passed</span>",
                                              "<span class=\"good\">current</span>", "its bytes are those of this run",
                                              "<code>ldmatrix.sync.aligned"};
    expect_parts(html, right_parts, 4);
    cr_expect(report_times(html, "<h4>Fault") == 0 && report_times(html, "class=\"bad\"") == 0, "%s", html);
    free(html);
}

/* A run of cases explains the first kinds of failure; a right one with the evidence of its kernel. */
Test(report_pages, gate_explains_red_cases) {
    size_t size;
    expect_result(run_command("gate " THREE " --html %s/r.html --junit %s/r.xml", run_folder, run_folder), 1,
                  "0 passed, 1 failed");
    free(report_read("r.xml", &size));
    char *html = report_read("r.html", &size);
    expect_parts(html, three_parts, sizeof three_parts / sizeof *three_parts);
    cr_expect(strstr(html, "evidence</th></tr>") && strstr(html, "<td>0/1</td></tr>"), "%s", html);
    free(html);
}

/* ---- a browser ---- */

/* The bytes of the rows of a PNG, each after the number of its filter; at the first pixel no filter changes anything.
 */
static uint8_t *png_rows(const uint8_t *png, size_t size, size_t *length) {
    uint8_t *packed = must_calloc(size, 1);
    size_t n = 0;
    for (size_t i = 8; i + 12 <= size;) {
        const size_t part = (size_t)png[i] << 24 | (size_t)png[i + 1] << 16 | (size_t)png[i + 2] << 8 | png[i + 3];
        cr_assert(part <= size - i - 12, "no PNG");
        if (!memcmp(png + i + 4, "IDAT", 4)) {
            memcpy(packed + n, png + i + 8, part);
            n += part;
        }
        i += 12 + part;
    }
    uLongf room = 8 << 20;
    uint8_t *rows = must_calloc(room, 1);
    cr_assert_eq(uncompress(rows, &room, packed, n), Z_OK, "no PNG");
    free(packed);
    *length = room;
    return rows;
}

/* Shows a page of the folder as wide as a phone; returns what the browser says. light: 0 or 1. */
static char *show(const char *browser, const char *page, int light) {
    char *command = must_format("HOME=%s timeout 100 %s --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
                                "--user-data-dir=%s/profile --enable-logging=stderr --window-size=500,900 "
                                "--blink-settings=preferredColorScheme=%d --screenshot=%s/r.png file://%s/%s 2>&1",
                                run_folder, browser, run_folder, light, run_folder, run_folder, page);
    struct result shown = run_shell(command);
    cr_assert_eq(shown.code, 0, "exit %d\n%s", shown.code, shown.text);
    free(command);
    return shown.text;
}

/* The page beside a script of ours, once its policy is taken away, which says how wide it is and how many figures have
 * a size. */
static void expect_it_fits(const char *browser, const char *html) {
    static const char policy[] = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                                 "'unsafe-inline'\">";
    static const char script[] =
        "<script>let n=0;for(const s of document.querySelectorAll('svg'))n+=s.getBoundingClientRect().width>100;"
        "console.log('wide '+document.documentElement.scrollWidth+' figures '+n)</script>";
    const char *here = strstr(html, policy);
    cr_assert(here != NULL, "no policy");
    char *bad = must_format("%s%s", html, script); /* which the page's policy keeps from running: an error is seen */
    put_file("s.html", bad, strlen(bad));
    char *kept = show(browser, "s.html", 1);
    cr_expect(strstr(kept, "CONSOLE") && strstr(kept, "Content Security Policy") && !strstr(kept, "\"wide "), "%s",
              kept);
    free(kept);
    free(bad);
    char *page = must_format("%.*s%s%s", (int)(here - html), html, here + strlen(policy), script);
    put_file("s.html", page, strlen(page));
    char *said = show(browser, "s.html", 1);
    const char *wide = strstr(said, "wide ");
    int width = 0, figures = 0;
    cr_assert(wide != NULL && sscanf(wide, "wide %d figures %d", &width, &figures) == 2, "%s", said);
    cr_expect(width > 300 && width <= 500, "the page is %d wide", width);
    cr_expect(figures >= 7, "%d figures", figures);
    free(said);
    free(page);
}

Test(report_pages, a_browser_shows_it) {
    if (command_stride() > 1) /* the page is the same, and nothing of ours runs here */
        return;
    struct result r = run_shell("for b in chromium-headless-shell chromium chromium-browser google-chrome; do "
                                "command -v $b && break; done");
    r.text[strcspn(r.text, "\n")] = 0;
    if (r.text[0] == 0) {
        free(r.text);
        cr_skip_test("no Chromium here: `ci/setup browser` brings it");
    }
    expect_result(run_command("explain " THREE " --html %s/r.html", run_folder), 1, "fault 3 of 3");
    static const uint8_t grounds[2][3] = {{0x0d, 0x11, 0x17}, {0xff, 0xff, 0xff}};
    for (int light = 0; light < 2; ++light) {
        char *said = show(r.text, "r.html", light);
        cr_assert(!strstr(said, "CONSOLE"), "%s", said);
        size_t size, length, drawn = 0;
        uint8_t *png = (uint8_t *)report_bytes("r.png", &size), *rows = png_rows(png, size, &length);
        for (size_t i = 0; i < length; ++i)
            drawn += rows[i] != 0;
        cr_expect(memcmp(rows + 1, grounds[light], 3) == 0, "the ground is #%02x%02x%02x", rows[1], rows[2], rows[3]);
        cr_expect_gt(drawn, 20000, "the page is blank: %zu of %zu bytes", drawn, length);
        free(rows);
        free(png);
        free(said);
    }
    size_t size;
    char *html = report_read("r.html", &size);
    expect_it_fits(r.text, html);
    free(html);
    free(r.text);
}
