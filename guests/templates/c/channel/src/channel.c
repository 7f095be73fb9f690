#include "channel.h"
#include "json.h"

const char name[] = "{{name}}";

// Whether the object has texts under these keys, and no others.
static bool is_posted(const json *body) {
    static const char *const keys[] = {"id", "text", "chat", "sender"};
    if (body->kind != JSON_OBJECT) {
        return false;
    }
    for (size_t index = 0; index < body->len; index++) {
        bool is_known = false;
        for (size_t key = 0; key < sizeof keys / sizeof *keys; key++) {
            is_known = is_known || text_is(body->keys[index], text_of(keys[key]));
        }
        if (!is_known || body->items[index].kind != JSON_STRING) {
            return false;
        }
    }
    return json_text(body, "id").len > 0 && json_text(body, "text").len > 0;
}

int receive(text method, text body, posted *into, text *why) {
    if (!text_is(method, text_of("POST"))) {
        *why = text_of("messages are posted");
        return 405;
    }
    json read;
    if (!json_read(body, &read) || !is_posted(&read)) {
        *why = text_of("the body is a JSON object with `id` and `text`, and optionally `chat` and `sender`");
        return 400;
    }
    *into = (posted){
        .id = json_text(&read, "id"),
        .content = json_text(&read, "text"),
        .chat = json_text(&read, "chat"),
        .sender = json_text(&read, "sender"),
    };
    return 202;
}

bool post(web_sender *send, text url, text key, text chat, text content, failure *error) {
    buffer answer = {0};
    put(&answer, text_of("{\"chat\":"));
    json_put(&answer, chat);
    put(&answer, text_of(",\"text\":"));
    json_put(&answer, content);
    put(&answer, text_of("}"));
    const web_header headers[] = {
        {text_of("content-type"), text_of("application/json")},
        {text_of("idempotency-key"), key},
    };
    web_request request = {text_of("POST"), url, headers, 2, text_from(answer)};
    int status;
    text body;
    // The host tries again after a temporary error, which is what a busy server makes.
    return send(&request, &status, &body, error) && fail_status(error, url, status);
}
