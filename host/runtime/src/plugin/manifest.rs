//! The description that a plugin gives of itself, read without running it.

mod declared;

use super::outline::Outline;
use anyhow::{Context, Result, bail};
use bub_permissions::{Grant, Grants};
use bub_types::text::one_line;
use serde::{Deserialize, Serialize};

pub use declared::DeclaredChannel;
pub(super) use declared::tools_differ;
pub(super) use declared::{Declared, DeclaredCommand, DeclaredProvider, DeclaredTool};

/// The largest manifest that is read, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// Grants that a manifest may ask for, and the longest of them, in bytes.
const MAX_WANTS: usize = 256;
const MAX_GRANT: usize = 4096;

/// The description of a plugin, and the grants that it asks for.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The name under which it is known; none: that of its file.
    #[serde(default)]
    pub name: Option<String>,
    /// Its own version.
    #[serde(default)]
    pub version: String,
    /// Its purpose, in a sentence.
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
    /// Its tools. None: it is asked once, and the answer is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Declared<Vec<DeclaredTool>>>,
    /// Its commands. None: as with tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<Declared<Vec<DeclaredCommand>>>,
    /// The model provider that it is. None: as with tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Declared<DeclaredProvider>>,
    /// The channel that it is. None: it is asked whenever channels are looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Declared<DeclaredChannel>>,
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
    pub grant: Grant,
    /// The reason, in the author's words.
    pub why: String,
}

impl Manifest {
    /// The manifest in the component's custom section; none, when it has no such section.
    ///
    /// # Errors
    ///
    /// The section is no manifest, or there are two.
    pub fn read(component: &[u8]) -> Result<Option<Self>> {
        let outline = Outline::read(component);
        if outline.has_two_manifests {
            bail!("it has two sections `bub:manifest`");
        }
        outline.manifest.map(Self::parse).transpose()
    }

    /// The manifest in the text of a component's custom section.
    ///
    /// # Errors
    ///
    /// The section is no manifest.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        Self::unchecked(bytes)?.checked()
    }

    /// The same, as its author wrote it.
    pub(super) fn unchecked(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_BYTES {
            bail!("its manifest has more than {} KiB", MAX_BYTES >> 10);
        }
        let text = std::str::from_utf8(bytes).context("its manifest is no UTF-8")?;
        crate::plugin::json::check_depth(text).map_err(|reason| anyhow::anyhow!("its manifest is {reason}"))?;
        // A derived parser takes a list of the values in order as well.
        if text.trim_start().starts_with('{')
            && let Ok(manifest) = serde_json::from_str::<Self>(text)
        {
            return Ok(manifest);
        }
        Err(Self::wrong(text))
    }

    /// Says what is wrong with a text that is no manifest.
    fn wrong(text: &str) -> anyhow::Error {
        let fields = match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text) {
            Ok(fields) => fields,
            Err(error) if error.is_data() => {
                return anyhow::Error::new(error).context("its manifest is not understood");
            }
            Err(error) => return anyhow::anyhow!("its manifest is no JSON: {error}"),
        };
        // An invalid grant is named as what the plugin wants, without its place in a file that the build has made.
        for want in fields.get("wants").and_then(|wants| wants.as_array()).into_iter().flatten() {
            let grant = want.get("grant").and_then(|grant| grant.as_str()).map(str::parse::<Grant>);
            if let Some(Err(reason)) = grant {
                return anyhow::anyhow!("its manifest wants {reason}");
            }
        }
        // From the text again, so that the error says where it is wrong.
        match serde_json::from_str::<Self>(text) {
            Ok(_) => anyhow::anyhow!("its manifest is no object"),
            Err(error) => anyhow::Error::new(error).context("its manifest is not understood"),
        }
    }

    /// The same, fit to be shown to people: its author is not trusted yet.
    pub fn checked(mut self) -> Result<Self> {
        if self.wants.len() > MAX_WANTS {
            bail!("its manifest wants {} grants; at most {MAX_WANTS} can be asked for", self.wants.len());
        }
        for want in &mut self.wants {
            let grant = want.grant.as_str();
            if grant.chars().any(char::is_control) || grant.len() > MAX_GRANT {
                bail!("its manifest wants `{}`, which is not a grant", one_line(grant));
            }
            want.why = one_line(&want.why);
        }
        self.version = one_line(&self.version);
        self.about = one_line(&self.about);
        Ok(self)
    }

    /// All that it wants.
    pub fn grants(&self) -> Grants {
        self.wants.iter().map(|want| want.grant.clone()).collect()
    }
}
