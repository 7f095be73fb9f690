#include "channel.h"
#include "test.h"

static void a_posted_message_arrives(void) {
    posted message;
    text why;
    CHECK(receive(text_of("POST"), text_of("{\"id\":\"1\",\"text\":\"hi\",\"chat\":\"a\"}"), &message, &why) == 202);
    SAME(message.id, "1");
    SAME(message.content, "hi");
    SAME(message.chat, "a");
    SAME(message.sender, "");
}

static void other_requests_are_refused(void) {
    static const char *const bodies[] = {"hi", "{}", "{\"id\":\"1\"}", "{\"id\":1,\"text\":\"hi\"}"};
    posted message;
    text why;
    for (size_t index = 0; index < sizeof bodies / sizeof *bodies; index++) {
        CHECK(receive(text_of("POST"), text_of(bodies[index]), &message, &why) == 400);
    }
    CHECK(receive(text_of("GET"), text_of(""), &message, &why) == 405);
}

// A server that is busy.
static bool busy(const web_request *request, int *status, text *body, failure *error) {
    (void)error;
    SAME(request->address, "https://example.com/answers");
    SAME(request->headers[1].name, "idempotency-key");
    SAME(request->headers[1].value, "k");
    SAME(request->body, "{\"chat\":\"a\",\"text\":\"say \\\"hi\\\"\"}");
    *status = 503;
    *body = text_of("");
    return true;
}

static void an_answer_is_posted_and_a_busy_server_is_asked_again(void) {
    text url = text_of("https://example.com/answers");
    failure error;
    CHECK(!post(busy, url, text_of("k"), text_of("a"), text_of("say \"hi\""), &error) && error.kind == TEMPORARY);
}

int main(void) {
    a_posted_message_arrives();
    other_requests_are_refused();
    an_answer_is_posted_and_a_busy_server_is_asked_again();
    puts("passed");
}
