//! What a plugin says of itself, read without running it.

use anyhow::{Context, Result, bail};
use bub_permissions::Grants;
use bub_types::text::one_line;
use serde::{Deserialize, Serialize};
use wasmparser::{Parser, Payload};

/// The custom section that holds a manifest. It survives lto and strip inside the core module, and a tool can append one
/// to any component.
const SECTION: &str = "bub:manifest";

/// The largest manifest that is read, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// Grants that a manifest may ask for, and the longest of them, in bytes.
const MAX_WANTS: usize = 256;
const MAX_GRANT: usize = 4096;

/// What a plugin is and what it wants.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The name under which it is known; none: that of its file.
    #[serde(default)]
    pub name: Option<String>,
    /// Its own version.
    #[serde(default)]
    pub version: String,
    /// What it does, in a sentence.
    #[serde(default)]
    pub about: String,
    /// The grants that it asks for.
    #[serde(default)]
    pub wants: Vec<GrantRequest>,
    /// JSON Schema of its table of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_schema: Option<serde_json::Value>,
    /// Behind which turns its `after-turn` is called.
    #[serde(default)]
    pub after_turn: AfterTurnScope,
    /// Its tools, as its `list-tools` describes them: what is known of them without running it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<DeclaredTool>,
}

/// A tool that a manifest describes.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredTool {
    /// A dotted name.
    pub name: String,
    /// What a model reads of it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: serde_json::Value,
    /// What a call does.
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

/// Which turns a plugin wants to be told of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterTurnScope {
    /// All.
    #[default]
    Every,
    /// Those in which it has selected: of the others it would have nothing to keep.
    Selected,
}

/// A grant that a plugin asks for.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GrantRequest {
    /// `tape:read`, `http:api.example.com`, ...
    pub grant: String,
    /// What it needs it for, in the author's words.
    pub why: String,
}

impl Manifest {
    /// The manifest in the component's custom section; none, when it has no such section.
    ///
    /// # Errors
    ///
    /// The section is no manifest, or there are two.
    pub fn read(component: &[u8]) -> Result<Option<Self>> {
        let mut found = None;
        for payload in Parser::new(0).parse_all(component) {
            let Ok(Payload::CustomSection(section)) = payload else {
                // What is no component at all is refused by the compiler, in its own words.
                if payload.is_err() {
                    break;
                }
                continue;
            };
            if section.name() != SECTION {
                continue;
            }
            if found.is_some() {
                bail!("it has two sections `{SECTION}`");
            }
            found = Some(Self::parse(section.data())?);
        }
        Ok(found)
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_BYTES {
            bail!("its manifest has more than {} KiB", MAX_BYTES >> 10);
        }
        let text = std::str::from_utf8(bytes).context("its manifest is no UTF-8")?;
        crate::plugin::check_json(text).map_err(|reason| anyhow::anyhow!("its manifest is {reason}"))?;
        // A derived parser takes a list of the values in order as well.
        let _: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(text).context("its manifest is not understood")?;
        // From the text again, so that the error says where it is wrong.
        let manifest: Self = serde_json::from_str(text).context("its manifest is not understood")?;
        manifest.checked()
    }

    /// The same, fit to be shown to people: its author is not trusted yet.
    pub fn checked(mut self) -> Result<Self> {
        if self.wants.len() > MAX_WANTS {
            bail!("its manifest wants {} grants; at most {MAX_WANTS} can be asked for", self.wants.len());
        }
        for want in &mut self.wants {
            Grants::check(&want.grant).map_err(|reason| anyhow::anyhow!("its manifest wants {reason}"))?;
            if want.grant.chars().any(char::is_control) || want.grant.len() > MAX_GRANT {
                bail!("its manifest wants `{}`, which is not a grant", one_line(&want.grant));
            }
            want.why = one_line(&want.why);
        }
        for tool in &mut self.tools {
            tool.name = one_line(&tool.name);
            tool.description = one_line(&tool.description);
        }
        self.version = one_line(&self.version);
        self.about = one_line(&self.about);
        Ok(self)
    }

    /// All that it wants.
    pub fn grants(&self) -> Grants {
        Grants::new(self.wants.iter().map(|want| want.grant.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::{DeclaredEffect, Manifest};

    #[test]
    fn tools_are_read_and_what_is_missing_of_one_is_named() {
        let tool = r#"{"name": "a.b", "description": "c", "parameters": {}, "effect": "send"}"#;
        let manifest = Manifest::parse(format!(r#"{{"tools": [{tool}]}}"#).as_bytes()).expect("it is one");
        let tool = &manifest.tools[0];
        assert_eq!((tool.name.as_str(), tool.effect, tool.for_model), ("a.b", DeclaredEffect::Send, true));
        let error = Manifest::parse(br#"{"tools": [{"name": "a.b"}]}"#).expect_err("a tool needs more");
        assert!(format!("{error:#}").contains("missing field `description`"), "{error:#}");
    }
}
