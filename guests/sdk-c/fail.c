#include "fail.h"

#include <stdarg.h>
#include <stdio.h>

bool fail(failure *into, fail_kind kind, const char *format, ...) {
    va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    int length = vsnprintf(NULL, 0, format, values);
    char *message = take(length + 1, 1);
    vsnprintf(message, length + 1, format, again);
    va_end(again);
    va_end(values);
    *into = (failure){kind, {message, length}};
    return false;
}

bool fail_status(failure *into, text what, int status) {
    bool is_busy = status == 408 || status == 425 || status == 429 || status >= 500;
    fail_kind kind = status == 404 || status == 410 ? NOT_FOUND : is_busy ? TEMPORARY : UNKNOWN;
    return (status >= 200 && status < 300) ||
           fail(into, kind, "%.*s: the server answered with status %d", TEXT(what), status);
}
