#include "prompt.h"
#include "test.h"

static text part_of(const char *rules) {
    json read;
    CHECK(json_read(text_of(rules), &read));
    return part(&read);
}

static void the_rules_are_a_part_of_the_system_prompt(void) {
    SAME(part_of("[\"one\", \"two\"]"), "Follow these rules:\n- one\n- two");
    SAME(part_of(defaults), "Follow these rules:\n- Answer in plain English.");
}

static void without_rules_there_is_no_part(void) { SAME(part_of("[]"), ""); }

int main(void) {
    the_rules_are_a_part_of_the_system_prompt();
    without_rules_there_is_no_part();
    puts("passed");
}
