//! Does to the host what the message says: `spin`, `eat`, `flood`, `burden` or `trap`. Any other message it leaves alone.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/prompt", generate_all });

use bub::plugin::log;
use bub::turn::turn::Turn;
use bub::types::types::{Error, Prompt};
use std::hint::black_box;

/// Nearly the most that a guest may pass at once.
const MUCH: usize = 15 << 20;

struct Obedient;

impl exports::bub::hooks::build_prompt::Guest for Obedient {
    fn build_prompt(turn: Turn) -> Result<Option<Prompt>, Error> {
        match turn.message().content.as_str() {
            "spin" => spin(),
            "eat" => {
                let mut eaten = Vec::new();
                loop {
                    eaten.push(black_box(vec![1u8; 1 << 20]));
                }
            }
            "flood" => loop {
                black_box(turn.session_id());
            },
            // Few calls, and the host has much to do in each.
            "burden" => {
                let much = "x".repeat(MUCH);
                loop {
                    log::log(log::Level::Trace, &much);
                }
            }
            "trap" => core::arch::wasm32::unreachable(),
            _ => Ok(None),
        }
    }
}

fn spin() -> ! {
    let mut rounds = 0u64;
    loop {
        rounds = black_box(rounds.wrapping_add(1));
    }
}

export!(Obedient);
