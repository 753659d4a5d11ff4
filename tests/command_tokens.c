/* warpproof inspect --tokenize. */
#include "command_run.h"
#include "tokenizer_sample.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(command_tokens, ids_and_pieces, .init = make_folder, .fini = remove_folder) {
    struct vocabulary *v = vocabulary_new("llama", NULL);
    add_byte_tokens(v);
    v->bos = add_text(v, "<s>\x1b", 3, 0); /* 256 */
    add_text(v, "\u2581", 1, -2);
    add_text(v, "b", 1, -2);
    add_text(v, "\u2581b", 1, -1);
    struct bytes b = vocabulary_file(v);
    put_file("good.gguf", b.p, b.n);
    expect_result(run_command("inspect %s/good.gguf --tokenize 'b b!'", run_folder), 0,
                  "4 tokens\n256 259 259 33\n\n     256  \"<s>\\x1b\"\n     259  \"\u2581b\"\n     259  \"\u2581b\"\n  "
                  "    33  \"<0x21>\"\n");
    expect_result(run_command("inspect %s/good.gguf --tokenize ''", run_folder), 0, "1 token\n256\n");
    expect_result(run_command("inspect %s/good.gguf --tokenize \"$(printf 'ab\\377')\"", run_folder), 2,
                  "the text is no UTF-8: byte 0xff at byte 2");
    expect_result(run_command("inspect %s/good.gguf --tokenize b --keys", run_folder), 2, "--tokenize stands alone");
    expect_result(run_command("inspect %s/none.gguf --tokenize b", run_folder), 2, "none.gguf");
    free(b.p);

    v->no_scores = true;
    b = vocabulary_file(v);
    put_file("bad.gguf", b.p, b.n);
    expect_result(run_command("inspect %s/bad.gguf --tokenize b", run_folder), 2,
                  "bad.gguf: tokenizer: no key tokenizer.ggml.scores");
    free(b.p);

    struct sample s = sample_file(3);
    put_file("other.gguf", s.file.p, s.file.n);
    expect_result(run_command("inspect %s/other.gguf --tokenize b", run_folder), 2,
                  "other.gguf: tokenizer: no key tokenizer.ggml.model");
    free(s.file.p);
    vocabulary_free(v);
}
