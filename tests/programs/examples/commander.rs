//! Commands. Which it lists, says `names` of its configuration; without it they are those that it can do.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/commands", generate_all });

use bub::plugin::{config, log};
use bub::types::types::{Error, ErrorKind};
use exports::bub::hooks::commands::{Command, Guest};
use std::time::Duration;

struct Commander;

impl Guest for Commander {
    fn list_commands() -> Vec<Command> {
        log::log(log::Level::Info, "asked for its commands");
        let names = config::get("names").and_then(|names| serde_json::from_str(&names).ok());
        let names: Vec<String> =
            names.unwrap_or_else(|| ["greet", "say", "fail", "fall", "wait", "look", "may"].map(String::from).to_vec());
        names.into_iter().map(|name| Command { about: format!("Does\n\u{1b}[31m{name}."), name }).collect()
    }

    fn run_command(name: String, arguments: Vec<String>) -> Result<String, Error> {
        match name.as_str() {
            "greet" => Ok(format!("hello {}", arguments.join("|"))),
            "say" => Ok(config::get("text").and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()),
            "fail" => Err(error("no\nsuch \u{1b}[2Jluck")),
            "may" => {
                let all = arguments.iter().map(|grant| match config::granted(grant) {
                    Ok(()) => "yes".to_owned(),
                    Err(Error { kind, message, .. }) => format!("{kind:?}: {message}"),
                });
                Ok(all.collect::<Vec<_>>().join("\n"))
            }
            "fall" => panic!("it fell"),
            "wait" => {
                log::log(log::Level::Info, "it waits");
                std::thread::sleep(Duration::from_secs(600));
                Ok("it waited".to_owned())
            }
            "look" => std::fs::read_to_string("notes.txt").map_err(|failure| error(&failure.to_string())),
            other => Err(error(&format!("asked for `{other}`"))),
        }
    }
}

fn error(message: &str) -> Error {
    Error { kind: ErrorKind::Unknown, message: message.to_owned(), details: None }
}

export!(Commander);
