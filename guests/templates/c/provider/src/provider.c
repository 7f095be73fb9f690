#include "provider.h"

#include <string.h>

const char name[] = "{{name}}";
const char model[] = "canned";

// The text of a message: one with images is a list of parts.
static text content(const json *message) {
    const json *given = json_get(message, "content");
    if (given && given->kind == JSON_ARRAY) {
        buffer all = {0};
        for (size_t index = 0; index < given->len; index++) {
            put(&all, json_text(&given->items[index], "text"));
        }
        return text_from(all);
    }
    return json_text(message, "content");
}

static text trimmed(text from) {
    while (from.len > 0 && memchr(" \t\r\n", from.ptr[from.len - 1], 4)) {
        from.len--;
    }
    while (from.len > 0 && memchr(" \t\r\n", from.ptr[0], 4)) {
        from = (text){from.ptr + 1, from.len - 1};
    }
    return from;
}

// The last line of what the user said last.
static bool last_question(const text *messages, size_t len, text *into) {
    for (size_t left = len; left > 0; left--) {
        json message;
        if (json_read(messages[left - 1], &message) && text_is(json_text(&message, "role"), text_of("user"))) {
            text said = trimmed(content(&message));
            size_t start = said.len;
            while (start > 0 && said.ptr[start - 1] != '\n') {
                start--;
            }
            *into = trimmed((text){said.ptr + start, said.len - start});
            return true;
        }
    }
    return false;
}

bool answer(const json *answers, text asked, const text *messages, size_t len, text *into, failure *error) {
    // `check` is what `bub-wasm plugin check` asks for.
    if (asked.len > 0 && !text_is(asked, text_of(model)) && !text_is(asked, text_of("check"))) {
        return fail(error, CONFIG, "provider `%s` has the one model `%s`, not `%.*s`", name, model, TEXT(asked));
    }
    text question;
    if (!last_question(messages, len, &question)) {
        return fail(error, INVALID_INPUT, "the request has no message of a user");
    }
    const json *known = json_get(answers, text_zero(question));
    if (known) {
        *into = known->string;
        return true;
    }
    buffer repeated = {0};
    put_format(&repeated, "You said: %.*s", TEXT(question));
    *into = text_from(repeated);
    return true;
}

size_t piece(text answer) {
    size_t len = 0;
    while (len < answer.len && answer.ptr[len++] != ' ') {
    }
    return len;
}
