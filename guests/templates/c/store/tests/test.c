#define _POSIX_C_SOURCE 200809L

#include "store.h"
#include "test.h"

#define TAPE "a__b"
#define SIDECAR "a__b__sidecar__notes"

static entry made(uint64_t id, const char *kind, const char *payload) {
    return (entry){id, text_of(kind), text_of(payload), text_of("{}"), text_of("2026-01-02T03:04:05Z")};
}

static const char *new_folder(void) {
    char *folder = text_zero(text_of("/tmp/tapes-XXXXXX"));
    CHECK(mkdtemp(folder));
    return folder;
}

static outcome commit(const char *folder, batch one, const char *key) {
    text named = text_of(key ? key : "");
    uint64_t last;
    outcome result;
    failure error;
    CHECK(store_commit(folder, &one, 1, key ? &named : NULL, &result, &last, &error));
    CHECK(result != CONFLICTING || last == 2);
    return result;
}

static void a_write_is_read_again_and_applied_once(void) {
    const char *folder = new_folder();
    entry two[] = {made(1, "anchor", "{\"name\":\"ü\"}"), made(2, "event", "{}")};
    batch one = {.tape = text_of(TAPE), .has_last = true, .added = {two, 2}};
    CHECK(commit(folder, one, "k") == STORED);
    CHECK(commit(folder, one, "k") == ALREADY);
    CHECK(commit(folder, one, "l") == CONFLICTING);

    entries found;
    bool more;
    names tapes;
    failure error;
    CHECK(store_read(folder, text_of(TAPE), 1, 9, &found, &more, &error) && !more && found.len == 1 && found.ptr[0].id == 2);
    CHECK(store_tail(folder, text_of(TAPE), NULL, 1, &found, &more, &error) && more && found.ptr[0].id == 2);
    CHECK(store_newest(folder, text_of(TAPE), (lookup){.what = PHASE}, NULL, &found, &error) && found.len == 1);
    SAME(found.ptr[0].payload, "{\"name\":\"ü\"}");
    CHECK(store_tapes(folder, text_of(""), 9, &tapes, &error) && tapes.len == 1);
    SAME(tapes.ptr[0], TAPE);
}

static void a_reset_empties_the_sidecars_and_keeps_an_archive(void) {
    const char *folder = new_folder();
    entry first = made(1, "event", "{}"), second = made(2, "event", "{}");
    CHECK(commit(folder, (batch){.tape = text_of(TAPE), .added = {&first, 1}}, NULL) == STORED);
    CHECK(commit(folder, (batch){.tape = text_of(SIDECAR), .added = {&first, 1}}, NULL) == STORED);
    names sidecars;
    text archive;
    failure error;
    CHECK(store_sidecars(folder, text_of(TAPE), text_of(""), 9, &sidecars, &error) && sidecars.len == 1);
    SAME(sidecars.ptr[0], SIDECAR);
    CHECK(store_archive_name(folder, text_of(TAPE), &archive, &error));
    SAME(archive, TAPE ARCHIVE "1");

    batch reset = {.tape = text_of(TAPE), .has_last = true, .last = 1, .is_reset = true, .archive = &archive, .kept = {&second, 1}};
    CHECK(commit(folder, reset, NULL) == STORED);
    entries found;
    bool more;
    CHECK(store_sidecars(folder, text_of(TAPE), text_of(""), 9, &sidecars, &error) && sidecars.len == 0);
    CHECK(store_read(folder, archive, 0, 9, &found, &more, &error) && found.len == 2);
    CHECK(store_read(folder, text_of(TAPE), 0, 9, &found, &more, &error) && found.len == 0);
}

int main(void) {
    a_write_is_read_again_and_applied_once();
    a_reset_empties_the_sidecars_and_keeps_an_archive();
    puts("passed");
}
