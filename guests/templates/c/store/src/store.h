// Keeps tapes: each tape with its sidecars is one file of JSON in a folder.
#ifndef STORE_H
#define STORE_H

#include "tape.h"

// A part of a write: entries of one tape, which apply with those of the others or not at all.
typedef struct {
    text tape;
    // The id that the tape's last entry must have, if `has_last`.
    bool has_last;
    uint64_t last;
    // Empty the tape first, and keep what it had under the name of an archive, unless that is NULL.
    bool is_reset;
    const text *archive;
    entries kept;
    entries added;
} batch;

typedef enum { STORED, ALREADY, CONFLICTING } outcome;

// Applies a write once, if each tape ends where the writer thinks. All batches belong to one tape and its sidecars. `key` is
// NULL if there is none; `lasts` gets the last ids of the tapes, one for each batch.
bool store_commit(const char *folder, const batch *batches, size_t len, const text *key, outcome *result, uint64_t *lasts,
                  failure *error);

// Reads the entries after an id, and says whether there are more.
bool store_read(const char *folder, text tape, uint64_t after, size_t most, entries *found, bool *more, failure *error);

// Reads the last entries before an id; before the end if it is NULL.
bool store_tail(const char *folder, text tape, const uint64_t *before, size_t most, entries *found, bool *more,
                failure *error);

// What an entry has to be: of a kind, of a kind with a name in its payload, or an anchor of the conversation.
typedef struct {
    enum { OF_KIND, NAMED, PHASE } what;
    text kind, name;
} lookup;

// Finds the last entry before an id that fits; `found` is empty if there is none.
bool store_newest(const char *folder, text tape, lookup wanted, const uint64_t *before, entries *found, failure *error);

typedef struct {
    text *ptr;
    size_t len;
} names;

// Lists the names of the tapes after one of them, in byte order.
bool store_tapes(const char *folder, text after, size_t most, names *found, failure *error);

// Lists the sidecars of a tape after one of them, in byte order.
bool store_sidecars(const char *folder, text tape, text after, size_t most, names *found, failure *error);

// The name that an archive of the tape would get; empty if there is no such tape.
bool store_archive_name(const char *folder, text tape, text *found, failure *error);

#endif
