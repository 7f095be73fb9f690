// The tool `{{name_snake}}_count`: it counts what a text is made of.
#ifndef TOOL_H
#define TOOL_H

#include "fail.h"

// The table `[plugins.{{name}}.config]`.
typedef struct {
    double words_per_minute;
} settings;

extern const settings defaults;

// The name, what a model reads of it, and the JSON Schema of its arguments.
extern const char name[], about[], schema[];

// Counts as the arguments say. The result is JSON.
bool count(settings set, text arguments, text *result, failure *error);

#endif
