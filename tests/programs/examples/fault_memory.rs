//! Takes memory until there is none left.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/prompt", generate_all });

use bub::turn::turn::Turn;
use bub::types::types::{Error, Prompt};

struct Hoard;

impl exports::bub::hooks::build_prompt::Guest for Hoard {
    fn build_prompt(_turn: Turn) -> Result<Option<Prompt>, Error> {
        let mut hoard = Vec::new();
        loop {
            hoard.push(std::hint::black_box(vec![1_u8; 1 << 20]));
        }
    }
}

export!(Hoard);
