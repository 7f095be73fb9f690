// HTTP requests. `web_send` is for plugins that import `wasi:http`; tests have a function of their own in its place.
#ifndef BUB_WEB_H
#define BUB_WEB_H

#include "fail.h"

typedef struct {
    text name, value;
} web_header;

typedef struct {
    // `GET`, `POST`, `PUT`, `DELETE`.
    text method;
    // `https://HOST/PATH`, or `http:`.
    text address;
    const web_header *headers;
    size_t len;
    text body;
} web_request;

// Sends a request, and fills in the status and the body of the response.
typedef bool web_sender(const web_request *request, int *status, text *body, failure *error);

// The sender that asks the host.
web_sender web_send;

#endif
