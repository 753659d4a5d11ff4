/* Is a text well-formed XML, or HTML as strict as that? Knows nothing of who wrote it. */
#ifndef TESTS_MARKUP_CHECK_H
#define TESTS_MARKUP_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* NULL, or what is wrong and where, to be freed: tags nest, attributes are quoted and given once, ids are unique, only
 * known entities, no control characters, valid UTF-8. html: begins with its doctype, has no script, no attribute that
 * is a handler, and nothing that a browser would fetch (href, src, url(, @import); `meta` is never closed. */
char *markup_fault(const char *text, size_t size, bool html);

/* How many elements of this name there are; with an attribute: how many have it so, as it stands in the text. */
size_t markup_count(const char *text, const char *element, const char *attribute);

#endif
