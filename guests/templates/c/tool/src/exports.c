// The plugin's exports for `bub:tools/tools`. The names are those of `bindings/plugin.h`.
#include "guest.h"
#include "tool.h"

// Describes the tools. `READ`: it changes nothing, so the host lets models call it without asking.
void exports_bub_tools_tools_list_tools(exports_bub_tools_tools_list_tool_spec_t *ret) {
    ret->len = 1;
    ret->ptr = take(1, sizeof *ret->ptr);
    ret->ptr[0] = (exports_bub_tools_tools_tool_spec_t){
        .name = lower(text_of(name)),
        .description = lower(text_of(about)),
        .parameters = lower(text_of(schema)),
        .for_model = true,
        .effect = BUB_TOOLS_SCHEMA_EFFECT_READ,
    };
}

// Answers a call of the only tool.
bool exports_bub_tools_tools_call_tool(exports_bub_tools_tools_own_turn_t turn, plugin_string_t *called,
                                       exports_bub_tools_tools_json_t *arguments, exports_bub_tools_tools_json_t *ret,
                                       exports_bub_tools_tools_error_t *err) {
    (void)turn, (void)called;
    settings set = defaults;
    json given;
    if (config_get("words_per_minute", &given)) {
        set.words_per_minute = given.number;
    }
    text result;
    failure error;
    if (!count(set, lift(*arguments), &result, &error)) {
        return lower_failure(error, err);
    }
    *ret = lower(result);
    return true;
}
