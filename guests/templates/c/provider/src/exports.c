// The plugin's exports for `bub:model/provider`. The names are those of `bindings/plugin.h`.
#include "guest.h"
#include "provider.h"

// The part of a model's id before the colon.
void exports_bub_model_provider_name(plugin_string_t *ret) { *ret = lower(text_of(name)); }

// Answers a request. Readers see each piece when it is sent.
bool exports_bub_model_provider_complete(exports_bub_model_provider_request_t *request,
                                         exports_bub_model_provider_own_sink_t own,
                                         exports_bub_model_provider_error_t *err) {
    bub_model_sink_borrow_sink_t sink = bub_model_sink_borrow_sink(own);
    json answers = {0};
    config_get("answers", &answers);
    text *messages = take(request->messages.len, sizeof *messages);
    for (size_t index = 0; index < request->messages.len; index++) {
        messages[index] = lift(request->messages.ptr[index]);
    }
    text asked = request->model.is_some ? lift(request->model.val) : text_of(""), said;
    failure error;
    if (!answer(&answers, asked, messages, request->messages.len, &said, &error)) {
        return lower_failure(error, err);
    }
    while (said.len > 0) {
        size_t len = piece(said);
        bub_model_sink_event_t event = {.tag = BUB_MODEL_EXCHANGE_EVENT_TEXT, .val.text = lower((text){said.ptr, len})};
        if (!bub_model_sink_method_sink_send(sink, &event, err)) {
            return false;
        }
        said = (text){said.ptr + len, said.len - len};
    }
    bub_model_sink_event_t end = {.tag = BUB_MODEL_EXCHANGE_EVENT_FINISH, .val.finish = lower(text_of("stop"))};
    return bub_model_sink_method_sink_send(sink, &end, err);
}
