#include "test.h"
#include "weather.h"

static settings set;

// What the fake service got, and what it answers.
static web_request asked;
static int status_of_service;

static bool service(const web_request *request, int *status, text *body, failure *error) {
    (void)error;
    asked = *request;
    SAME(request->headers[0].name, "x-api-key");
    SAME(request->headers[0].value, "{{secret:weather}}");
    *status = status_of_service;
    *body = text_of("[{\"date\":\"1 May\",\"sky\":\"clear\",\"high\":21.5,\"low\":9}]");
    return true;
}

static void the_service_is_asked_with_the_key_and_its_answer_is_the_result(void) {
    text result, arguments = text_of("{\"city\":\"La Paz\",\"units\":\"imperial\"}");
    failure error;
    status_of_service = 200;
    CHECK(weather(service, set, text_of("{{secret:weather}}"), arguments, &result, &error));
    SAME(result, "[{\"date\":\"1 May\",\"sky\":\"clear\",\"high\":21.5,\"low\":9}]");
    SAME(asked.address, "https://api.example.com/forecast?city=La%20Paz&units=imperial&days=1");
}

static void an_error_says_which_city_and_whether_to_try_again(void) {
    text result;
    failure error;
    status_of_service = 503;
    CHECK(!weather(service, set, text_of("{{secret:weather}}"), text_of("{\"city\":\"Bern\"}"), &result, &error));
    CHECK(error.kind == TEMPORARY);
    SAME(error.message, "the weather in `Bern`: the server answered with status 503");
}

static void the_model_is_told_the_city_at_home(void) {
    SAME(rule(set), "Weather without a city is the weather in Bern.");
    CHECK(rule((settings){set.server, text_of("")}).len == 0);
}

int main(void) {
    set = (settings){text_of("https://api.example.com"), text_of("Bern")};
    the_service_is_asked_with_the_key_and_its_answer_is_the_result();
    an_error_says_which_city_and_whether_to_try_again();
    the_model_is_told_the_city_at_home();
    puts("passed");
}
