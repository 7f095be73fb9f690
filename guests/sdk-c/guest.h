// Between the values of the bindings and those of the plugin.
#ifndef BUB_GUEST_H
#define BUB_GUEST_H

#include "fail.h"
#include "json.h"
#include "plugin.h"

// A text of the host.
text lift(plugin_string_t from);
// A copy for the host, which frees it.
plugin_string_t lower(text from);
// The error for the host. Returns false, as the exported function has to.
bool lower_failure(failure from, bub_types_types_error_t *into);
// The error of the host. Returns false.
bool lift_failure(bub_types_types_error_t from, failure *into);

// Reads a key of the table `[plugins.NAME.config]`. False: it is not set.
bool config_get(const char *key, json *into);

#endif
