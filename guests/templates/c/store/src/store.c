#define _POSIX_C_SOURCE 200809L

#include "store.h"
#include "json.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t last_of(const family *in, text name) {
    const tape *found = family_find(in, name);
    return found && found->content.len ? found->content.ptr[found->content.len - 1].id : 0;
}

bool store_commit(const char *folder, const batch *batches, size_t len, const text *key, outcome *result, uint64_t *lasts,
                  failure *error) {
    *result = STORED;
    if (len == 0) {
        return true;
    }
    text name = family_of(batches[0].tape);
    family all;
    if (!family_read(folder, name, &all, error)) {
        return false;
    }
    if (key && all.has_key && text_is(*key, all.key)) {
        *result = ALREADY;
        return true;
    }
    for (size_t index = 0; index < len; index++) {
        lasts[index] = last_of(&all, batches[index].tape);
        if (batches[index].has_last && batches[index].last != lasts[index]) {
            *result = CONFLICTING;
        }
    }
    if (*result == CONFLICTING) {
        return true;
    }
    // The resets of all batches come first.
    for (size_t index = 0; index < len; index++) {
        if (batches[index].is_reset) {
            family_reset(&all, name, batches[index].tape, batches[index].archive, batches[index].kept);
        }
    }
    for (size_t index = 0; index < len; index++) {
        if (batches[index].added.len > 0) {
            family_append(&all, batches[index].tape, batches[index].added);
        }
    }
    if (key) {
        all.has_key = true;
        all.key = *key;
    }
    return family_write(folder, name, &all, error);
}

static bool content(const char *folder, text name, entries *into, failure *error) {
    family all;
    if (!family_read(folder, family_of(name), &all, error)) {
        return false;
    }
    const tape *found = family_find(&all, name);
    *into = found ? found->content : (entries){0};
    return true;
}

bool store_read(const char *folder, text tape, uint64_t after, size_t most, entries *found, bool *more, failure *error) {
    entries all;
    if (!content(folder, tape, &all, error)) {
        return false;
    }
    size_t start = 0;
    while (start < all.len && all.ptr[start].id <= after) {
        start++;
    }
    size_t len = all.len - start < most ? all.len - start : most;
    *found = (entries){all.ptr + start, len};
    *more = start + len < all.len;
    return true;
}

// How many entries are before an id.
static size_t count_before(entries all, const uint64_t *before) {
    size_t end = all.len;
    while (before && end > 0 && all.ptr[end - 1].id >= *before) {
        end--;
    }
    return end;
}

bool store_tail(const char *folder, text tape, const uint64_t *before, size_t most, entries *found, bool *more,
                failure *error) {
    entries all;
    if (!content(folder, tape, &all, error)) {
        return false;
    }
    size_t end = count_before(all, before), start = end > most ? end - most : 0;
    *found = (entries){all.ptr + start, end - start};
    *more = start > 0;
    return true;
}

static bool fits(const entry *it, lookup wanted) {
    json payload, meta;
    text name = json_read(it->payload, &payload) ? json_text(&payload, "name") : text_of("");
    switch (wanted.what) {
    case OF_KIND:
        return text_is(it->kind, wanted.kind);
    case NAMED:
        return text_is(it->kind, wanted.kind) && text_is(name, wanted.name);
    default: {
        // A plugin's own section of the tape is no phase of the conversation.
        const json *zone = json_read(it->meta, &meta) ? json_get(&meta, "zone") : NULL;
        return text_is(it->kind, text_of("anchor")) && !(zone && zone->truth) &&
               !text_is(name, text_of("memory/open")) && !text_is(name, text_of("memory/seal"));
    }
    }
}

bool store_newest(const char *folder, text tape, lookup wanted, const uint64_t *before, entries *found, failure *error) {
    entries all;
    if (!content(folder, tape, &all, error)) {
        return false;
    }
    *found = (entries){0};
    for (size_t left = count_before(all, before); left > 0 && found->len == 0; left--) {
        if (fits(&all.ptr[left - 1], wanted)) {
            *found = (entries){&all.ptr[left - 1], 1};
        }
    }
    return true;
}

static int order(const void *one, const void *other) {
    const text *a = one, *b = other;
    int differs = memcmp(a->ptr, b->ptr, a->len < b->len ? a->len : b->len);
    return differs ? differs : (a->len > b->len) - (a->len < b->len);
}

static void add_name(names *to, text name, text after) {
    if (order(&name, &after) <= 0) {
        return;
    }
    text *ptr = take(to->len + 1, sizeof *ptr);
    if (to->len) {
        memcpy(ptr, to->ptr, to->len * sizeof *ptr);
    }
    ptr[to->len] = name;
    free(to->ptr);
    *to = (names){ptr, to->len + 1};
}

static void page(names *of, size_t most) {
    if (of->len) {
        qsort(of->ptr, of->len, sizeof *of->ptr, order);
    }
    of->len = of->len < most ? of->len : most;
}

// Whether it is `WORKSPACE__SESSION`, as the names of tapes are.
static bool is_tape(text name) {
    int marks = 0;
    for (size_t at = 0; at + 1 < name.len; at++) {
        if (name.ptr[at] == '_' && name.ptr[at + 1] == '_') {
            marks++;
            at++;
        }
    }
    return marks == 1;
}

bool store_tapes(const char *folder, text after, size_t most, names *found, failure *error) {
    *found = (names){0};
    DIR *open = opendir(folder);
    if (!open) {
        return errno == ENOENT || fail(error, UNKNOWN, "`%s`: %s", folder, strerror(errno));
    }
    text end = text_of(".json");
    for (struct dirent *file; (file = readdir(open));) {
        text name = text_of(text_zero(text_of(file->d_name)));
        if (name.len > end.len && memcmp(name.ptr + name.len - end.len, end.ptr, end.len) == 0) {
            name.len -= end.len;
            if (is_tape(name)) {
                add_name(found, name, after);
            }
        }
    }
    closedir(open);
    page(found, most);
    return true;
}

bool store_sidecars(const char *folder, text tape, text after, size_t most, names *found, failure *error) {
    family all;
    if (!family_read(folder, family_of(tape), &all, error)) {
        return false;
    }
    *found = (names){0};
    for (size_t index = 0; index < all.len; index++) {
        text name = all.tapes[index].name;
        if (!text_is(name, tape) && !text_has(name, text_of(ARCHIVE))) {
            add_name(found, name, after);
        }
    }
    page(found, most);
    return true;
}

bool store_archive_name(const char *folder, text tape, text *found, failure *error) {
    family all;
    if (!family_read(folder, family_of(tape), &all, error)) {
        return false;
    }
    *found = text_of("");
    if (family_find(&all, tape)) {
        buffer wanted = {0};
        put_format(&wanted, "%.*s" ARCHIVE "1", TEXT(tape));
        *found = family_free(&all, text_from(wanted));
    }
    return true;
}
