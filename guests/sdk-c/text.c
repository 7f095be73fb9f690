#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *take(size_t count, size_t size) {
    void *taken = calloc(count ? count : 1, size ? size : 1);
    if (!taken) {
        fputs("out of memory\n", stderr);
        abort();
    }
    return taken;
}

text text_of(const char *bytes) { return (text){bytes, strlen(bytes)}; }

bool text_is(text a, text b) { return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0); }

static unsigned char lower(char byte) { return byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte; }

bool text_has(text whole, text part) {
    for (size_t start = 0; part.len <= whole.len && start <= whole.len - part.len; start++) {
        size_t same = 0;
        while (same < part.len && lower(whole.ptr[start + same]) == lower(part.ptr[same])) {
            same++;
        }
        if (same == part.len) {
            return true;
        }
    }
    return false;
}

char *text_zero(text from) {
    char *copy = take(from.len + 1, 1);
    if (from.len) {
        memcpy(copy, from.ptr, from.len);
    }
    return copy;
}

// Makes room for `more` bytes and a zero.
static void reserve(buffer *to, size_t more) {
    if (to->size - to->len > more) {
        return;
    }
    size_t size = (to->len + more + 1) * 2;
    char *ptr = take(size, 1);
    if (to->len) {
        memcpy(ptr, to->ptr, to->len);
    }
    free(to->ptr);
    *to = (buffer){ptr, to->len, size};
}

void put(buffer *to, text more) {
    reserve(to, more.len);
    if (more.len) {
        memcpy(to->ptr + to->len, more.ptr, more.len);
    }
    to->len += more.len;
}

void put_format(buffer *to, const char *format, ...) {
    va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    int length = vsnprintf(NULL, 0, format, values);
    if (length > 0) {
        reserve(to, length);
        vsnprintf(to->ptr + to->len, length + 1, format, again);
        to->len += length;
    }
    va_end(again);
    va_end(values);
}

void put_escaped(buffer *to, text part) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    for (size_t index = 0; index < part.len; index++) {
        unsigned char byte = part.ptr[index];
        put_format(to, memchr(plain, byte, sizeof plain - 1) ? "%c" : "%%%02X", byte);
    }
}

text text_from(buffer from) { return (text){from.ptr, from.len}; }
