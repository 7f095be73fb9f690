#include "test.h"
#include "tool.h"

static void words_are_counted_with_the_time_to_read_them(void) {
    settings set = {.words_per_minute = 60};
    text result;
    failure error;
    CHECK(count(set, text_of("{\"text\":\"to be\\nor not  to be\"}"), &result, &error));
    SAME(result, "{\"count\":6,\"unit\":\"words\",\"minutes\":0.1}");
}

static void lines_and_characters_are_counted(void) {
    text result;
    failure error;
    CHECK(count(defaults, text_of("{\"text\":\"d\\u00f6\\nde\",\"unit\":\"lines\"}"), &result, &error));
    SAME(result, "{\"count\":2,\"unit\":\"lines\"}");
    CHECK(count(defaults, text_of("{\"text\":\"dö\\nde\",\"unit\":\"characters\"}"), &result, &error));
    SAME(result, "{\"count\":5,\"unit\":\"characters\"}");
}

static void arguments_without_a_text_are_refused(void) {
    text result;
    failure error;
    CHECK(!count(defaults, text_of("{\"unit\":\"lines\"}"), &result, &error) && error.kind == INVALID_INPUT);
    CHECK(!count(defaults, text_of("{\"text\":\"a\"} b"), &result, &error));
}

int main(void) {
    words_are_counted_with_the_time_to_read_them();
    lines_and_characters_are_counted();
    arguments_without_a_text_are_refused();
    puts("passed");
}
