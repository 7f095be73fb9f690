#include "gate.h"
#include "test.h"

static text found(const char *blocked, const char *arguments) {
    json read;
    CHECK(json_read(text_of(blocked), &read));
    return blocked_in(&read, text_of(arguments));
}

static void a_blocked_text_is_found_wherever_it_stands(void) {
    SAME(found(defaults, "{\"cmd\":\"SUDO ls\"}"), "sudo ");
    SAME(found(defaults, "{\"cmd\":[\"sh\",{\"c\":\"\\u0073udo ls\"}]}"), "sudo ");
    SAME(found(defaults, "sudo ls"), "sudo ");
}

static void other_calls_proceed(void) { SAME(found("[\"curl\"]", "{\"cmd\":\"sudo ls\"}"), ""); }

int main(void) {
    a_blocked_text_is_found_wherever_it_stands();
    other_calls_proceed();
    puts("passed");
}
