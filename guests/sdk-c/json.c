#include "json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// What is left to read.
typedef struct {
    const char *at, *end;
    int depth;
} reader;

static bool read_value(reader *from, json *into);

static char peek(const reader *from) { return from->at < from->end ? *from->at : 0; }

static bool skip(reader *from, char byte) {
    while (from->at < from->end && strchr(" \t\r\n", *from->at) && *from->at) {
        from->at++;
    }
    if (!byte || peek(from) != byte) {
        return false;
    }
    from->at++;
    return true;
}

static bool word(reader *from, const char *word) {
    size_t len = strlen(word);
    if ((size_t)(from->end - from->at) < len || memcmp(from->at, word, len) != 0) {
        return false;
    }
    from->at += len;
    return true;
}

static bool digits(reader *from) {
    const char *start = from->at;
    while (peek(from) >= '0' && peek(from) <= '9') {
        from->at++;
    }
    return from->at > start;
}

static bool read_number(reader *from, json *into) {
    const char *start = from->at;
    if (peek(from) == '-') {
        from->at++;
    }
    if (peek(from) == '0') {
        from->at++;
    } else if (!digits(from)) {
        return false;
    }
    if (peek(from) == '.' && (from->at++, !digits(from))) {
        return false;
    }
    if (peek(from) == 'e' || peek(from) == 'E') {
        from->at++;
        if (peek(from) == '+' || peek(from) == '-') {
            from->at++;
        }
        if (!digits(from)) {
            return false;
        }
    }
    into->kind = JSON_NUMBER;
    into->number = strtod(text_zero((text){start, from->at - start}), NULL);
    return true;
}

// Four hexadecimal digits.
static bool read_unit(reader *from, uint32_t *unit) {
    *unit = 0;
    for (int digit = 0; digit < 4; digit++, from->at++) {
        char byte = peek(from);
        const char *place = byte ? strchr("0123456789abcdef", byte >= 'A' && byte <= 'F' ? byte + 32 : byte) : NULL;
        if (!place) {
            return false;
        }
        *unit = *unit * 16 + (uint32_t)(place - "0123456789abcdef");
    }
    return true;
}

static void put_code(buffer *to, uint32_t code) {
    char bytes[4];
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t place = len - 1; place > 0; place--, code >>= 6) {
        bytes[place] = (char)(0x80 | (code & 0x3f));
    }
    bytes[0] = (char)(first[len] | code);
    put(to, (text){bytes, len});
}

static bool read_escape(reader *from, buffer *to) {
    static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    char name = peek(from);
    const char *place = name ? strchr(names, name) : NULL;
    if (place) {
        from->at++;
        put(to, (text){&bytes[place - names], 1});
        return true;
    }
    uint32_t code, second;
    if (!word(from, "u") || !read_unit(from, &code)) {
        return false;
    }
    // A character beyond 16 bits is a pair; half of one stands for no character.
    if (code >= 0xd800 && code < 0xdc00 && word(from, "\\u")) {
        if (!read_unit(from, &second) || second < 0xdc00 || second > 0xdfff) {
            return false;
        }
        code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
    }
    if (code >= 0xd800 && code <= 0xdfff) {
        return false;
    }
    put_code(to, code);
    return true;
}

static bool read_string(reader *from, text *into) {
    buffer read = {0};
    put(&read, text_of(""));
    while (from->at < from->end) {
        const char *start = from->at;
        while (from->at < from->end && *from->at != '"' && *from->at != '\\' && (unsigned char)*from->at >= 0x20) {
            from->at++;
        }
        put(&read, (text){start, from->at - start});
        if (word(from, "\"")) {
            *into = text_from(read);
            return true;
        }
        if (!word(from, "\\") || !read_escape(from, &read)) {
            return false;
        }
    }
    return false;
}

// An array, or an object with keys.
static bool read_items(reader *from, json *into, char end) {
    size_t room = 0;
    bool is_object = end == '}';
    into->kind = is_object ? JSON_OBJECT : JSON_ARRAY;
    if (skip(from, end)) {
        return true;
    }
    do {
        if (into->len == room) {
            room = room ? room * 2 : 8;
            json *items = take(room, sizeof *items);
            text *keys = take(is_object ? room : 0, sizeof *keys);
            if (into->len) {
                memcpy(items, into->items, into->len * sizeof *items);
                memcpy(keys, into->keys, is_object ? into->len * sizeof *keys : 0);
            }
            into->items = items;
            into->keys = keys;
        }
        if (is_object && (!skip(from, '"') || !read_string(from, &into->keys[into->len]) || !skip(from, ':'))) {
            return false;
        }
        if (!read_value(from, &into->items[into->len++])) {
            return false;
        }
    } while (skip(from, ','));
    return skip(from, end);
}

static bool read_value(reader *from, json *into) {
    skip(from, 0);
    *into = (json){0};
    switch (peek(from)) {
    case '"':
        from->at++;
        into->kind = JSON_STRING;
        return read_string(from, &into->string);
    case '[':
    case '{': {
        char end = *from->at++ == '[' ? ']' : '}';
        bool is_read = ++from->depth <= 128 && read_items(from, into, end);
        from->depth--;
        return is_read;
    }
    case 't':
        into->truth = true;
        into->kind = JSON_BOOL;
        return word(from, "true");
    case 'f':
        into->kind = JSON_BOOL;
        return word(from, "false");
    case 'n':
        return word(from, "null");
    default:
        return read_number(from, into);
    }
}

bool json_read(text source, json *into) {
    reader from = {source.ptr, source.ptr + source.len, 0};
    if (!read_value(&from, into)) {
        return false;
    }
    skip(&from, 0);
    return from.at == from.end;
}

const json *json_get(const json *object, const char *key) {
    text wanted = text_of(key);
    for (size_t index = 0; object && object->kind == JSON_OBJECT && index < object->len; index++) {
        if (text_is(object->keys[index], wanted)) {
            return &object->items[index];
        }
    }
    return NULL;
}

text json_text(const json *object, const char *key) {
    const json *found = json_get(object, key);
    return found && found->kind == JSON_STRING ? found->string : text_of("");
}

void json_put(buffer *to, text string) {
    put(to, text_of("\""));
    for (size_t index = 0; index < string.len; index++) {
        unsigned char byte = string.ptr[index];
        if (byte == '"' || byte == '\\') {
            put_format(to, "\\%c", byte);
        } else if (byte < 0x20) {
            put_format(to, "\\u%04x", byte);
        } else {
            put(to, (text){&string.ptr[index], 1});
        }
    }
    put(to, text_of("\""));
}
