// Errors with a kind. A function that can fail returns whether it did not, like the generated bindings.
#ifndef BUB_FAIL_H
#define BUB_FAIL_H

#include "text.h"

// The kinds, in the order of the contract.
typedef enum {
    INVALID_INPUT,
    CONFIG,
    PROVIDER,
    CONTEXT_LENGTH,
    TOOL,
    TEMPORARY,
    NOT_FOUND,
    DENIED,
    CONFLICT,
    CANCELLED,
    UNKNOWN,
} fail_kind;

typedef struct {
    fail_kind kind;
    text message;
} failure;

// Fills in the error, and returns false.
__attribute__((format(printf, 3, 4))) bool fail(failure *into, fail_kind kind, const char *format, ...);

// Checks an HTTP status: true if it is a success. `what` names the request.
bool fail_status(failure *into, text what, int status);

#endif
