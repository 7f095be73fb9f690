// Texts with a length, and texts that grow.
//
// The host makes a new instance of the plugin for each call, so nothing here frees memory.
#ifndef BUB_TEXT_H
#define BUB_TEXT_H

#include <stdbool.h>
#include <stddef.h>

// Bytes in UTF-8. They do not end with a zero.
typedef struct {
    const char *ptr;
    size_t len;
} text;

// A text that grows. `{0}` is an empty one.
typedef struct {
    char *ptr;
    size_t len, size;
} buffer;

// For `printf`: `"%.*s", TEXT(it)`.
#define TEXT(it) (int)(it).len, (it).ptr

// Memory that is set to zero; without memory the call ends.
void *take(size_t count, size_t size);

text text_of(const char *bytes);
bool text_is(text a, text b);
// Whether `part` stands in it, in upper or lower case of ASCII letters.
bool text_has(text whole, text part);
// A copy that ends with a zero.
char *text_zero(text from);

void put(buffer *to, text more);
__attribute__((format(printf, 2, 3))) void put_format(buffer *to, const char *format, ...);
// A text as a part of the path or the query of an address.
void put_escaped(buffer *to, text part);
text text_from(buffer from);

#endif
