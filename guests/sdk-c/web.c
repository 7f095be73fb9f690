#include "web.h"
#include "guest.h"

#include <string.h>

#define PIECE (64 << 10)
#define MOST (4 << 20)
#define NANOSECONDS (30ull * 1000 * 1000 * 1000)

static bool fail_code(wasi_http_types_error_code_t code, failure *error) {
    switch (code.tag) {
    case WASI_HTTP_TYPES_ERROR_CODE_HTTP_REQUEST_DENIED:
        return fail(error, DENIED, "the host refused the request; its log says why");
    case WASI_HTTP_TYPES_ERROR_CODE_DESTINATION_IP_PROHIBITED:
        return fail(error, DENIED, "the server's address is not public; grant `http:` with exactly that host");
    case WASI_HTTP_TYPES_ERROR_CODE_HTTP_RESPONSE_TIMEOUT:
    case WASI_HTTP_TYPES_ERROR_CODE_CONNECTION_TIMEOUT:
    case WASI_HTTP_TYPES_ERROR_CODE_CONNECTION_READ_TIMEOUT:
        return fail(error, TEMPORARY, "it did not answer in time");
    case WASI_HTTP_TYPES_ERROR_CODE_INTERNAL_ERROR:
        if (code.val.internal_error.is_some) {
            return fail(error, TEMPORARY, "%.*s", TEXT(lift(code.val.internal_error.val)));
        }
        break;
    }
    return fail(error, TEMPORARY, "the request failed");
}

static bool append(wasi_http_types_own_fields_t fields, web_header header, failure *error) {
    wasi_http_types_field_name_t name = lower(header.name);
    wasi_http_types_field_value_t value = {(uint8_t *)text_zero(header.value), header.value.len};
    wasi_http_types_header_error_t refused;
    if (!wasi_http_types_method_fields_append(wasi_http_types_borrow_fields(fields), &name, &value, &refused)) {
        return fail(error, INVALID_INPUT, "header `%.*s` cannot be sent", TEXT(header.name));
    }
    return true;
}

// Splits an address, and sets its parts.
static bool address(wasi_http_types_borrow_outgoing_request_t request, text of, failure *error) {
    wasi_http_types_scheme_t scheme = {.tag = WASI_HTTP_TYPES_SCHEME_HTTPS};
    size_t start = strlen("https://");
    if (of.len < start || memcmp(of.ptr, "https://", start) != 0) {
        scheme.tag = WASI_HTTP_TYPES_SCHEME_HTTP;
        start = strlen("http://");
        if (of.len < start || memcmp(of.ptr, "http://", start) != 0) {
            return fail(error, INVALID_INPUT, "`%.*s` is no address", TEXT(of));
        }
    }
    size_t end = start;
    while (end < of.len && !memchr("/?#", of.ptr[end], 3)) {
        end++;
    }
    size_t last = end;
    while (last < of.len && of.ptr[last] != '#') {
        last++;
    }
    buffer path = {0};
    put(&path, text_of(end < last && of.ptr[end] == '/' ? "" : "/"));
    put(&path, (text){of.ptr + end, last - end});
    plugin_string_t host = lower((text){of.ptr + start, end - start}), rest = lower(text_from(path));
    if (host.len == 0 || !wasi_http_types_method_outgoing_request_set_scheme(request, &scheme) ||
        !wasi_http_types_method_outgoing_request_set_authority(request, &host) ||
        !wasi_http_types_method_outgoing_request_set_path_with_query(request, &rest)) {
        return fail(error, INVALID_INPUT, "`%.*s` is no address", TEXT(of));
    }
    return true;
}

static wasi_http_types_method_t verb(text method) {
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "DELETE"};
    for (uint8_t tag = 0; tag < sizeof names / sizeof *names; tag++) {
        if (text_is(method, text_of(names[tag]))) {
            return (wasi_http_types_method_t){.tag = tag};
        }
    }
    return (wasi_http_types_method_t){.tag = WASI_HTTP_TYPES_METHOD_OTHER, .val.other = lower(method)};
}

static void write_body(wasi_http_types_own_outgoing_body_t body, text content) {
    wasi_http_types_own_output_stream_t own;
    wasi_http_types_error_code_t failed;
    if (content.len > 0 && wasi_http_types_method_outgoing_body_write(wasi_http_types_borrow_outgoing_body(body), &own)) {
        wasi_io_streams_borrow_output_stream_t stream = wasi_io_streams_borrow_output_stream(own);
        for (size_t at = 0; at < content.len;) {
            size_t len = content.len - at < 4096 ? content.len - at : 4096;
            plugin_list_u8_t piece = {(uint8_t *)text_zero((text){content.ptr + at, len}), len};
            wasi_io_streams_stream_error_t cut;
            // A server that hangs up in the middle says why in its response, or there is none.
            if (!wasi_io_streams_method_output_stream_blocking_write_and_flush(stream, &piece, &cut)) {
                break;
            }
            at += len;
        }
        wasi_io_streams_output_stream_drop_own(own);
    }
    wasi_http_types_static_outgoing_body_finish(body, NULL, &failed);
}

static bool read_body(wasi_http_types_borrow_incoming_response_t response, text *into, failure *error) {
    wasi_http_types_own_incoming_body_t body;
    wasi_http_types_own_input_stream_t own;
    if (!wasi_http_types_method_incoming_response_consume(response, &body) ||
        !wasi_http_types_method_incoming_body_stream(wasi_http_types_borrow_incoming_body(body), &own)) {
        return fail(error, TEMPORARY, "the answer has no body");
    }
    wasi_io_streams_borrow_input_stream_t stream = wasi_io_streams_borrow_input_stream(own);
    buffer content = {0};
    for (;;) {
        plugin_list_u8_t read;
        wasi_io_streams_stream_error_t ended;
        if (!wasi_io_streams_method_input_stream_blocking_read(stream, PIECE, &read, &ended)) {
            *into = text_from(content);
            return ended.tag == WASI_IO_STREAMS_STREAM_ERROR_CLOSED || fail(error, TEMPORARY, "the answer was cut off");
        }
        put(&content, (text){(const char *)read.ptr, read.len});
        if (content.len > MOST) {
            return fail(error, UNKNOWN, "the answer is larger than %d MiB", MOST >> 20);
        }
    }
}

bool web_send(const web_request *request, int *status, text *body, failure *error) {
    wasi_http_types_own_fields_t fields = wasi_http_types_constructor_fields();
    for (size_t index = 0; index < request->len; index++) {
        if (!append(fields, request->headers[index], error)) {
            return false;
        }
    }
    buffer length = {0};
    put_format(&length, "%zu", request->body.len);
    if (request->body.len > 0 && !append(fields, (web_header){text_of("content-length"), text_from(length)}, error)) {
        return false;
    }
    wasi_http_types_own_outgoing_request_t own = wasi_http_types_constructor_outgoing_request(fields);
    wasi_http_types_borrow_outgoing_request_t outgoing = wasi_http_types_borrow_outgoing_request(own);
    wasi_http_types_method_t method = verb(request->method);
    wasi_http_types_own_outgoing_body_t sent;
    if (!wasi_http_types_method_outgoing_request_set_method(outgoing, &method) ||
        !wasi_http_types_method_outgoing_request_body(outgoing, &sent)) {
        return fail(error, INVALID_INPUT, "a request cannot have the method `%.*s`", TEXT(request->method));
    }
    if (!address(outgoing, request->address, error)) {
        return false;
    }
    wasi_http_types_own_request_options_t options = wasi_http_types_constructor_request_options();
    uint64_t most = NANOSECONDS;
    wasi_http_types_method_request_options_set_first_byte_timeout(wasi_http_types_borrow_request_options(options), &most);
    wasi_http_types_own_future_incoming_response_t coming;
    wasi_http_types_error_code_t failed;
    if (!wasi_http_outgoing_handler_handle(own, &options, &coming, &failed)) {
        return fail_code(failed, error);
    }
    write_body(sent, request->body);
    wasi_http_types_borrow_future_incoming_response_t future = wasi_http_types_borrow_future_incoming_response(coming);
    wasi_io_poll_own_pollable_t ready = wasi_http_types_method_future_incoming_response_subscribe(future);
    wasi_io_poll_method_pollable_block(wasi_io_poll_borrow_pollable(ready));
    wasi_io_poll_pollable_drop_own(ready);
    wasi_http_types_result_result_own_incoming_response_error_code_void_t got;
    if (!wasi_http_types_method_future_incoming_response_get(future, &got) || got.is_err) {
        return fail(error, TEMPORARY, "the request failed");
    }
    if (got.val.ok.is_err) {
        return fail_code(got.val.ok.val.err, error);
    }
    wasi_http_types_borrow_incoming_response_t response = wasi_http_types_borrow_incoming_response(got.val.ok.val.ok);
    *status = wasi_http_types_method_incoming_response_status(response);
    return read_body(response, body, error);
}
