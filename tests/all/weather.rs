//! The example of the book's page on plugins in Rust, `guests/examples/weather`: its tool asks a server with a secret in a
//! header, reads its configuration, and its hook adds to the system prompt.

use crate::home;
use bub_tests::listener::{Listener, response};
use bub_tests::{Answer, Home, Server, programs};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const KEY: &str = "w34ther-key-of-the-test";

fn with_weather(component: &str, service: &Listener) -> Home {
    let home = home();
    home.plugin("weather", component);
    let base = service.base();
    home.configure(&format!(
        "[plugins.weather]\ngrants = [\"hook:system-prompt\", \"http:{base}\", \"secret:weather\"]\n\
         [plugins.weather.config]\nserver = \"{base}\"\nhome = \"Bern\"\n\
         # An interpreter takes a debug build of the host longer than the default allows.\n\
         [plugins.weather.limits]\ncompile_seconds = 600\n"
    ));
    let secrets = home.bub_home().join("secrets.toml");
    fs::write(&secrets, format!("[weather]\nvalue = \"{KEY}\"\nhosts = [\"127.0.0.1\"]\n"))
        .expect("the home can be written");
    fs::set_permissions(secrets, fs::Permissions::from_mode(0o600)).expect("it is ours");
    home
}

/// The requests to the model of a turn in which it calls the tool with these arguments.
fn turn(home: &Home, arguments: &Value) -> Vec<Value> {
    let server = Server::new([Answer::tool_call("weather", &arguments.to_string()), Answer::text("done")]);
    home.run(["how is it", "--allow", "send"]).model(&server).finish().says("[cli:local]\ndone\n");
    server.requests().iter().map(|request| request.json()).collect()
}

/// The result of the call, as the model reads it.
fn result(requests: &[Value]) -> String {
    let messages = requests[1]["messages"].as_array().expect("a list");
    let result = messages.iter().rfind(|message| message["role"] == "tool").expect("the call has a result");
    result["content"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_tool_asks_the_service_with_the_key_and_the_model_reads_the_answer() {
    asks_with_the_key(programs::WEATHER);
}

/// The service gets the key and the arguments, the model the answer, the city at home and the schema of the arguments.
#[track_caller]
pub(crate) fn asks_with_the_key(component: &str) {
    let service = Listener::new(|_| response(200, "", r#"[{"date":"1 May","sky":"clear","high":21.5,"low":9}]"#));
    let home = with_weather(component, &service);
    let requests = turn(&home, &json!({ "city": "La Paz", "units": "imperial", "days": 2 }));
    let asked = &service.heard()[0];
    assert!(asked.starts_with("GET /forecast?city=La%20Paz&units=imperial&days=2 HTTP/1.1"), "{asked}");
    assert!(asked.to_lowercase().contains(&format!("x-api-key: {KEY}")), "{asked}");
    assert!(result(&requests).contains("clear"), "{}", result(&requests));
    let system = requests[0]["messages"][0]["content"].as_str().unwrap_or_default();
    assert!(system.contains("Weather without a city is the weather in Bern."), "{system}");
    let tools = requests[0]["tools"].as_array().expect("a list");
    let tool = tools.iter().find(|tool| tool["function"]["name"] == "weather").expect("it is offered");
    let units = &tool["function"]["parameters"]["properties"]["units"];
    assert_eq!(units["enum"], json!(["metric", "imperial"]));
    assert!(units["description"].as_str().is_some_and(|about| about.contains("Fahrenheit")), "{units}");
}

#[test]
fn the_host_refuses_invalid_arguments_and_the_plugin_reports_failures() {
    refuses_and_reports_failures(programs::WEATHER);
}

/// Arguments that the schema refuses reach no service, and a failure of the service is named with the city.
#[track_caller]
pub(crate) fn refuses_and_reports_failures(component: &str) {
    let service = Listener::new(|_| response(404, "", "no"));
    let home = with_weather(component, &service);
    let refused = result(&turn(&home, &json!({ "city": "Bern", "units": "kelvin" })));
    assert!(refused.contains("units") && service.heard().is_empty(), "{refused}");
    let failed = result(&turn(&home, &json!({ "city": "Nowhere" })));
    assert!(failed.contains("the weather in `Nowhere`: the server answered with status 404"), "{failed}");
}

#[test]
fn its_manifest_is_read_and_its_configuration_is_validated() {
    let service = Listener::new(|_| response(200, "", "[]"));
    let home = with_weather(programs::WEATHER, &service);
    let inspected = home.bub(["plugin", "inspect", "weather"]).finish();
    assert!(inspected.stdout.contains("Says how the weather is."), "{inspected}");
    assert!(inspected.stdout.contains("to say who asks"), "{inspected}");
    let home = super::home();
    home.plugin("weather", programs::WEATHER);
    home.configure("[plugins.weather.config]\nhome = \"Bern\"\n");
    home.run(["hello"]).finish().mentions("weather").mentions("server");
}

#[test]
fn the_page_of_the_book_shows_the_source_of_the_example() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| fs::read_to_string(root.join(path)).expect("it is there");
    let (page, source) = (read("docs/src/tutorial/plugin-rust.md"), read("guests/examples/weather/src/lib.rs"));
    let blocks: Vec<&str> =
        page.split("```rust,ignore\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() > 4);
    for part in blocks.iter().flat_map(|block| block.split("\n\n")) {
        assert!(source.contains(part.trim_end()), "the page shows what the example does not have:\n{part}");
    }
}
