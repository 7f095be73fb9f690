// A tape with its sidecars and archives, which is one file of JSON.
#ifndef TAPE_H
#define TAPE_H

#include "fail.h"

#include <stdint.h>

// An entry of a tape. `payload` and `meta` are JSON.
typedef struct {
    uint64_t id;
    text kind, payload, meta, date;
} entry;

typedef struct {
    entry *ptr;
    size_t len;
} entries;

typedef struct {
    text name;
    entries content;
} tape;

// The content of a file. `key` is that of the last write that had one: the same write is applied once.
typedef struct {
    bool has_key;
    text key;
    tape *tapes;
    size_t len;
} family;

// What is between the name of a tape and the number of its archive.
#define ARCHIVE ".jsonl."

// The tape that a sidecar or an archive belongs to; any other tape itself.
text family_of(text name);

// Reads a file. The family is empty if there is none.
bool family_read(const char *folder, text name, family *into, failure *error);

// Writes a file. Readers see all of it or nothing: it is complete before it gets its name.
bool family_write(const char *folder, text name, const family *from, failure *error);

// The tape of that name; NULL if there is none.
tape *family_find(const family *in, text name);

// Appends to a tape, which is made if it is not there.
void family_append(family *in, text name, entries more);

// Empties a tape, and with the tape of the family its sidecars. An archive keeps its entries and those of `kept`; none does
// if `archive` is NULL.
void family_reset(family *in, text of, text name, const text *archive, entries kept);

// The name itself, or with a number if it is taken.
text family_free(const family *in, text wanted);

#endif
