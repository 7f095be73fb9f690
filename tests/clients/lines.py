"""Lines of JSON are sent as text: schemathesis loads this."""

import schemathesis

schemathesis.serializer.alias("application/jsonl", "text/plain")
