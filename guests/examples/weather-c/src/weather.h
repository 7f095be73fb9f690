// The tool `weather`: it asks a weather service, which wants a key in a header.
#ifndef WEATHER_H
#define WEATHER_H

#include "web.h"

// The table `[plugins.weather.config]`. `home` is empty where it is not set.
typedef struct {
    text server, home;
} settings;

// The name, what a model reads of it, and the JSON Schema of its arguments.
extern const char name[], about[], schema[];

// Asks the service. The key goes into a header; the result is JSON.
bool weather(web_sender *send, settings set, text key, text arguments, text *result, failure *error);

// What the model is told of the city at home; empty where none is set.
text rule(settings set);

#endif
