//! The decisions of the policy in a turn, for those who ask why: each is an event on a tape that is kept, and bounded.
//! What the owner's clean turn simply does is not written down: the tape says that it was clean.

use super::data::Turn;
use super::taint::TaintOrigin;
use bub_types::ToolCall;
use bub_types::text::clipped;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The event that says what was decided about a tool call, and by what.
pub const DECIDED: &str = "policy.decided";

/// Decisions that a turn writes down. A model that tries again and again would otherwise fill the tape with them.
const MAX_DECISIONS: usize = 64;

/// Characters of a text that are written down.
const MAX_TEXT: usize = 400;

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
    /// The data of an event for each.
    pub(super) fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.events)
    }
}

impl Turn {
    /// The sources of the turn's taint, each with its reason and where it is on the tape.
    pub fn taint_facts(&self) -> Vec<Value> {
        self.audit(|audit| {
            let sources = audit.taint.sources.iter().zip(&audit.taint.origins);
            let fact = |((source, why), origin): (&(super::TaintSource, String), &TaintOrigin)| {
                let mut fact = origin.data();
                fact.insert("source".to_owned(), clip(&source.written()).into());
                fact.insert("why".to_owned(), clip(why).into());
                Value::Object(fact)
            };
            sources.map(fact).collect()
        })
    }

    /// Writes a decision down: in the turn whose tape is kept, this one or the closest around it. `error`: why the call was
    /// not made. `taint` is that of the moment at which it was decided.
    pub fn decided(
        &self,
        (plugin, call): (&str, &ToolCall),
        decision: &Decision,
        taint: Vec<Value>,
        error: Option<&str>,
    ) {
        let mut data = Map::new();
        let mut set = |key: &str, value: Value| drop(data.insert(key.to_owned(), value));
        set("verdict", decision.verdict.into());
        set("made", error.is_none().into());
        set("cause", decision.cause.into());
        set("tool", clip(&call.name).into());
        set("plugin", clip(plugin).into());
        if let Some(id) = &call.id {
            set("call", clip(id).into());
        }
        set("arguments", clip(&call.arguments).into());
        set("effect", decision.effect.into());
        set("mode", decision.mode.as_str().into());
        set("principal", self.principal.name().into());
        set("channel", clip(&self.message.channel).into());
        if let Some(sender) = &self.message.sender {
            set("sender", clip(sender).into());
        }
        set("began", self.kept().began().into());
        if !taint.is_empty() {
            set("taint", taint.into());
        }
        if !decision.flows.is_empty() {
            set("flows", decision.flows.iter().map(|flow| clip(flow)).collect::<Vec<_>>().into());
        }
        if let Some((rule, why)) = &decision.rule {
            set("rule", json!({ "rule": rule.as_deref().map(clip), "why": clip(why) }));
        }
        if !decision.plugins.is_empty() {
            let plugins = decision.plugins.iter().map(|(name, why)| json!({ "plugin": clip(name), "why": clip(why) }));
            set("asked_by", plugins.collect());
        }
        if let Some(answer) = &decision.answer {
            set("answer", serde_json::to_value(answer).unwrap_or_default());
        }
        if decision.ends_with_trust {
            set("ends_with_trust", true.into());
        }
        if let Some(error) = error {
            set("error", clip(error).into());
        }
        self.kept().audit(|audit| {
            let decisions = &mut audit.decisions;
            if decisions.written < MAX_DECISIONS {
                decisions.written += 1;
                decisions.events.push(Value::Object(data));
            }
        });
    }
}

fn clip(text: &str) -> String {
    clipped(text, MAX_TEXT)
}
