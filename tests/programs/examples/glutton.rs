//! Takes more than its share of the host: `[plugins.NAME.config] deed` says of what, `amount` how much of it. Where
//! there is enough of it, it says `full`.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/streams", generate_all });

use bub::plugin::{config, log};
use bub::tape::entries::Draft;
use bub::turn::turn::Turn;
use bub::types::types::{Error, Prompt, StreamEvent};
use serde_json::{Value, json};
use std::hint::black_box;

const MIB: usize = 1 << 20;

struct Glutton;

impl exports::bub::hooks::run_model_stream::Guest for Glutton {
    fn run_model_stream(turn: Turn, _prompt: Prompt) -> Result<bool, Error> {
        let amount = setting("amount").as_u64().unwrap_or(0) as usize;
        match setting("deed").as_str().unwrap_or_default() {
            "emit" => {
                let text = StreamEvent::Text("x".repeat(8 * MIB));
                for _ in 0..amount {
                    turn.emit(&text)?;
                }
            }
            "trickle" => {
                let text = StreamEvent::Text("x".repeat(2 << 10));
                for _ in 0..amount {
                    turn.emit(&text)?;
                }
            }
            "set" => {
                let value = Value::from("x".repeat(MIB - 2)).to_string();
                for key in 0..amount {
                    turn.set(&key.to_string(), &value)?;
                }
            }
            "append" => {
                let tape = turn.tape()?;
                let payload = json!({ "name": "note", "data": "x".repeat(8 * MIB) }).to_string();
                let event = Draft { kind: "event".to_owned(), payload, meta: "{}".to_owned() };
                let drafts = [event];
                for _ in 0..amount {
                    tape.append(&drafts)?;
                }
            }
            "handoff" => {
                let tape = turn.tape()?;
                let state = json!({ "summary": "x".repeat(8 * MIB) }).to_string();
                for _ in 0..amount {
                    tape.handoff("again", Some(&state))?;
                }
            }
            "say" => log::log(log::Level::Debug, &"x".repeat(amount * MIB)),
            "call" => (0..amount).for_each(|_| drop(black_box(turn.session_id()))),
            "hold" => {
                let tapes: Result<Vec<_>, Error> = (0..amount).map(|_| turn.tape()).collect();
                black_box(tapes?);
            }
            "allocate" => {
                let pages: Vec<Vec<u8>> = (0..amount).map(|_| vec![1; MIB]).collect();
                black_box(pages);
            }
            _ => return Ok(false),
        }
        turn.emit(&StreamEvent::Text("full".to_owned()))?;
        Ok(true)
    }
}

fn setting(key: &str) -> Value {
    config::get(key).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

export!(Glutton);
