// Selects the last exchanges of a conversation. It reads the tape from its end, so its cost does not depend on the length.
#ifndef SELECTOR_H
#define SELECTOR_H

#include "fail.h"

#include <stdint.h>

// The table `[plugins.{{name}}.config]`.
typedef struct {
    double turns;
} settings;

extern const settings defaults;

// What is needed of an entry of the tape.
typedef struct {
    uint64_t id;
    text kind, payload;
} entry;

typedef struct {
    entry *ptr;
    size_t len;
} entries;

// Reads the entries before an id, oldest first; before the end if it is 0. `from` is what the reader needs.
typedef bool tail(void *from, uint64_t before, entries *page, failure *error);

// The ids of the entries, oldest first, and how many exchanges they make.
typedef struct {
    uint64_t *ids;
    size_t len, turns;
} selection;

// Takes the last exchanges. `start` is where the current turn begins.
bool take_last(settings set, uint64_t start, tail *read, void *from, selection *selected, failure *error);

#endif
