#include "guest.h"

text lift(plugin_string_t from) { return (text){(const char *)from.ptr, from.len}; }

plugin_string_t lower(text from) { return (plugin_string_t){(uint8_t *)text_zero(from), from.len}; }

bool lower_failure(failure from, bub_types_types_error_t *into) {
    *into = (bub_types_types_error_t){.kind = from.kind, .message = lower(from.message)};
    return false;
}

bool lift_failure(bub_types_types_error_t from, failure *into) {
    *into = (failure){from.kind, lift(from.message)};
    return false;
}

bool config_get(const char *key, json *into) {
    plugin_string_t name = lower(text_of(key)), value;
    // The host answers with JSON, and has checked it against the schema in `manifest.json`.
    return bub_plugin_config_get(&name, &value) && json_read(lift(value), into);
}
