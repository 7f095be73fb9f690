// The plugin's exports for `bub:tools/tools` and `bub:hooks/system-prompt`. The names are those of `bindings/plugin.h`.
#include "guest.h"
#include "weather.h"

static settings configured(void) {
    json server = {0}, home = {0};
    config_get("server", &server);
    config_get("home", &home);
    return (settings){server.string, home.string};
}

// Describes the tools. `READ`: it changes nothing; `reads_outside`: the result is text of other authors.
void exports_bub_tools_tools_list_tools(exports_bub_tools_tools_list_tool_spec_t *ret) {
    ret->len = 1;
    ret->ptr = take(1, sizeof *ret->ptr);
    ret->ptr[0] = (exports_bub_tools_tools_tool_spec_t){
        .name = lower(text_of(name)),
        .description = lower(text_of(about)),
        .parameters = lower(text_of(schema)),
        .for_model = true,
        .effect = BUB_TOOLS_SCHEMA_EFFECT_READ,
        .reads_outside = true,
    };
}

// Answers a call of the only tool.
bool exports_bub_tools_tools_call_tool(exports_bub_tools_tools_own_turn_t turn, plugin_string_t *called,
                                       exports_bub_tools_tools_json_t *arguments, exports_bub_tools_tools_json_t *ret,
                                       exports_bub_tools_tools_error_t *err) {
    (void)turn, (void)called;
    plugin_string_t secret = lower(text_of("weather")), key;
    if (!bub_plugin_secrets_placeholder(&secret, &key, err)) {
        return false;
    }
    text result;
    failure error;
    if (!weather(web_send, configured(), lift(key), lift(*arguments), &result, &error)) {
        return lower_failure(error, err);
    }
    *ret = lower(result);
    return true;
}

// Adds to the system prompt.
bool exports_bub_hooks_system_prompt_system_prompt(exports_bub_hooks_system_prompt_own_turn_t turn,
                                                   exports_bub_hooks_system_prompt_prompt_t *prompt,
                                                   exports_bub_hooks_system_prompt_list_system_part_t *ret,
                                                   exports_bub_hooks_system_prompt_error_t *err) {
    (void)turn, (void)prompt, (void)err;
    text told = rule(configured());
    ret->len = told.len > 0;
    ret->ptr = take(1, sizeof *ret->ptr);
    ret->ptr[0] = (exports_bub_hooks_system_prompt_system_part_t){
        .name = lower(text_of("weather")),
        .text = lower(told),
        .cut = BUB_TYPES_TYPES_CUT_ORDER_LAST,
    };
    return true;
}
