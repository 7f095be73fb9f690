// The plugin's exports for `bub:channel/channel`. The names are those of `bindings/plugin.h`.
#include "channel.h"
#include "guest.h"

// Says what the channel is.
void exports_bub_channel_channel_describe(exports_bub_channel_channel_description_t *ret) {
    *ret = (exports_bub_channel_channel_description_t){.name = lower(text_of(name)), .webhook = true};
}

// Answers a request. The host stores the arrivals before it sends the response, so that no message is lost.
bool exports_bub_channel_channel_receive(exports_bub_channel_channel_webhook_request_t *request,
                                         exports_bub_channel_channel_webhook_response_t *ret,
                                         exports_bub_channel_channel_error_t *err) {
    (void)err;
    text body = {(const char *)request->body.ptr, request->body.len}, why = text_of("");
    posted message;
    *ret = (exports_bub_channel_channel_webhook_response_t){.status = receive(lift(request->method), body, &message, &why)};
    if (ret->status != 202) {
        ret->headers.len = 1;
        ret->headers.ptr = take(1, sizeof *ret->headers.ptr);
        ret->headers.ptr[0] = (plugin_tuple2_string_string_t){lower(text_of("content-type")), lower(text_of("text/plain"))};
        ret->body = (plugin_list_u8_t){(uint8_t *)text_zero(why), why.len};
        return true;
    }
    ret->arrivals.len = 1;
    ret->arrivals.ptr = take(1, sizeof *ret->arrivals.ptr);
    // `content` is what the sender wrote, and nothing else: quotations and attachments have fields of their own.
    ret->arrivals.ptr[0] = (exports_bub_channel_channel_arrival_t){
        .message = {
            .id = {true, lower(message.id)},
            .channel = lower(text_of(name)),
            .chat_id = lower(message.chat),
            .sender = {message.sender.len > 0, lower(message.sender)},
            .content = lower(message.content),
        },
        .active = true,
    };
    return true;
}

// Posts an answer, or logs it where there is no address.
bool exports_bub_channel_channel_send(exports_bub_channel_channel_envelope_t *message, plugin_string_t *key,
                                      plugin_option_string_t *ret, exports_bub_channel_channel_error_t *err) {
    *ret = (plugin_option_string_t){0};
    text chat = lift(message->chat_id), content = lift(message->content);
    json url;
    if (!config_get("url", &url)) {
        buffer line = {0};
        put_format(&line, "to chat `%.*s`: %.*s", TEXT(chat), TEXT(content));
        plugin_string_t logged = lower(text_from(line));
        bub_plugin_log_log(BUB_PLUGIN_LOG_LEVEL_INFO, &logged);
        return true;
    }
    failure error;
    return post(web_send, url.string, lift(*key), chat, content, &error) || lower_failure(error, err);
}

// Is not called: messages are posted.
bool exports_bub_channel_channel_poll(exports_bub_channel_channel_json_t *cursor, exports_bub_channel_channel_inbox_t *ret,
                                      exports_bub_channel_channel_error_t *err) {
    (void)cursor, (void)ret;
    return lower_failure((failure){UNKNOWN, text_of("this channel does not poll")}, err);
}

// Is not called: what was sent stays.
bool exports_bub_channel_channel_update(plugin_string_t *handle, exports_bub_channel_channel_envelope_t *message,
                                        exports_bub_channel_channel_error_t *err) {
    (void)handle, (void)message;
    return lower_failure((failure){UNKNOWN, text_of("this channel does not edit")}, err);
}
