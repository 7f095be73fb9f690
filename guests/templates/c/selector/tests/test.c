#include "selector.h"
#include "test.h"

// A tape of exchanges of three entries each, read in pages of four.
static bool read_tape(void *from, uint64_t before, entries *page, failure *error) {
    (void)error;
    entries *tape = from;
    size_t end = before ? before - 1 : tape->len, start = end > 4 ? end - 4 : 0;
    *page = (entries){tape->ptr + start, end - start};
    return true;
}

static void the_last_exchanges_are_selected_whole(void) {
    entry all[27];
    for (uint64_t id = 1; id <= 27; id++) {
        bool is_start = id % 3 == 1;
        all[id - 1] = (entry){id, text_of(is_start ? "event" : "message"), text_of(is_start ? "{\"name\":\"loop.start\"}" : "{}")};
    }
    entries tape = {all, 27};
    selection selected;
    failure error;
    CHECK(take_last((settings){.turns = 2}, 25, read_tape, &tape, &selected, &error));
    CHECK(selected.turns == 2 && selected.len == 6 && selected.ids[0] == 22 && selected.ids[5] == 27);
    CHECK(take_last((settings){.turns = 99}, 25, read_tape, &tape, &selected, &error));
    CHECK(selected.turns == 9 && selected.len == 27 && selected.ids[0] == 1);
}

static bool read_nothing(void *from, uint64_t before, entries *page, failure *error) {
    (void)from, (void)before, (void)page;
    return fail(error, DENIED, "no");
}

static void a_tape_that_cannot_be_read_is_an_error(void) {
    selection selected;
    failure error;
    CHECK(!take_last(defaults, 25, read_nothing, NULL, &selected, &error) && error.kind == DENIED);
}

int main(void) {
    the_last_exchanges_are_selected_whole();
    a_tape_that_cannot_be_read_is_an_error();
    puts("passed");
}
