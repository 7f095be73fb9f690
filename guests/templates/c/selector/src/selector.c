#include "selector.h"
#include "json.h"

#include <string.h>

const settings defaults = {.turns = 20};

static bool begins(const entry *it) {
    json payload;
    return text_is(it->kind, text_of("event")) && json_read(it->payload, &payload) &&
           text_is(json_text(&payload, "name"), text_of("loop.start"));
}

static void add(selection *to, size_t *room, uint64_t id) {
    if (to->len == *room) {
        *room = *room ? *room * 2 : 64;
        uint64_t *ids = take(*room, sizeof *ids);
        if (to->len) {
            memcpy(ids, to->ids, to->len * sizeof *ids);
        }
        to->ids = ids;
    }
    to->ids[to->len++] = id;
}

bool take_last(settings set, uint64_t start, tail *read, void *from, selection *selected, failure *error) {
    *selected = (selection){0};
    size_t room = 0;
    uint64_t before = 0;
    entries page;
    while (selected->turns < set.turns) {
        if (!read(from, before, &page, error)) {
            return false;
        }
        if (page.len == 0) {
            break;
        }
        // An exchange begins with the event `loop.start`, so that none is cut in half. The current turn is selected whole: its
        // calls and their results are what the model goes on with.
        for (size_t left = page.len; left > 0 && selected->turns < set.turns; left--) {
            const entry *it = &page.ptr[left - 1];
            add(selected, &room, it->id);
            selected->turns += it->id <= start && begins(it);
        }
        before = page.ptr[0].id;
    }
    for (size_t index = 0; index < selected->len / 2; index++) {
        uint64_t *one = &selected->ids[index], *other = &selected->ids[selected->len - 1 - index], kept = *one;
        *one = *other;
        *other = kept;
    }
    return true;
}
