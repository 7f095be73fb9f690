//! The person, as what is kept outside of tapes is compared with them.

use super::find::Found;
use crate::cli::tape::TapeLocation;
use bub_gateway::Whose;
use bub_tape::entry_text;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// A sender alone, before anything of theirs is known.
pub(super) struct Sender<'p>(pub(super) &'p str);

impl Whose for Sender<'_> {
    fn is_theirs(&self, sender: &str) -> bool {
        sender == self.0
    }

    fn quotes(&self, _text: &str) -> bool {
        false
    }

    fn has_turn_on(&self, _tape: &str) -> bool {
        false
    }

    fn has_turn_in(&self, _session: &str) -> bool {
        false
    }
}

/// A sender with all that was found of theirs.
pub(super) struct Person<'p> {
    name: &'p str,
    found: &'p Found,
    location: &'p TapeLocation,
    /// The texts of their turns, by the name of the tape.
    said: BTreeMap<&'p str, HashSet<String>>,
}

impl<'p> Person<'p> {
    pub(super) fn new(name: &'p str, found: &'p Found, location: &'p TapeLocation) -> Self {
        let mut said: BTreeMap<&str, HashSet<String>> = BTreeMap::new();
        for one in &found.tapes {
            let turns = one.turns.iter().chain(one.archived.values());
            let texts = turns.flat_map(entry_text::body).map(|text| text.trim().to_owned());
            let texts: HashSet<String> = texts.filter(|text| !text.is_empty()).collect();
            if !texts.is_empty() {
                said.insert(one.tape.name(), texts);
            }
        }
        Self { name, found, location, said }
    }

    /// The texts of their turns in a session.
    fn texts_of(&self, session: &str) -> Option<&HashSet<String>> {
        let named = self.found.tapes.iter().find(|one| one.session.as_deref() == Some(session));
        let by_name = || self.said.get(self.location.tape_name(session).as_str());
        named.and_then(|one| self.said.get(one.tape.name())).or_else(by_name)
    }

    /// Whether an outcome, or an answer to deliver, has the text of one of their turns, which is too short to be a quotation.
    fn is_answer(&self, text: &str) -> bool {
        let Ok(value) = serde_json::from_str::<Value>(text) else { return false };
        let session = value.get("session_id").and_then(Value::as_str);
        let Some(texts) = session.and_then(|session| self.texts_of(session)) else { return false };
        let answers = value.get("outbounds").and_then(Value::as_array).into_iter().flatten();
        let mut all = answers.chain([&value]).flat_map(|value| [value.get("content"), value.get("model_output")]);
        all.any(|text| text.and_then(Value::as_str).is_some_and(|text| texts.contains(text.trim())))
    }
}

impl Whose for Person<'_> {
    fn is_theirs(&self, sender: &str) -> bool {
        sender == self.name
    }

    fn quotes(&self, text: &str) -> bool {
        self.found.quotes.stand_in_text(text) || self.found.quotes.stand_in_json(text) || self.is_answer(text)
    }

    fn has_turn_on(&self, tape: &str) -> bool {
        self.said.contains_key(tape)
    }

    fn has_turn_in(&self, session: &str) -> bool {
        self.texts_of(session).is_some()
    }
}
