// The plugin's exports for `bub:context/selector`. The names are those of `bindings/plugin.h`.
#include "guest.h"
#include "selector.h"

// Entries that are read at once.
#define PAGE 64

static bool read_view(void *from, uint64_t before, entries *page, failure *error) {
    bub_context_view_borrow_view_t *view = from;
    bub_context_view_list_entry_t read;
    bub_context_view_error_t failed;
    if (!bub_context_view_method_view_tail(*view, before ? &before : NULL, PAGE, &read, &failed)) {
        return lift_failure(failed, error);
    }
    *page = (entries){take(read.len, sizeof(entry)), read.len};
    for (size_t index = 0; index < read.len; index++) {
        page->ptr[index] = (entry){read.ptr[index].id, lift(read.ptr[index].kind), lift(read.ptr[index].payload)};
    }
    return true;
}

// Names the entries that the model sees; the host renders them.
bool exports_bub_context_selector_select(exports_bub_context_selector_own_view_t own,
                                         exports_bub_context_selector_selected_t *ret,
                                         exports_bub_context_selector_error_t *err) {
    bub_context_view_borrow_view_t view = bub_context_view_borrow_view(own);
    settings set = defaults;
    json given;
    if (config_get("turns", &given)) {
        set.turns = given.number;
    }
    selection taken;
    failure error;
    if (!take_last(set, bub_context_view_method_view_turn_start_id(view), read_view, &view, &taken, &error)) {
        return lower_failure(error, err);
    }
    exports_bub_context_selector_part_t *parts = take(taken.len, sizeof *parts);
    for (size_t index = 0; index < taken.len; index++) {
        parts[index].tag = EXPORTS_BUB_CONTEXT_SELECTOR_PART_ENTRY;
        parts[index].val.entry = taken.ids[index];
    }
    // `bub-wasm tape` shows the notes.
    buffer notes = {0};
    put_format(&notes, "{\"turns\":%zu,\"entries\":%zu}", taken.turns, taken.len);
    *ret = (exports_bub_context_selector_selected_t){
        .history = {.ptr = parts, .len = taken.len},
        .notes = lower(text_from(notes)),
    };
    return true;
}
