#include "tool.h"
#include "json.h"

#include <math.h>
#include <string.h>

const settings defaults = {.words_per_minute = 200};

const char name[] = "{{name_snake}}_count";

const char about[] = "Count the words, characters or lines of a text. Use this instead of counting yourself.";

const char schema[] =
    "{\n"
    "  \"type\": \"object\",\n"
    "  \"properties\": {\n"
    "    \"text\": { \"type\": \"string\", \"description\": \"The text, as it is.\" },\n"
    "    \"unit\": { \"type\": \"string\", \"enum\": [\"words\", \"characters\", \"lines\"],\n"
    "      \"description\": \"What is counted.\", \"default\": \"words\" }\n"
    "  },\n"
    "  \"required\": [\"text\"],\n"
    "  \"additionalProperties\": false\n"
    "}";

static size_t words(text in) {
    size_t found = 0;
    bool is_inside = false;
    for (size_t index = 0; index < in.len; index++) {
        bool is_space = memchr(" \t\n\v\f\r", in.ptr[index], 6) != NULL;
        found += !is_space && !is_inside;
        is_inside = !is_space;
    }
    return found;
}

static size_t lines(text in) {
    // The last one may have no end.
    size_t found = in.len > 0 && in.ptr[in.len - 1] != '\n';
    for (size_t index = 0; index < in.len; index++) {
        found += in.ptr[index] == '\n';
    }
    return found;
}

static size_t characters(text in) {
    size_t found = 0;
    for (size_t index = 0; index < in.len; index++) {
        // Every byte of UTF-8 but those inside of a character.
        found += ((unsigned char)in.ptr[index] & 0xc0) != 0x80;
    }
    return found;
}

bool count(settings set, text arguments, text *result, failure *error) {
    json asked;
    // The host has checked the arguments against the schema, unless this is a test.
    if (!json_read(arguments, &asked) || !json_get(&asked, "text")) {
        return fail(error, INVALID_INPUT, "the arguments are a JSON object with `text`");
    }
    text given = json_text(&asked, "text"), unit = json_text(&asked, "unit");
    buffer answer = {0};
    if (text_is(unit, text_of("lines"))) {
        put_format(&answer, "{\"count\":%zu,\"unit\":\"lines\"}", lines(given));
    } else if (text_is(unit, text_of("characters"))) {
        put_format(&answer, "{\"count\":%zu,\"unit\":\"characters\"}", characters(given));
    } else {
        size_t found = words(given);
        double minutes = round((double)found / set.words_per_minute * 100) / 100;
        put_format(&answer, "{\"count\":%zu,\"unit\":\"words\",\"minutes\":%g}", found, minutes);
    }
    *result = text_from(answer);
    return true;
}
