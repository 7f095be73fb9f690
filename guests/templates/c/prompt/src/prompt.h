// Adds the rules of the configuration to the system prompt.
#ifndef PROMPT_H
#define PROMPT_H

#include "json.h"

// The rules where the configuration has none, as JSON.
extern const char defaults[];

// What the system prompt gets; empty without rules.
text part(const json *rules);

#endif
