#include "gate.h"

const char defaults[] = "[\"rm -rf\", \"sudo \"]";

// Whether a text stands in one of the strings, in upper or lower case.
static bool contains(const json *value, text part) {
    if (value->kind == JSON_STRING) {
        return text_has(value->string, part);
    }
    for (size_t index = 0; index < value->len; index++) {
        if (contains(&value->items[index], part)) {
            return true;
        }
    }
    return false;
}

text blocked_in(const json *blocked, text arguments) {
    json given;
    if (!json_read(arguments, &given)) {
        // Models may write invalid JSON: then the text itself is searched.
        given = (json){.kind = JSON_STRING, .string = arguments};
    }
    for (size_t index = 0; index < blocked->len; index++) {
        if (contains(&given, blocked->items[index].string)) {
            return blocked->items[index].string;
        }
    }
    return text_of("");
}
