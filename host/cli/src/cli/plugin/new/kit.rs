//! The archive that the program carries: templates, contracts and SDKs.

use anyhow::{Context, Result};
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::io::Read;

static ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kit.tar.gz"));

/// The languages, each with its kinds.
static LANGUAGES: &[(&str, &[&str])] = include!(concat!(env!("OUT_DIR"), "/kit.rs"));

/// The kinds of plugins, and what each is.
pub(super) const KINDS: [(&str, &str); 7] = [
    ("tool", "something that a model can call"),
    ("prompt", "a part of the system prompt"),
    ("selector", "what of a conversation a model sees"),
    ("gate", "a decision about tool calls"),
    ("channel", "where messages come from and go to"),
    ("provider", "models"),
    ("store", "where conversations are kept"),
];

/// A file of a project.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) bytes: Vec<u8>,
    pub(super) is_executable: bool,
}

/// Files by their path, with `/` between its parts.
pub(super) type Files = BTreeMap<String, File>;

/// The languages that have templates.
pub(super) fn languages() -> Vec<&'static str> {
    LANGUAGES.iter().map(|(language, _)| *language).collect()
}

/// A language as people write it.
pub(super) fn title(language: &str) -> &str {
    match language {
        "rust" => "Rust",
        "python" => "Python",
        "javascript" => "JavaScript",
        "go" => "Go",
        "c" => "C",
        other => other,
    }
}

/// The kinds that have a template in that language.
pub(super) fn kinds_of(language: &str) -> &'static [&'static str] {
    LANGUAGES.iter().find(|(known, _)| *known == language).map_or(&[], |(_, kinds)| kinds)
}

/// Unpacks the archive into memory.
///
/// # Errors
///
/// The program is damaged.
pub(super) fn unpack() -> Result<Files> {
    let mut files = Files::new();
    let mut archive = tar::Archive::new(GzDecoder::new(ARCHIVE));
    let unpacked = archive.entries().and_then(|entries| {
        for entry in entries {
            let mut entry = entry?;
            let path = entry.path()?.to_string_lossy().into_owned();
            let is_executable = entry.header().mode()? & 0o100 != 0;
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            files.insert(path, File { bytes, is_executable });
        }
        Ok(())
    });
    unpacked.context("the templates in this program are damaged; install it again")?;
    Ok(files)
}
