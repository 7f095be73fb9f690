#include "provider.h"
#include "test.h"

static text said(const char *answers, const char *message) {
    json table;
    text one = text_of(message), into;
    failure error;
    CHECK(json_read(text_of(answers), &table) && answer(&table, text_of(model), &one, 1, &into, &error));
    return into;
}

static void a_known_question_has_its_answer_and_another_one_is_repeated(void) {
    SAME(said("{\"ping\":\"pong\"}", "{\"role\":\"user\",\"content\":\"a date\\nping\"}"), "pong");
    SAME(said("{}", "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"how are you\"}]}"), "You said: how are you");
}

static void an_answer_is_sent_by_words(void) {
    CHECK(piece(text_of("You said")) == 4);
    CHECK(piece(text_of("said")) == 4);
}

static void an_unknown_model_is_named(void) {
    json none = {0};
    text into;
    failure error;
    CHECK(!answer(&none, text_of("large"), NULL, 0, &into, &error) && error.kind == CONFIG);
    SAME(error.message, "provider `{{name}}` has the one model `canned`, not `large`");
}

int main(void) {
    a_known_question_has_its_answer_and_another_one_is_repeated();
    an_answer_is_sent_by_words();
    an_unknown_model_is_named();
    puts("passed");
}
