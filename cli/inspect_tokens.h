/* What `inspect --tokenize` prints. */
#ifndef CLI_INSPECT_TOKENS_H
#define CLI_INSPECT_TOKENS_H

/* Prints the token ids of text by the vocabulary of the GGUF file at path, in one line, then one line a token. Returns
 * the exit code: 0, or 2 with one line when the file, its tokenizer or the text is not served. */
int inspect_tokens(const char *path, const char *text);

#endif
