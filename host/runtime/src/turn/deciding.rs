//! Writes down what the policy decides about tool calls.

use super::data::Turn;
use super::decision::Decision;
use super::taint::{TaintOrigin, TaintSource};
use bub_types::ToolCall;
use bub_types::text::clipped;
use serde_json::{Map, Value, json};

/// Characters of a text that are written down.
const MAX_TEXT: usize = 400;

impl Turn {
    /// The sources of the turn's taint, each with its reason and where it is on the tape.
    pub fn taint_facts(&self) -> Vec<Value> {
        self.audit(|audit| {
            let sources = audit.taint.sources.iter().zip(&audit.taint.origins);
            let fact = |((source, why), origin): (&(TaintSource, String), &TaintOrigin)| {
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
        self.kept().audit(|audit| audit.decisions.add(Value::Object(data)));
    }
}

fn clip(text: &str) -> String {
    clipped(text, MAX_TEXT)
}
