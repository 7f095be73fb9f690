//! Declarations of tools, commands, a model provider and a channel in a manifest, so that they are known without
//! running the plugin.

use super::super::json;
use bub_types::{Effect, ToolSpec};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The word in place of a declaration where the plugin has to be asked each time that it is loaded.
const DYNAMIC: &str = "dynamic";

/// A part of what a plugin exports.
#[derive(Debug, Clone)]
pub enum Declared<T> {
    /// This.
    Fixed(T),
    /// The plugin is asked whenever it is loaded: the answer depends on more than its bytes and its configuration.
    Dynamic,
}

impl<T> Declared<T> {
    /// The declaration, unless the plugin has to be asked.
    pub fn fixed(&self) -> Option<&T> {
        match self {
            Self::Fixed(declared) => Some(declared),
            Self::Dynamic => None,
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Declared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As its text: by way of a `Value` each part would be made twice, and each start reads all manifests.
        let declared = Box::<RawValue>::deserialize(deserializer)?;
        if serde_json::from_str::<&str>(declared.get()).is_ok_and(|word| word == DYNAMIC) {
            return Ok(Self::Dynamic);
        }
        // From the value once more where it fails: that error has no place in a text that is only a part.
        serde_json::from_str(declared.get())
            .or_else(|_| serde_json::from_str(declared.get()).and_then(serde_json::from_value))
            .map(Self::Fixed)
            .map_err(D::Error::custom)
    }
}

impl<T: Serialize> Serialize for Declared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(declared) => declared.serialize(serializer),
            Self::Dynamic => serializer.serialize_str(DYNAMIC),
        }
    }
}

/// A tool that a manifest declares.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredTool {
    /// A dotted name.
    pub name: String,
    /// The description that a model reads.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
    /// The effect of a call.
    pub effect: DeclaredEffect,
    /// Whether it returns text by other authors.
    #[serde(default)]
    pub reads_outside: bool,
    /// Whether it is offered to the model.
    #[serde(default = "offered")]
    pub for_model: bool,
}

fn offered() -> bool {
    true
}

impl DeclaredTool {
    /// The same, as `list-tools` describes it.
    pub fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.clone(),
            description: self.description.clone(),
            parameters: self.parameters.to_string(),
            for_model: self.for_model,
            effect: self.effect.into(),
            reads_outside: self.reads_outside,
        }
    }
}

/// The effect of a tool, as a manifest names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeclaredEffect {
    /// It reads.
    Read,
    /// It changes files or notes.
    Write,
    /// It sends data to others.
    Send,
    /// It runs programs.
    Run,
}

impl From<DeclaredEffect> for Effect {
    fn from(effect: DeclaredEffect) -> Self {
        match effect {
            DeclaredEffect::Read => Self::Read,
            DeclaredEffect::Write => Self::Write,
            DeclaredEffect::Send => Self::Send,
            DeclaredEffect::Run => Self::Run,
        }
    }
}

/// A command that a manifest declares.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredCommand {
    /// The word behind `bub-wasm`.
    pub name: String,
    /// Its purpose.
    #[serde(default)]
    pub about: String,
}

/// The model provider that a manifest declares.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredProvider {
    /// The part before the colon in `provider:model`.
    pub name: String,
}

/// The channel that a manifest declares.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredChannel {
    /// `channel` of its envelopes.
    pub name: String,
    /// People there say one thing in several messages.
    #[serde(default)]
    pub needs_debounce: bool,
    /// It is asked what came.
    #[serde(default)]
    pub supports_polling: bool,
    /// The secret without which there is nothing to poll.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polling_secret: Option<String>,
    /// It receives webhook requests.
    #[serde(default)]
    pub webhook: bool,
    /// It can change messages that it has sent.
    #[serde(default)]
    pub supports_edits: bool,
    /// A message that is sent twice under one key arrives once.
    #[serde(default)]
    pub deduplicates: bool,
}

/// How the tools that a plugin lists differ from those that its manifest declares. None, where they do not. Descriptions are
/// not compared: models read what is declared.
pub(in crate::plugin) fn tools_differ(declared: &[DeclaredTool], listed: &[ToolSpec]) -> Option<String> {
    let shown = |name: &str| bub_types::text::one_line(name);
    for tool in listed {
        let Some(said) = declared.iter().find(|said| said.name == tool.name) else {
            return Some(format!("it lists the tool `{}`, which its manifest does not declare", shown(&tool.name)));
        };
        let said = said.spec();
        let effect = super::super::effect_name;
        let differs =
            |what: String| Some(format!("its tool `{}` is not what its manifest declares: {what}", shown(&tool.name)));
        if said.effect != tool.effect {
            let (found, said) = (effect(tool.effect), effect(said.effect));
            return differs(format!("the effect is `{found}`, and `{said}` is declared"));
        }
        let flags =
            [("reads_outside", tool.reads_outside, said.reads_outside), ("for_model", tool.for_model, said.for_model)];
        if let Some((flag, found, said)) = flags.into_iter().find(|(_, found, said)| found != said) {
            return differs(format!("`{flag}` is {found}, and {said} is declared"));
        }
        if json::parse(&tool.parameters).ok() != json::parse(&said.parameters).ok() {
            return differs("the schema of its arguments is another one".to_owned());
        }
    }
    let missing = declared.iter().find(|said| !listed.iter().any(|tool| tool.name == said.name))?;
    Some(format!("its manifest declares the tool `{}`, which it does not list", shown(&missing.name)))
}
