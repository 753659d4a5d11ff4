/* warpproof greedy: tiny models of every architecture and format on the PTX machine, planted faults by name, the case
 * of a difference alone, teacher forcing, JSON, bad input. */
#include "../cli/command.h"
#include "../ref/checked.h"
#include "../ref/format.h"
#include "command_run.h"
#include "tiny_model.h"
#include <criterion/criterion.h>
#include <libfyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char prompt[] =
    "1 17 42 255 3 3 99 200 128 64 31 7"; /* more than the 8 tokens of a matrix-vector product */

static void put_model(const char *name, const char *architecture, const char *format) {
    struct bytes b = tiny_model(architecture, format_named(format), NULL);
    put_file(name, b.p, b.n);
    free(b.p);
}

static struct fy_document *read_json(const char *name) {
    char *path = must_format("%s/%s", run_folder, name);
    struct fy_document *d = fy_document_build_from_file(NULL, path);
    cr_assert(d, "%s is no JSON", path);
    free(path);
    return d;
}

/* "12 34 56", of a list of the JSON; the caller frees it. */
static char *list_of(const char *file, const char *key) {
    struct fy_document *d = read_json(file);
    struct fy_node *list = fy_node_by_path(fy_document_root(d), key, FY_NT, FYNWF_DONT_FOLLOW);
    cr_assert(list && fy_node_is_sequence(list), "%s has no list %s", file, key);
    char *text = must_strdup("");
    void *next = NULL;
    for (struct fy_node *n; (n = fy_node_sequence_iterate(list, &next));) {
        char *more = must_format("%s%s%s", text, *text ? " " : "", fy_node_get_scalar0(n));
        free(text);
        text = more;
    }
    fy_document_destroy(d);
    return text;
}

/* The machine has the reference's bits, and so its ids. */
static void machine_and_reference(const char *architecture) {
    static const char *const formats[] = {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_K", "q5_K", "q6_K", NULL};
    for (size_t f = 0; formats[f]; f++) {
        put_model("m.gguf", architecture, formats[f]);
        struct result r = run_command("greedy %s/m.gguf --arm machine --prompt-ids '%s' --n 3 -j 1 --json %s/m.json",
                                      run_folder, prompt, run_folder);
        cr_expect(strstr(r.text, "matvec_") && strstr(r.text, "mmq_") && strstr(r.text, "1 passed, 0 failed"),
                  "%s %s: %s", architecture, formats[f], r.text);
        expect_result(r, 0, "3 ids, 45 products, all 1913344 bits of their results are the reference's");
        r = run_command("greedy %s/m.gguf --prompt-ids '%s' --n 3 -j 1 --json %s/r.json", run_folder, prompt,
                        run_folder);
        expect_result(r, 0, "arm     reference, plan default");
        char *machine = list_of("m.json", "/tokens"), *reference = list_of("r.json", "/tokens");
        cr_expect(!strcmp(machine, reference), "%s %s: %s, not %s", architecture, formats[f], machine, reference);
        free(machine);
        free(reference);
    }
}

Test(greedy, llama_in_every_format_of_a_kernel, .init = make_folder, .fini = remove_folder) {
    machine_and_reference("llama");
}

Test(greedy, qwen2_in_every_format_of_a_kernel, .init = make_folder, .fini = remove_folder) {
    machine_and_reference("qwen2");
}

Test(greedy, gemma3_in_every_format_of_a_kernel, .init = make_folder, .fini = remove_folder) {
    machine_and_reference("gemma3");
}

/* What no kernel multiplies the reference serves alone; a kernel arm says so and does not go around it. */
Test(greedy, formats_without_a_kernel_are_no_silent_fallback, .init = make_folder, .fini = remove_folder) {
    static const char *const formats[] = {"f32", "f16", "bf16", "iq1_s", "iq2_xxs", "iq3_s", "iq4_nl", "mxfp4", NULL};
    for (size_t f = 0; formats[f]; f++) {
        put_model("m.gguf", "llama", formats[f]);
        struct result r = run_command("greedy %s/m.gguf --prompt-ids '%s' --n 2 -j 1", run_folder, prompt);
        expect_result(r, 0, "reference                plain");
        r = run_command("greedy %s/m.gguf --arm machine --prompt-ids '%s' --n 2 -j 1", run_folder, prompt);
        char *words = must_format("tensor 'blk.0.attn_q.weight' (%s, nt = 12, od = 256, id = 256): ", formats[f]);
        cr_expect(strstr(r.text, words), "%s", r.text);
        expect_result(r, 2, "has no kernel for it, only the reference");
        free(words);
    }
}

Test(greedy, watches_find_nothing, .init = make_folder, .fini = remove_folder) {
    put_model("m.gguf", "gemma3", "q5_0");
    struct result r =
        run_command("greedy %s/m.gguf --arm machine --watches all --prompt-ids '%s' --n 2 -j 1", run_folder, prompt);
    cr_expect(!strstr(r.text, "note "), "%s", r.text);
    expect_result(r, 0, "PASS");
}

/* Another plan: block_q8_1_mmq activations, tiles by the number of tokens, and launches that follow each other. */
Test(greedy, the_plan_of_llama_cpp, .init = make_folder, .fini = remove_folder) {
    static const struct {
        const char *format, *kernel;
        int tokens;
    } cases[] = {
        {"q4_K", "mmq_llama_q4_k_j16", 12}, {"q6_K", "mmq_llama_q6_k_j32", 20}, {"q8_0", "mmq_llama_q8_0_j64", 50}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_model("m.gguf", "qwen2", cases[i].format);
        struct result r = run_command("greedy %s/m.gguf --plan fixtures/plans/llama.yaml --arm machine --prompt-ids "
                                      "\"$(seq -s ' ' %d)\" --n 2 -j 1",
                                      run_folder, cases[i].tokens);
        cr_expect(strstr(r.text, cases[i].kernel) && strstr(r.text, "PASS"), "%s", r.text);
        expect_result(r, 0, "arm     machine, plan llama");
    }
    static const char plan[] = "plan: stream-k\nquantisers:\n"
                               "  - {format: q8_1_mmq_ds4, kernel: quantize_q8_1_mmq_ds4}\nproducts:\n"
                               "  - {format: q4_K, kernel: mmq_llama_q4_k_j8_streamk}\n";
    put_model("m.gguf", "llama", "q4_K");
    put_file("plan.yaml", plan, strlen(plan));
    struct result r = run_command("greedy %s/m.gguf --plan %s/plan.yaml --arm machine --prompt-ids '1 2 3' --n 2 -j 1",
                                  run_folder, run_folder);
    expect_result(r, 0, "2 ids, 30 products, all ");
}

Test(greedy, without_a_gpu_the_device_arm_is_exit_2, .init = make_folder, .fini = remove_folder) {
    put_model("m.gguf", "llama", "q4_0");
    char *before = must_format("LD_LIBRARY_PATH='%s' FAKE_CUDA=none", "build/fake_cuda");
    run_before = before;
    struct result r = run_command("greedy %s/m.gguf --arm device --prompt-ids 1", run_folder);
    run_before = "";
    expect_result(r, 2, "no GPU here: the driver counts none");
    free(before);
}

/* ---- planted faults ---- */

Test(greedy, plants_are_named_by_step_layer_and_tensor, .init = make_folder, .fini = remove_folder) {
    static const struct {
        const char *plant, *where, *operand;
    } plants[] = {
        {"weight-nibble", "DIFFERS step 0, layer 1, tensor blk.1.ffn_down.weight, kernel mmq_word_q5_0_kd8, nt = 12",
         "operand the weight that the kernel got differs in 1 byte, first in byte 12 of row 128"},
        {"weight-scale", "DIFFERS step 0, layer 1, tensor blk.1.ffn_down.weight, kernel mmq_word_q5_0_kd8, nt = 12",
         "operand the weight that the kernel got differs in 1 byte, first in byte 0 of row 128"},
        {"stale-activation", "DIFFERS step 1, layer 0, tensor blk.0.ffn_down.weight, kernel matvec_q5_0, nt = 1",
         "operand the activation that the kernel got differs in "},
    };
    put_model("m.gguf", "llama", "q5_0");
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        struct result r =
            run_command("greedy %s/m.gguf --arm machine --prompt-ids '%s' --n 3 -j 1 --plant %s --case-dir "
                        "%s/a/case --json %s/m.json",
                        run_folder, prompt, plants[i].plant, run_folder, run_folder);
        cr_expect(strstr(r.text, plants[i].operand) && strstr(r.text, "want 0x") && strstr(r.text, "got 0x") &&
                      strstr(r.text, "the fault is in what it was given"),
                  "%s", r.text);
        expect_result(r, 1, plants[i].where);
        char *rerun = must_format("gate --cases %s/a/case", run_folder);
        r = run_command("%s", rerun); /* the kernel is right on what it was given */
        expect_result(r, 0, "1 passed, 0 failed, 0 skipped");
        free(rerun);
        struct fy_document *d = read_json("m.json");
        char kernel[64] = "";
        cr_expect(fy_document_scanf(d, "/difference/kernel %63s", kernel) == 1 && *kernel, "no difference in the JSON");
        fy_document_destroy(d);
    }
}

Test(greedy, a_planted_kernel_is_named_and_its_case_is_red_alone, .init = make_folder, .fini = remove_folder) {
    put_model("m.gguf", "qwen2", "q5_0");
    struct result r = run_command("greedy %s/m.gguf --arm machine --prompt-ids '%s' --n 3 -j 1 --plant "
                                  "matvec_q5_0_high_word --case-dir %s/case",
                                  run_folder, prompt, run_folder);
    cr_expect(strstr(r.text, "these operands once more, all watched") &&
                  strstr(r.text, "--plant matvec_q5_0_high_word"),
              "%s", r.text);
    expect_result(r, 1, "GUARD step 0, the head, tensor output.weight, kernel matvec_q5_0, nt = 1");
    r = run_command("gate --cases %s/case --plant matvec_q5_0_high_word", run_folder);
    expect_result(r, 1, "named by oracle guard (GUARD) in 1");
    r = run_command("gate --cases %s/case", run_folder);
    expect_result(r, 0, "1 passed");
    /* a fault that a watch finds has no cell, and says which verdict it is */
    r = run_command("greedy %s/m.gguf --arm machine --prompt-ids '%s' --n 1 -j 1 --plant matvec_q5_0_high_word "
                    "--case-dir %s/case --json %s/m.json --watches none",
                    run_folder, prompt, run_folder, run_folder);
    expect_result(r, 1, "DIFFERS step 0, the head, ");
    r = run_command("greedy %s/m.gguf --arm machine --prompt-ids '%s' --n 1 -j 1 --plant matvec_q5_0_high_word "
                    "--case-dir %s/case --json /dev/stdout",
                    run_folder, prompt, run_folder);
    expect_result(r, 1, "\"verdict\": \"GUARD\"");
    /* a plant of a kernel that the plan does not use is refused at once, one that nothing shows proves nothing */
    r = run_command("greedy %s/m.gguf --arm machine --prompt-ids '%s' --n 1 -j 1 --plant matvec_row_16_bits",
                    run_folder, prompt);
    expect_result(r, 2,
                  "plant matvec_row_16_bits stands in for kernel matvec_q8_0, which plan default uses for no product");
    put_model("m.gguf", "qwen2", "q8_0");
    r = run_command("greedy %s/m.gguf --arm machine --prompt-ids '%s' --n 1 -j 1 --plant matvec_row_16_bits",
                    run_folder, prompt);
    expect_result(r, 2, "plant matvec_row_16_bits: nothing differs, so the plant proves nothing");
}

/* ---- forcing, and the real model ---- */

Test(greedy, forced_ids_are_fed_and_agreement_counted, .init = make_folder, .fini = remove_folder) {
    put_model("m.gguf", "llama", "q8_0");
    struct result r = run_command("greedy %s/m.gguf --prompt-ids '%s' --n 6 -j 1 --json %s/free.json", run_folder,
                                  prompt, run_folder);
    expect_result(r, 0, "");
    char *free_ids = list_of("free.json", "/tokens");
    put_file("ids", free_ids, strlen(free_ids));
    r = run_command("greedy %s/m.gguf --prompt-ids '%s' --ids %s/ids -j 1", run_folder, prompt, run_folder);
    expect_result(r, 0, "agreement  6 of 6 positions chose the id that was fed");
    put_file("ids", "5 5 5 5\n", 8);
    r = run_command("greedy %s/m.gguf --prompt-ids '%s' --ids %s/ids -j 1 --json %s/f.json", run_folder, prompt,
                    run_folder, run_folder);
    expect_result(r, 0, " of 4 positions");
    char *fed = list_of("f.json", "/fed"), *tokens = list_of("f.json", "/tokens");
    const size_t first = strcspn(free_ids, " ");
    cr_expect(!strcmp(fed, "5 5 5 5") && !strncmp(tokens, free_ids, first + 1), "fed %s, chose %s", fed, tokens);
    r = run_command("greedy %s/m.gguf --prompt-ids '%s' --ids %s/ids --n 5", run_folder, prompt, run_folder);
    expect_result(r, 2, "has 4 ids");
    free(fed);
    free(tokens);
    free(free_ids);
}

Test(greedy, the_real_model_for_two_tokens, .init = make_folder, .fini = remove_folder) {
    static const char model[] = "build/models/gemma-3-270m-q4_k_m.gguf";
    if (access(model, R_OK) != 0)
        cr_skip_test("the model is not in build/models: `make models` brings it");
    struct result r = run_command("greedy %s --prompt 'The capital of France is' --n 1", model);
    expect_result(r, 0, "prompt  6 tokens: 2 818 5279 529 7001 563");
    if (command_stride() > 1)
        return; /* minutes there, and the tiny models take the same way */
    r = run_command("greedy %s --arm machine --prompt-ids '2 818 5279 529 7001 563' --n 2 --json %s/m.json", model,
                    run_folder);
    expect_result(r, 0, "2 ids, 254 products, all ");
    char *ids = list_of("m.json", "/tokens");
    cr_expect(!strcmp(ids, "506 5279"), "%s", ids); /* llama.cpp's (fixtures/golden), margins 0.70 and 2.06 */
    free(ids);
    r = run_command("greedy %s --arm machine --prompt-ids '2 818' --n 1 --plant matvec_row_16_bits --case-dir %s/case",
                    model, run_folder);
    cr_expect(strstr(r.text, "row 65536 "), "%s", r.text);
    expect_result(r, 1, "DIFFERS step 0, the head, tensor token_embd.weight, kernel matvec_q8_0, nt = 1");
}

/* ---- bad input ---- */

Test(greedy, bad_options_are_one_line_and_exit_2, .init = make_folder, .fini = remove_folder) {
    put_model("m.gguf", "llama", "q4_0");
    put_file("none", "", 0);
    put_file("zero", "1 \0 2", 5);
    put_file("word", "1 two 3", 7);
    put_file("no.gguf", "GGUF", 4);
    static const struct {
        const char *arguments, *words;
    } cases[] = {
        {"", "want one model"},
        {"@/m.gguf", "the text of a prompt needs the file's tokenizer; give --prompt-ids: "},
        {"@/m.gguf --prompt a --prompt-ids 1", "want either --prompt or --prompt-ids"},
        {"@/m.gguf --prompt a", "the text of a prompt needs the file's tokenizer"},
        {"@/m.gguf @/m.gguf --prompt-ids 1", "want one model"},
        {"@/absent.gguf --prompt-ids 1", "absent.gguf"},
        {"@/no.gguf --prompt-ids 1", "no.gguf"},
        {"@/m.gguf --prompt-ids ''", "--prompt-ids is empty"},
        {"@/m.gguf --prompt-ids ' '", "--prompt-ids: there is no token id"},
        {"@/m.gguf --prompt-ids '1 288'", "'288' is no token id; the vocabulary has 0 .. 287"},
        {"@/m.gguf --prompt-ids '-1'", "'-1' is no token id"},
        {"@/m.gguf --prompt-ids '1 x'", "'x' is no token id"},
        {"@/m.gguf --prompt-ids 99999999999999999999999999", "is no token id"},
        {"@/m.gguf --prompt-ids 1 --n 0", "--n 0: want an integer"},
        {"@/m.gguf --prompt-ids 1 --n 1x", "--n 1x: want an integer"},
        {"@/m.gguf --prompt-ids 1 --n 65", "65 positions are more than the context of the model, 64"},
        {"@/m.gguf --prompt-ids 1 --arm gpu", "--arm gpu: want reference, machine, device or truth"},
        {"@/m.gguf --prompt-ids 1 --plan @/absent.yaml", "absent.yaml"},
        {"@/m.gguf --prompt-ids 1 --arm truth --plan x", "--arm truth multiplies by no plan"},
        {"@/m.gguf --prompt-ids 1 --watches all", "--watches goes with --arm machine"},
        {"@/m.gguf --prompt-ids 1 --arch sm_80", "--arch goes with --arm machine"},
        {"@/m.gguf --prompt-ids 1 --ids @/absent", "absent"},
        {"@/m.gguf --prompt-ids 1 --ids @/none", "there is no token id"},
        {"@/m.gguf --prompt-ids 1 --ids @/zero", "holds a zero byte"},
        {"@/m.gguf --prompt-ids 1 --ids @/word", "'two' is no token id"},
        {"@/m.gguf --prompt-ids 1 --ids /dev/zero", "/dev/zero"},
        {"@/m.gguf --prompt-ids 1 --plant weight-scale", "a fault is put between kernels and reference"},
        {"@/m.gguf --prompt-ids 1 --arm machine --plant nosuch", "nosuch"},
        {"@/m.gguf --prompt-ids 1 --json @/m.gguf", "is the input"},
        {"@/m.gguf --prompt-ids 1 --json @/a/b/c.json", "c.json"},
        {"@/m.gguf --prompt-ids 1 --bogus", "--bogus"},
        {"@/m.gguf --prompt-ids 1 --prompt-ids 2", "--prompt-ids is given twice"},
        {"@/m.gguf --prompt-ids 1 -j 0", "-j 0: want a number of threads"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char arguments[512] = "";
        for (const char *s = cases[i].arguments; *s; s++)
            snprintf(arguments + strlen(arguments), sizeof arguments - strlen(arguments), "%.*s", *s == '@' ? 0 : 1, s),
                *s == '@' ? (void)strcat(arguments, run_folder) : (void)0;
        struct result r = run_command("greedy %s", arguments);
        cr_expect(!strncmp(r.text, "warpproof greedy: ", 18), "%s: %s", arguments, r.text);
        expect_result(r, 2, cases[i].words);
    }
    struct result r = run_command("greedy --help");
    expect_result(r, 0, "usage: warpproof greedy");
}

Test(greedy, a_hostile_model_is_one_line_and_exit_2, .init = make_folder, .fini = remove_folder) {
    const struct tiny_fault fault = {.nan = "blk.1.ffn_down.weight"};
    struct bytes b = tiny_model("llama", format_named("q8_0"), &fault);
    put_file("m.gguf", b.p, b.n);
    struct result r = run_command("greedy %s/m.gguf --prompt-ids 1", run_folder);
    expect_result(r, 2, "tensor blk.1.ffn_down.weight, row 255: a value is not finite");
    put_file("m.gguf", b.p, b.n / 2);
    r = run_command("greedy %s/m.gguf --prompt-ids 1", run_folder);
    expect_result(r, 2, "m.gguf");
    free(b.p);
}

/* Values that overflow f32 make NaN logits: refused, and the step named. */
Test(greedy, nan_is_refused_with_its_step, .init = make_folder, .fini = remove_folder) {
    const struct tiny_fault fault = {.huge = "blk.1.attn_norm.weight"};
    struct bytes b = tiny_model("llama", format_named("f32"), &fault);
    put_file("m.gguf", b.p, b.n);
    struct result r = run_command("greedy %s/m.gguf --prompt-ids '1 2' --n 2", run_folder);
    expect_result(r, 2, "step 0: the logit of token id ");
    free(b.p);
}

/* ---- plans ---- */

Test(greedy, a_bad_plan_is_shown_with_its_place, .init = make_folder, .fini = remove_folder) {
    put_model("m.gguf", "llama", "q4_0");
    static const char head[] = "plan: p\nquantisers:\n  - {format: pad40, kernel: quantize_pad40}\nproducts:\n";
    static const struct {
        const char *plan, *words; /* plan: "+": after the head */
    } cases[] = {
        {"", "in.yaml"},
        {"plan: p\nquantisers: []\n", "products"},
        {"plan: p\nquantisers: []\nproducts: []\nmore: 1\n", "in.yaml:4:1: unknown key 'more'"},
        {"+  - {format: q4_0, kernel: nosuch}\n", "in.yaml:5:28: there is no kernel 'nosuch'"},
        {"+  - {format: q4_0, kernel: ../kernels/matvec_q4_0}\n", "is not the name of a kernel"},
        {"+  - {format: q9_0, kernel: matvec_q4_0}\n", "in.yaml:5:14: there is no weight format 'q9_0'"},
        {"+  - {format: q4_0, kernel: matvec_q4_1}\n", "contract q4_1_pad40_matvec does not multiply q4_0"},
        {"+  - {format: q4_0}\n", "names a kernel or a contract, and this one neither"},
        {"+  - {format: q4_0, kernel: matvec_q4_0, contract: plain}\n", "not both"},
        {"+  - {format: q4_0, contract: nosuch}\n", "there is no contract 'nosuch'"},
        {"+  - {format: q4_0, kernel: quantize_pad40}\n", "does not multiply q4_0"},
        {"+  - {format: q4_0, kernel: matvec_q4_0, when: nt <}\n", "in.yaml:5:"},
        {"+  - {format: q4_0, kernel: matvec_q4_0, when: depth > 8}\n", "depth"},
        {"+  - {format: q4_K, contract: q4_k_q8_k}\n", "takes activations in q8_K, which no quantiser makes"},
        {"+  - {format: q4_0, kernel: matvec_q4_0, when: nt <= 8}\n",
         "tensor 'blk.0.attn_q.weight' (q4_0, nt = 12, od = 256, id = 256): no row of "},
        {"+  - {format: q4_0, kernel: matvec_q4_0}\n", "matvec_q4_0 needs nt <= 8, got nt = 12"},
        {"+  - {format: q4_0, kernel: matvec_q4_0, when: nt / (nt - 12) > 0}\n", "division by zero"},
        {"plan: p\nquantisers:\n  - {format: pad40, kernel: matvec_q4_0}\nproducts: []\n", "does not make pad40"},
        {"plan: p\nquantisers:\n  - {format: q4_0, kernel: quantize_pad40}\nproducts: []\n",
         "there is no activation format 'q4_0'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool after = cases[i].plan[0] == '+';
        char *text = must_format("%s%s", after ? head : "", cases[i].plan + after);
        put_file("in.yaml", text, strlen(text));
        struct result r = run_command("greedy %s/m.gguf --arm machine --prompt-ids '%s' --n 1 --plan %s/in.yaml",
                                      run_folder, prompt, run_folder);
        cr_expect(!strncmp(r.text, "warpproof greedy: ", 18), "%s", r.text);
        expect_result(r, 2, cases[i].words);
        free(text);
    }
}
