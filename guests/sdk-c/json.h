// JSON as a tree, and texts as JSON.
#ifndef BUB_JSON_H
#define BUB_JSON_H

#include "text.h"

typedef enum { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } json_kind;

typedef struct json json;
struct json {
    json_kind kind;
    bool truth;
    double number;
    // Without escapes.
    text string;
    // Of an array or an object; `keys` of an object alone.
    size_t len;
    json *items;
    text *keys;
};

// Reads a whole text. False: it is not JSON, or more than 128 levels deep.
bool json_read(text source, json *into);

// The member of an object; NULL if there is none, or if it is no object.
const json *json_get(const json *object, const char *key);

// The member of an object as a text; empty if there is none, or if it is no text.
text json_text(const json *object, const char *key);

// Writes a text with quotes and escapes.
void json_put(buffer *to, text string);

#endif
