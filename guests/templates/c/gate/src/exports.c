// The plugin's exports for `bub:hooks/before-tool-call`. The names are those of `bindings/plugin.h`.
#include "gate.h"
#include "guest.h"

// Is called for the calls of models and of people, with the arguments as they were written.
bool exports_bub_hooks_before_tool_call_before_tool_call(exports_bub_hooks_before_tool_call_own_turn_t turn,
                                                         exports_bub_hooks_before_tool_call_tool_call_t *call,
                                                         exports_bub_hooks_before_tool_call_tool_decision_t *ret,
                                                         exports_bub_hooks_before_tool_call_error_t *err) {
    (void)turn;
    json blocked;
    if (!config_get("blocked", &blocked) && !json_read(text_of(defaults), &blocked)) {
        return lower_failure((failure){CONFIG, text_of("what is blocked is no JSON")}, err);
    }
    text found = blocked_in(&blocked, lift(call->arguments));
    if (found.len == 0) {
        ret->tag = EXPORTS_BUB_HOOKS_BEFORE_TOOL_CALL_TOOL_DECISION_PROCEED;
        return true;
    }
    // The model reads this, and can try something else.
    buffer why = {0};
    put_format(&why, "`%.*s` is not called with `%.*s` in its arguments", TEXT(lift(call->name)), TEXT(found));
    ret->tag = EXPORTS_BUB_HOOKS_BEFORE_TOOL_CALL_TOOL_DECISION_DENY;
    ret->val.deny = lower(text_from(why));
    return true;
}
