// Decides about tool calls before they are made.
#ifndef GATE_H
#define GATE_H

#include "json.h"

// What is blocked where the configuration says nothing, as JSON.
extern const char defaults[];

// The first blocked text in the arguments of a call; empty if there is none.
text blocked_in(const json *blocked, text arguments);

#endif
