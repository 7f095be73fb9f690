#include "prompt.h"

const char defaults[] = "[\"Answer in plain English.\"]";

text part(const json *rules) {
    buffer all = {0};
    for (size_t index = 0; index < rules->len; index++) {
        put(&all, text_of(index == 0 ? "Follow these rules:\n- " : "\n- "));
        put(&all, rules->items[index].string);
    }
    return text_from(all);
}
