//! Finds entries and keeps none.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/query-alone", generate_all });

use bub::types::types::Error;
use exports::bub::tape::store_query::{Candidates, Condition, Guest};

struct Alone;

impl Guest for Alone {
    fn query(_: String, _: Condition, _: bool, _: u32) -> Result<Option<Candidates>, Error> {
        Ok(None)
    }
}

export!(Alone);
