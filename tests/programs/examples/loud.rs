//! Writes 200 lines to its stderr, and then panics if `[plugins.NAME.config] panics` is set. With a text `says`, it
//! writes that to its stdout `times` times instead, a line of its own to its stderr, and ends as `ends` specifies:
//! `trap`, `error`, or well.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/prompt", generate_all });

use bub::plugin::config;
use bub::turn::turn::Turn;
use bub::types::types::{Error, ErrorKind, Prompt};

struct Loud;

fn setting(key: &str) -> Option<serde_json::Value> {
    config::get(key).and_then(|text| serde_json::from_str(&text).ok())
}

impl exports::bub::hooks::build_prompt::Guest for Loud {
    fn build_prompt(_turn: Turn) -> Result<Option<Prompt>, Error> {
        if let Some(says) = setting("says") {
            let says = says.as_str().unwrap_or_default().to_owned();
            for _ in 0..setting("times").and_then(|times| times.as_u64()).unwrap_or(1) {
                println!("{says}");
            }
            // No whole line.
            eprint!("that was it");
            return match setting("ends").as_ref().and_then(serde_json::Value::as_str) {
                Some("trap") => core::arch::wasm32::unreachable(),
                Some("error") => {
                    Err(Error { kind: ErrorKind::Temporary, message: "it says no".to_owned(), details: None })
                }
                _ => Ok(None),
            };
        }
        for line in 0..200 {
            eprintln!("line {line} of much that nobody wants to read, {}", "and more".repeat(5));
        }
        if config::get("panics").as_deref() == Some("true") {
            panic!("this is what mattered");
        }
        Ok(None)
    }
}

export!(Loud);
