// A channel: a webhook for messages, and requests for answers.
#ifndef CHANNEL_H
#define CHANNEL_H

#include "web.h"

// The channel's name. Its address is `/channels/NAME/` of `bub-wasm serve`.
extern const char name[];

// The body of a request. `id` is the sender's id of the message: the same message is taken once.
typedef struct {
    text id, content, chat, sender;
} posted;

// Reads a request, and returns the status of the response: 202 with a message, otherwise `why` says what is wrong.
int receive(text method, text body, posted *into, text *why);

// Posts an answer to a chat. `key` is the same for each attempt, so that a server can ignore a repetition.
bool post(web_sender *send, text url, text key, text chat, text content, failure *error);

#endif
