//! The decisions of the policy in a turn, for those who ask why: each is an event on a tape that is kept, and bounded.
//! What the owner's clean turn simply does is not written down: the tape says that it was clean.

use serde::Serialize;
use serde_json::Value;

/// The event that says what was decided about a tool call, and by what.
pub const DECIDED: &str = "policy.decided";

/// Decisions that a turn writes down. A model that tries again and again would otherwise fill the tape with them.
const MAX_DECISIONS: usize = 64;

/// What decided about a call, as far as it is known when the call is made or refused.
#[derive(Debug, Default)]
pub struct Decision {
    /// `allow`, `ask` or `deny`: the verdict of the rules.
    pub verdict: &'static str,
    /// What the verdict follows from: the name of a cause, `plugin`, `gate`, or `strict`.
    pub cause: &'static str,
    /// The effect by which the call is judged.
    pub effect: &'static str,
    /// The approval mode.
    pub mode: String,
    /// What the call does beyond what its tool declares.
    pub flows: Vec<String>,
    /// The rule for commands, as it is written, and what it says.
    pub rule: Option<(Option<String>, String)>,
    /// The plugins that wanted the owner to be asked or the call to be refused, each with its reason.
    pub plugins: Vec<(String, String)>,
    /// How the owner's word was had.
    pub answer: Option<OwnersWord>,
    /// Whether trust in the workspace would have spared the question.
    pub ends_with_trust: bool,
}

/// How the owner's word about a call was had.
#[derive(Debug, Clone, Serialize)]
pub struct OwnersWord {
    /// `asked`, `kept`: an earlier `always` or `never`; `in-advance`: by `--allow` or an approval mode; `nobody`: no owner
    /// could be asked.
    pub how: &'static str,
    /// The decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<&'static str>,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The id of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl OwnersWord {
    /// Without a question.
    pub fn without(how: &'static str) -> Self {
        Self { how, decision: None, by: None, id: None }
    }
}

/// The decisions of a turn that no event says yet.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    written: usize,
    events: Vec<Value>,
}

impl Decisions {
    /// Adds the data of one, up to the bound.
    pub(super) fn add(&mut self, event: Value) {
        if self.written < MAX_DECISIONS {
            self.written += 1;
            self.events.push(event);
        }
    }

    /// The data of an event for each.
    pub(super) fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.events)
    }
}
