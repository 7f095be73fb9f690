//! A decision in words.

use super::find::{DecisionEvent, call};
use super::lines;
use crate::plugin::model_name;
use crate::turn::DENIED;
use bub_config::Config;
use bub_tape::{Result, Tape};
use bub_types::text::{clipped, one_line};
use serde::Serialize;
use serde_json::Value;

/// Characters of a stranger's text that are shown.
const MAX_TEXT: usize = 300;

/// Sources of taint that are shown.
const MAX_SOURCES: usize = 16;

/// A decision in words. All texts are one line each, and quote what strangers wrote.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// The entry of the tape.
    pub id: u64,
    /// The date.
    pub date: String,
    /// `allow`, `ask` or `deny`.
    pub verdict: String,
    /// Whether the call was made.
    pub made: bool,
    /// One sentence.
    pub summary: String,
    /// What is known, each with a word for what it is.
    pub facts: Vec<(&'static str, String)>,
    /// What would change the decision: commands, and keys of config.toml.
    pub remedies: Vec<String>,
    /// The event's data.
    pub data: Value,
}

/// Explains a decision, with the entries of its tape and the lines of config.toml.
///
/// # Errors
///
/// The tape cannot be read.
pub async fn explain(tape: &Tape, config: &Config, decision: &DecisionEvent) -> Result<Explanation> {
    let mut explained = Explanation {
        id: decision.entry,
        date: decision.date.clone(),
        verdict: text(&decision.data["verdict"]),
        made: decision.data["made"].as_bool().unwrap_or(false),
        summary: String::new(),
        facts: Vec::new(),
        remedies: Vec::new(),
        data: decision.data.clone(),
    };
    match decision.name.as_str() {
        "" => explained.simply_made(),
        DENIED => explained.denied(),
        _ => explained.decided(tape, config).await?,
    }
    Ok(explained)
}

impl Explanation {
    fn fact(&mut self, what: &'static str, said: impl Into<String>) {
        self.facts.push((what, said.into()));
    }

    /// A call without a decision of its own.
    fn simply_made(&mut self) {
        (self.verdict, self.made) = ("allow".to_owned(), true);
        self.summary = format!("`{}` was allowed", self.tool());
        self.asked();
        self.fact(
            "decided by",
            "the default: in the owner's clean turn no call is asked about, and reading is always allowed",
        );
    }

    /// A denial that is none of the policy: a grant, a budget, a limit.
    fn denied(&mut self) {
        self.verdict = "deny".to_owned();
        let (plugin, tool, grant) = (self.text("plugin"), self.text("tool"), self.text("grant"));
        let reason = self.text("reason");
        let subject = match (plugin.is_empty(), tool.is_empty()) {
            (_, false) => format!("`{}`", model_name(&tool)),
            (false, _) => format!("plugin `{plugin}`"),
            _ => "a call".to_owned(),
        };
        self.summary = format!("{subject} was denied {} times", self.data["times"].as_u64().unwrap_or(1));
        if !plugin.is_empty() {
            self.fact("plugin", plugin.clone());
        }
        if !grant.is_empty() {
            self.fact("grant", grant.clone());
        }
        let host = self.text("host");
        if !host.is_empty() {
            self.fact("host", host);
        }
        let by = match reason.as_str() {
            "grant" => "the plugin does not hold the grant",
            "hook" => "the plugin implements the hook and is not granted it, so it was not asked",
            "policy" => "the rules for tool calls",
            "approval" => "the owner said no, or could not be asked",
            "gate" => "a plugin in front of the tool",
            "reach" => "the target is out of reach: a path, an address, a session, a sidecar",
            "budget" => "the tokens of the day are spent",
            "limit" => "a limit: too deep, or too many",
            "reserved" => "only the host may write that",
            "tool" => "the tool itself",
            _ => "further denials that were counted together",
        };
        self.fact("decided by", by);
        let message = self.text("message");
        if !message.is_empty() {
            self.fact("message", message);
        }
        match reason.as_str() {
            "grant" | "hook" => self.remedies.push(format!("bub-wasm plugin grant {plugin} {grant}")),
            "budget" => self.remedies.push("`[budget]` in config.toml, or tomorrow".to_owned()),
            _ => {}
        }
    }

    async fn decided(&mut self, tape: &Tape, config: &Config) -> Result<()> {
        let tool = self.tool();
        self.summary = match (self.verdict.as_str(), self.made) {
            ("allow", true) => format!("`{tool}` was allowed"),
            ("ask", true) => format!("`{tool}` was asked about, and allowed"),
            ("ask", false) => format!("`{tool}` was asked about, and denied"),
            _ => format!("`{tool}` was denied"),
        };
        self.asked();
        let (principal, channel, sender) = (self.text("principal"), self.text("channel"), self.text("sender"));
        let sender = if sender.is_empty() { String::new() } else { format!(", sender `{sender}`") };
        self.fact("by", format!("{principal} on channel `{channel}`{sender}"));
        self.taint(tape).await?;
        for flow in list(&self.data["flows"]) {
            self.fact("beyond its tool", flow);
        }
        self.cause(config, &principal, &channel);
        self.answer();
        let error = self.text("error");
        if !error.is_empty() {
            self.fact("message", error);
        }
        Ok(())
    }

    /// What was asked for.
    fn asked(&mut self) {
        let (plugin, effect) = (self.text("plugin"), self.text("effect"));
        let of = if plugin.is_empty() { String::new() } else { format!(" of plugin `{plugin}`") };
        let does = if effect.is_empty() { String::new() } else { format!(", which would {effect}") };
        let asked = format!("`{}`{of}{does}: {}", self.tool(), self.text("arguments"));
        self.fact("asked for", asked);
    }

    /// Whose text is in the conversation, and where it stands.
    async fn taint(&mut self, tape: &Tape) -> Result<()> {
        let sources = self.data["taint"].as_array().cloned().unwrap_or_default();
        if sources.is_empty() {
            self.fact("taint", "none: the conversation holds no text of another author");
        }
        for source in sources.iter().take(MAX_SOURCES) {
            let mut place = String::new();
            if let Some(id) = source["call"].as_str() {
                let found = call(tape, id).await?;
                place = match found {
                    Some((entry, call)) => {
                        let arguments = clipped(&one_line(&text(&call["arguments"])), 120);
                        format!("entry {} of the tape: {} {arguments}", entry.id, text(&call["tool"]))
                    }
                    None => format!("call `{}`", text(&source["call"])),
                };
            } else if let Some(entry) = source["entry"].as_u64() {
                place = format!("entry {entry} of the tape");
            } else if text(&source["source"]).starts_with("channel:") {
                place = message_of(tape, self.data["began"].as_u64().unwrap_or_default()).await?;
            }
            let why = text(&source["why"]);
            let said = if place.is_empty() { why } else { format!("{why} ({place})") };
            self.fact("taint", format!("{}: {said}", text(&source["source"])));
        }
        Ok(())
    }

    /// The rule or the default that decided, and what would change it.
    fn cause(&mut self, config: &Config, principal: &str, channel: &str) {
        let (mode, effect) = (self.text("mode"), self.text("effect"));
        let at = |line: Option<usize>| line.map_or_else(String::new, |line| format!(", line {line} of config.toml"));
        let by = match self.text("cause").as_str() {
            "reads" => "the default: calls of the owner that read are always made".to_owned(),
            "clean" => {
                format!("the default: in the owner's clean turn nothing is asked about (approval mode `{mode}`)")
            }
            "mode" => {
                self.remedies.push("`--approve MODE`, or `approve` of `[policy]` in config.toml".to_owned());
                format!(
                    "the approval mode `{mode}`: `approve` of `[policy]`{}, or `--approve`",
                    at(lines::key(config, "policy", "approve"))
                )
            }
            "taint" => {
                if self.data["ends_with_trust"].as_bool() == Some(true) {
                    self.remedies
                        .push("bub-wasm trust: the files of this workspace are as good as your own word".to_owned());
                }
                self.remedies
                    .push(format!("bub-wasm run --allow {effect}, or an answer in `chat` or on the page of `serve`"));
                self.remedies.push("`,tape.handoff`: a new phase begins without that text".to_owned());
                format!(
                    "the default: the owner is asked before a call that would {effect} once text of another author is in the conversation"
                )
            }
            "flow" => {
                self.remedies.push("an answer in `chat` or on the page of `serve`".to_owned());
                "the default: the owner is asked before what destroys something, and before what leaves the sandbox"
                    .to_owned()
            }
            "rule" => self.rule(config),
            "principal" => {
                let table = format!("channels.{channel}");
                let line = at(lines::key(config, &table, "owners"));
                self.remedies.push(format!("the sender's name in `owners` of `[{table}]` in config.toml"));
                if effect == "read" {
                    self.remedies.push(format!("the tool's name in `tools` of `[{table}]` in config.toml"));
                }
                format!(
                    "the default: a sender who is not the owner (`{principal}`, by `[{table}]`{line}) may use nothing but tools that read and are listed"
                )
            }
            "listed" => {
                let table = format!("channels.{channel}");
                format!("`tools` of `[{table}]`{} lists the tool", at(lines::key(config, &table, "tools")))
            }
            "strict" => {
                self.remedies.push("`strict = false` in `[process]` of config.toml".to_owned());
                format!(
                    "`strict` of `[process]`{}: no program leaves the sandbox",
                    at(lines::key(config, "process", "strict"))
                )
            }
            "gate" => "a gate that is not there, or did not decide".to_owned(),
            "plugin" => "a plugin in front of the tool".to_owned(),
            "tool" => "the tool is for people, not for models".to_owned(),
            _ => "a rule that this version does not know".to_owned(),
        };
        self.fact("decided by", by);
        for asker in self.data["asked_by"].as_array().cloned().unwrap_or_default() {
            let plugin = text(&asker["plugin"]);
            self.remedies.push(format!("bub-wasm plugin revoke {plugin} hook:before-tool-call"));
            self.fact("plugin", format!("`{plugin}` says: {}", text(&asker["why"])));
        }
    }

    fn rule(&mut self, config: &Config) -> String {
        let (written, why) = (text(&self.data["rule"]["rule"]), text(&self.data["rule"]["why"]));
        let place = (!written.is_empty()).then(|| lines::rule(config, &written));
        let place = match place {
            Some(Some((number, Some(line)))) => {
                format!("rule {number} of `[[process.rules]]`, line {line} of config.toml")
            }
            Some(Some((number, None))) => format!("rule {number} of `[[process.rules]]` in config.toml"),
            Some(None) => "a rule of `[[process.rules]]` that is not in config.toml any more".to_owned(),
            None => "the rules of `[[process.rules]]` in config.toml together".to_owned(),
        };
        self.remedies.push("the rule in config.toml".to_owned());
        match (written.is_empty(), why.is_empty()) {
            (false, false) => format!("{place}: {written} ({why})"),
            (false, true) => format!("{place}: {written}"),
            _ => format!("{place}: {why}"),
        }
    }

    /// What the owner said.
    fn answer(&mut self) {
        let answer = self.data["answer"].clone();
        let (decision, by, id) = (text(&answer["decision"]), text(&answer["by"]), text(&answer["id"]));
        let said = match answer["how"].as_str() {
            Some("asked") => {
                let id = if id.is_empty() { String::new() } else { format!(" (question {id})") };
                format!("`{decision}`, at {}{id}", if by.is_empty() { "the terminal".to_owned() } else { by })
            }
            Some("kept") => "an earlier answer holds for this session".to_owned(),
            Some("in-advance") => "given in advance, by `--allow` or `--approve`".to_owned(),
            Some("nobody") => "no owner could be asked".to_owned(),
            _ => return,
        };
        self.fact("owner's answer", said);
    }

    fn tool(&self) -> String {
        self.text("tool")
    }

    fn text(&self, key: &str) -> String {
        text(&self.data[key])
    }
}

/// The first message of the user in a turn that began behind that entry.
async fn message_of(tape: &Tape, began: u64) -> Result<String> {
    let entries = tape.read(began, 64).await?;
    let is_said = |entry: &&bub_tape::Entry| {
        entry.is("message") && bub_tape::json::get(&entry.payload, "role") == Some(r#""user""#)
    };
    let found = entries.iter().find(is_said);
    Ok(found.map_or_else(|| "the message of the turn".to_owned(), |entry| format!("entry {} of the tape", entry.id)))
}

fn list(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

/// A text on one line, clipped; empty for anything else.
fn text(value: &Value) -> String {
    clipped(&one_line(value.as_str().unwrap_or_default()), MAX_TEXT)
}
