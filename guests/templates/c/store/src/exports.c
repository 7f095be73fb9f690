// The plugin's exports for `bub:tape/store`. The names are those of `bindings/plugin.h`.
#include "guest.h"
#include "store.h"

// In the workspace, which is the current directory.
static const char folder[] = "{{name}}-tapes";

// Without its grant a directory is silently absent.
static bool granted(exports_bub_tape_store_error_t *err) {
    plugin_string_t grant = lower(text_of("fs:<workspace>:rw"));
    return bub_plugin_config_granted(&grant, err);
}

static entries lift_entries(exports_bub_tape_store_list_entry_t from) {
    entries lifted = {take(from.len, sizeof(entry)), from.len};
    for (size_t index = 0; index < from.len; index++) {
        exports_bub_tape_store_entry_t *it = &from.ptr[index];
        lifted.ptr[index] = (entry){it->id, lift(it->kind), lift(it->payload), lift(it->meta), lift(it->date)};
    }
    return lifted;
}

static exports_bub_tape_store_entry_t lower_entry(entry it) {
    return (exports_bub_tape_store_entry_t){it.id, lower(it.kind), lower(it.payload), lower(it.meta), lower(it.date)};
}

static bool lower_page(entries found, bool more, exports_bub_tape_store_page_t *ret) {
    *ret = (exports_bub_tape_store_page_t){
        .entries = {take(found.len, sizeof *ret->entries.ptr), found.len},
        .more = more,
    };
    for (size_t index = 0; index < found.len; index++) {
        ret->entries.ptr[index] = lower_entry(found.ptr[index]);
    }
    return true;
}

static bool lower_names(names found, plugin_list_string_t *ret) {
    *ret = (plugin_list_string_t){take(found.len, sizeof *ret->ptr), found.len};
    for (size_t index = 0; index < found.len; index++) {
        ret->ptr[index] = lower(found.ptr[index]);
    }
    return true;
}

// Writes all batches or none.
bool exports_bub_tape_store_commit(exports_bub_tape_store_list_batch_t *batches, plugin_string_t *maybe_key,
                                   exports_bub_tape_store_outcome_t *ret, exports_bub_tape_store_error_t *err) {
    if (!granted(err)) {
        return false;
    }
    batch *given = take(batches->len, sizeof *given);
    text *archives = take(batches->len, sizeof *archives);
    for (size_t index = 0; index < batches->len; index++) {
        exports_bub_tape_store_batch_t *from = &batches->ptr[index];
        given[index] = (batch){
            .tape = lift(from->tape),
            .has_last = from->last.is_some,
            .last = from->last.val,
            .is_reset = from->reset.is_some,
            .added = lift_entries(from->entries),
        };
        if (from->reset.is_some) {
            given[index].kept = lift_entries(from->reset.val.kept);
            if (from->reset.val.archive.is_some) {
                archives[index] = lift(from->reset.val.archive.val);
                given[index].archive = &archives[index];
            }
        }
    }
    text key = maybe_key ? lift(*maybe_key) : text_of("");
    uint64_t *lasts = take(batches->len, sizeof *lasts);
    outcome result;
    failure error;
    if (!store_commit(folder, given, batches->len, maybe_key ? &key : NULL, &result, lasts, &error)) {
        return lower_failure(error, err);
    }
    switch (result) {
    case STORED:
        ret->tag = EXPORTS_BUB_TAPE_STORE_OUTCOME_STORED;
        break;
    case ALREADY:
        ret->tag = EXPORTS_BUB_TAPE_STORE_OUTCOME_ALREADY;
        break;
    case CONFLICTING:
        ret->tag = EXPORTS_BUB_TAPE_STORE_OUTCOME_CONFLICT;
        ret->val.conflict = (plugin_list_u64_t){lasts, batches->len};
        break;
    }
    return true;
}

// Reads the entries after an id.
bool exports_bub_tape_store_read(plugin_string_t *tape, uint64_t after, uint32_t max, exports_bub_tape_store_page_t *ret,
                                 exports_bub_tape_store_error_t *err) {
    entries found;
    bool more;
    failure error;
    if (!granted(err)) {
        return false;
    }
    return store_read(folder, lift(*tape), after, max, &found, &more, &error) ? lower_page(found, more, ret)
                                                                              : lower_failure(error, err);
}

// Reads the last entries before an id.
bool exports_bub_tape_store_tail(plugin_string_t *tape, uint64_t *maybe_before, uint32_t max,
                                 exports_bub_tape_store_page_t *ret, exports_bub_tape_store_error_t *err) {
    entries found;
    bool more;
    failure error;
    if (!granted(err)) {
        return false;
    }
    return store_tail(folder, lift(*tape), maybe_before, max, &found, &more, &error) ? lower_page(found, more, ret)
                                                                                     : lower_failure(error, err);
}

// Finds the last entry that fits.
bool exports_bub_tape_store_newest(plugin_string_t *tape, exports_bub_tape_store_lookup_t *from, uint64_t *maybe_before,
                                   exports_bub_tape_store_option_entry_t *ret, exports_bub_tape_store_error_t *err) {
    if (!granted(err)) {
        return false;
    }
    lookup wanted = {.what = PHASE};
    if (from->tag == EXPORTS_BUB_TAPE_STORE_LOOKUP_KIND) {
        wanted = (lookup){.what = OF_KIND, .kind = lift(from->val.kind)};
    } else if (from->tag == EXPORTS_BUB_TAPE_STORE_LOOKUP_NAMED) {
        wanted = (lookup){.what = NAMED, .kind = lift(from->val.named.f0), .name = lift(from->val.named.f1)};
    }
    entries found;
    failure error;
    if (!store_newest(folder, lift(*tape), wanted, maybe_before, &found, &error)) {
        return lower_failure(error, err);
    }
    *ret = (exports_bub_tape_store_option_entry_t){.is_some = found.len > 0};
    if (found.len > 0) {
        ret->val = lower_entry(found.ptr[0]);
    }
    return true;
}

// Lists the tapes after one of them.
bool exports_bub_tape_store_list_tapes(plugin_string_t *maybe_after, uint32_t max, plugin_list_string_t *ret,
                                       exports_bub_tape_store_error_t *err) {
    names found;
    failure error;
    if (!granted(err)) {
        return false;
    }
    text after = maybe_after ? lift(*maybe_after) : text_of("");
    return store_tapes(folder, after, max, &found, &error) ? lower_names(found, ret) : lower_failure(error, err);
}

// Lists the sidecars of a tape after one of them.
bool exports_bub_tape_store_list_sidecars(plugin_string_t *tape, plugin_string_t *maybe_after, uint32_t max,
                                          plugin_list_string_t *ret, exports_bub_tape_store_error_t *err) {
    names found;
    failure error;
    if (!granted(err)) {
        return false;
    }
    text after = maybe_after ? lift(*maybe_after) : text_of("");
    return store_sidecars(folder, lift(*tape), after, max, &found, &error) ? lower_names(found, ret)
                                                                           : lower_failure(error, err);
}

// The name that an archive of the tape would get.
bool exports_bub_tape_store_archive_name(plugin_string_t *tape, plugin_option_string_t *ret,
                                         exports_bub_tape_store_error_t *err) {
    text found;
    failure error;
    if (!granted(err)) {
        return false;
    }
    if (!store_archive_name(folder, lift(*tape), &found, &error)) {
        return lower_failure(error, err);
    }
    *ret = (plugin_option_string_t){.is_some = found.len > 0};
    if (found.len > 0) {
        ret->val = lower(found);
    }
    return true;
}
