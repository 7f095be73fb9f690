// A model provider: it answers requests for models `{{name}}:...`.
#ifndef PROVIDER_H
#define PROVIDER_H

#include "fail.h"
#include "json.h"

// The part of a model's id before the colon, and the one model.
extern const char name[], model[];

// Answers the last question of messages in OpenAI's chat format. `asked` is the model, empty for the one that there is;
// `answers` is the table of the configuration.
bool answer(const json *answers, text asked, const text *messages, size_t len, text *into, failure *error);

// The length of the first word of an answer, with the space behind it.
size_t piece(text answer);

#endif
