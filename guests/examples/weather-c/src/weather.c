#include "weather.h"
#include "json.h"

const char name[] = "weather";

const char about[] = "Say how the weather is in a city, today and in the days that follow.";

const char schema[] =
    "{\n"
    "  \"type\": \"object\",\n"
    "  \"properties\": {\n"
    "    \"city\": { \"type\": \"string\", \"description\": \"The name of a city.\" },\n"
    "    \"units\": { \"type\": \"string\", \"enum\": [\"metric\", \"imperial\"],\n"
    "      \"description\": \"In degrees Celsius or Fahrenheit.\", \"default\": \"metric\" },\n"
    "    \"days\": { \"type\": \"integer\", \"description\": \"For how many days.\",\n"
    "      \"minimum\": 1, \"maximum\": 7, \"default\": 1 }\n"
    "  },\n"
    "  \"required\": [\"city\"],\n"
    "  \"additionalProperties\": false\n"
    "}";

// Writes the days as the model reads them. False: the service answered something else.
static bool put_days(buffer *to, text body) {
    json days;
    if (!json_read(body, &days) || days.kind != JSON_ARRAY) {
        return false;
    }
    put(to, text_of("["));
    for (size_t index = 0; index < days.len; index++) {
        const json *day = &days.items[index], *high = json_get(day, "high"), *low = json_get(day, "low");
        if (!high || high->kind != JSON_NUMBER || !low || low->kind != JSON_NUMBER) {
            return false;
        }
        put(to, text_of(index == 0 ? "{\"date\":" : ",{\"date\":"));
        json_put(to, json_text(day, "date"));
        put(to, text_of(",\"sky\":"));
        json_put(to, json_text(day, "sky"));
        put_format(to, ",\"high\":%g,\"low\":%g}", high->number, low->number);
    }
    put(to, text_of("]"));
    return true;
}

bool weather(web_sender *send, settings set, text key, text arguments, text *result, failure *error) {
    json asked;
    // The host has checked the arguments against the schema, unless this is a test.
    if (!json_read(arguments, &asked) || json_text(&asked, "city").len == 0) {
        return fail(error, INVALID_INPUT, "the arguments are a JSON object with `city`");
    }
    text city = json_text(&asked, "city"), units = json_text(&asked, "units");
    const json *days = json_get(&asked, "days");
    buffer address = {0};
    put_format(&address, "%.*s/forecast?city=", TEXT(set.server));
    put_escaped(&address, city);
    put_format(&address, "&units=%.*s&days=%g", TEXT(units.len > 0 ? units : text_of("metric")), days ? days->number : 1);

    const web_header headers[] = {{text_of("x-api-key"), key}};
    web_request request = {text_of("GET"), text_from(address), headers, 1, text_of("")};
    int status;
    text body;
    if (!send(&request, &status, &body, error)) {
        return fail(error, error->kind, "the weather service: %.*s", TEXT(error->message));
    }
    buffer what = {0}, answer = {0};
    put_format(&what, "the weather in `%.*s`", TEXT(city));
    if (!fail_status(error, text_from(what), status)) {
        return false;
    }
    if (!put_days(&answer, body)) {
        return fail(error, UNKNOWN, "the weather service answers with something else than days");
    }
    *result = text_from(answer);
    return true;
}

text rule(settings set) {
    buffer told = {0};
    if (set.home.len > 0) {
        put_format(&told, "Weather without a city is the weather in %.*s.", TEXT(set.home));
    }
    return text_from(told);
}
