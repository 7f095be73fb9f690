// Native tests: `CHECK` in functions that `main` calls.
#ifndef BUB_TEST_H
#define BUB_TEST_H

#include "text.h"

#include <stdio.h>
#include <stdlib.h>

// Ends the tests if it is not true.
#define CHECK(it)                                                                                                              \
    do {                                                                                                                       \
        if (!(it)) {                                                                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #it);                                                 \
            exit(1);                                                                                                           \
        }                                                                                                                      \
    } while (0)

// Ends the tests if the texts differ.
#define SAME(it, expected)                                                                                                     \
    do {                                                                                                                       \
        text found_ = (it);                                                                                                     \
        if (!text_is(found_, text_of(expected))) {                                                                              \
            fprintf(stderr, "%s:%d: %.*s\nexpected: %s\n", __FILE__, __LINE__, TEXT(found_), expected);                         \
            exit(1);                                                                                                           \
        }                                                                                                                      \
    } while (0)

#endif
