// The plugin's exports for `bub:hooks/system-prompt`. The names are those of `bindings/plugin.h`.
#include "guest.h"
#include "prompt.h"

// Adds to the system prompt.
bool exports_bub_hooks_system_prompt_system_prompt(exports_bub_hooks_system_prompt_own_turn_t turn,
                                                   exports_bub_hooks_system_prompt_prompt_t *prompt,
                                                   exports_bub_hooks_system_prompt_list_system_part_t *ret,
                                                   exports_bub_hooks_system_prompt_error_t *err) {
    (void)turn, (void)prompt;
    json rules;
    if (!config_get("rules", &rules) && !json_read(text_of(defaults), &rules)) {
        return lower_failure((failure){CONFIG, text_of("the rules are no JSON")}, err);
    }
    text added = part(&rules);
    ret->len = added.len > 0;
    ret->ptr = take(1, sizeof *ret->ptr);
    ret->ptr[0] = (exports_bub_hooks_system_prompt_system_part_t){
        .name = lower(text_of("rules")),
        .text = lower(added),
        .cut = BUB_TYPES_TYPES_CUT_ORDER_LAST,
    };
    return true;
}
