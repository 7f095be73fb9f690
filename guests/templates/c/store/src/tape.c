#define _POSIX_C_SOURCE 200809L

#include "tape.h"
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static text before(text whole, const char *mark) {
    size_t len = strlen(mark);
    for (size_t at = 0; at + len <= whole.len; at++) {
        if (memcmp(whole.ptr + at, mark, len) == 0) {
            return (text){whole.ptr, at};
        }
    }
    return whole;
}

text family_of(text name) { return before(before(name, "__sidecar__"), ARCHIVE); }

static char *path(const char *folder, text name, const char *end) {
    buffer whole = {0};
    put_format(&whole, "%s/%.*s%s", folder, TEXT(name), end);
    return text_zero(text_from(whole));
}

static bool fail_file(text name, const char *why, failure *error) {
    return fail(error, UNKNOWN, "the file of tape `%.*s`: %s", TEXT(name), why);
}

static bool parse(text content, family *into) {
    json all;
    if (!json_read(content, &all)) {
        return false;
    }
    const json *key = json_get(&all, "key"), *tapes = json_get(&all, "tapes");
    if (key && key->kind == JSON_STRING) {
        into->has_key = true;
        into->key = key->string;
    }
    for (size_t index = 0; tapes && tapes->kind == JSON_OBJECT && index < tapes->len; index++) {
        const json *list = &tapes->items[index];
        entries read = {take(list->len, sizeof(entry)), list->len};
        for (size_t place = 0; place < list->len; place++) {
            const json *item = &list->items[place], *id = json_get(item, "id");
            if (!id || id->kind != JSON_NUMBER) {
                return false;
            }
            read.ptr[place] = (entry){(uint64_t)id->number, json_text(item, "kind"), json_text(item, "payload"),
                                      json_text(item, "meta"), json_text(item, "date")};
        }
        family_append(into, tapes->keys[index], read);
    }
    return true;
}

bool family_read(const char *folder, text name, family *into, failure *error) {
    *into = (family){0};
    FILE *file = fopen(path(folder, name, ".json"), "rb");
    if (!file) {
        return errno == ENOENT || fail_file(name, strerror(errno), error);
    }
    buffer content = {0};
    static char piece[1 << 16];
    for (size_t len; (len = fread(piece, 1, sizeof piece, file)) > 0;) {
        put(&content, (text){piece, len});
    }
    bool is_read = !ferror(file);
    fclose(file);
    return (is_read && parse(text_from(content), into)) || fail_file(name, "it is damaged", error);
}

static void put_member(buffer *to, const char *key, text value) {
    put_format(to, ",\"%s\":", key);
    json_put(to, value);
}

static text written(const family *from) {
    buffer all = {0};
    put(&all, text_of("{\"key\":"));
    if (from->has_key) {
        json_put(&all, from->key);
    } else {
        put(&all, text_of("null"));
    }
    put(&all, text_of(",\"tapes\":{"));
    for (size_t index = 0; index < from->len; index++) {
        put(&all, text_of(index == 0 ? "" : ","));
        json_put(&all, from->tapes[index].name);
        entries content = from->tapes[index].content;
        put(&all, text_of(":["));
        for (size_t place = 0; place < content.len; place++) {
            entry it = content.ptr[place];
            put_format(&all, "%s{\"id\":%" PRIu64, place == 0 ? "" : ",", it.id);
            put_member(&all, "kind", it.kind);
            put_member(&all, "payload", it.payload);
            put_member(&all, "meta", it.meta);
            put_member(&all, "date", it.date);
            put(&all, text_of("}"));
        }
        put(&all, text_of("]"));
    }
    put(&all, text_of("}}"));
    return text_from(all);
}

bool family_write(const char *folder, text name, const family *from, failure *error) {
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return fail(error, UNKNOWN, "`%s`: %s", folder, strerror(errno));
    }
    char *draft = path(folder, name, ".draft");
    FILE *file = fopen(draft, "wb");
    if (!file) {
        return fail_file(name, strerror(errno), error);
    }
    text all = written(from);
    bool is_written = fwrite(all.ptr, 1, all.len, file) == all.len && fflush(file) == 0 && fsync(fileno(file)) == 0;
    is_written = fclose(file) == 0 && is_written;
    if (!is_written || rename(draft, path(folder, name, ".json")) != 0) {
        return fail_file(name, strerror(errno), error);
    }
    return true;
}

tape *family_find(const family *in, text name) {
    for (size_t index = 0; index < in->len; index++) {
        if (text_is(in->tapes[index].name, name)) {
            return &in->tapes[index];
        }
    }
    return NULL;
}

void family_append(family *in, text name, entries more) {
    tape *found = family_find(in, name);
    if (!found) {
        tape *tapes = take(in->len + 1, sizeof *tapes);
        if (in->len) {
            memcpy(tapes, in->tapes, in->len * sizeof *tapes);
        }
        in->tapes = tapes;
        found = &tapes[in->len++];
        found->name = name;
    }
    entries all = {take(found->content.len + more.len, sizeof(entry)), found->content.len + more.len};
    if (found->content.len) {
        memcpy(all.ptr, found->content.ptr, found->content.len * sizeof(entry));
    }
    if (more.len) {
        memcpy(all.ptr + found->content.len, more.ptr, more.len * sizeof(entry));
    }
    found->content = all;
}

void family_reset(family *in, text of, text name, const text *archive, entries kept) {
    tape *found = family_find(in, name);
    entries old = found ? found->content : (entries){0};
    size_t left = 0;
    for (size_t index = 0; index < in->len; index++) {
        text other = in->tapes[index].name;
        bool is_sidecar = before(other, ARCHIVE).len == other.len && text_is(name, of);
        if (!text_is(other, name) && !is_sidecar) {
            in->tapes[left++] = in->tapes[index];
        }
    }
    in->len = left;
    if (archive) {
        text to = family_free(in, *archive);
        family_append(in, to, old);
        family_append(in, to, kept);
    }
}

text family_free(const family *in, text wanted) {
    text name = wanted;
    for (int number = 2; family_find(in, name); number++) {
        buffer numbered = {0};
        put_format(&numbered, "%.*s.%d", TEXT(wanted), number);
        name = text_from(numbered);
    }
    return name;
}
