//! The guests that the program carries, in the order in which they are registered.

use anyhow::{Context, Result};
use flate2::read::ZlibDecoder;
use std::io::Read;

/// A guest inside this program, and what it holds unless the configuration takes it away.
pub(super) struct Embedded {
    pub name: &'static str,
    /// What is known of it without its bytes: a start needs no more, once its compiled code is kept.
    pub outline: EmbeddedOutline,
    pub grants: &'static [&'static str],
    /// The component, compressed.
    compressed: &'static [u8],
}

/// What `build.rs` reads of a guest.
pub(super) struct EmbeddedOutline {
    /// SHA-256 of the bytes, in hex.
    pub digest: &'static str,
    /// Their number.
    pub size: usize,
    /// The names of what it exports and imports.
    pub exports: &'static [&'static str],
    pub imports: &'static [&'static str],
    /// Its manifest.
    pub manifest: &'static str,
}

impl Embedded {
    /// The component.
    ///
    /// # Errors
    ///
    /// The program file is damaged.
    pub(super) fn bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.outline.size);
        let damaged = || format!("the guest `{}` in the program file is damaged; install the program again", self.name);
        ZlibDecoder::new(self.compressed).read_to_end(&mut bytes).with_context(damaged)?;
        Ok(bytes)
    }
}

macro_rules! guest {
    ($name:literal, $grants:expr) => {
        Embedded {
            name: $name,
            outline: include!(concat!(env!("OUT_DIR"), "/", $name, ".rs")),
            grants: &$grants,
            compressed: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".wasm.zlib")),
        }
    };
}

/// First registered first: a later one is asked before an earlier one.
pub(super) static EMBEDDED: [Embedded; 10] = [
    guest!("builtin", ["hook:*", "tape:read", "tape:append", "model:*", "tools:*", "agent", "usage"]),
    guest!("offline", ["hook:provider"]),
    guest!("workspace", ["fs:<workspace>:rw"]),
    guest!("shell", ["process"]),
    guest!("web", ["http:*", "http:http://*"]),
    guest!(
        "skills",
        [
            "hook:system-prompt",
            "fs:~/.agents/skills:ro",
            "fs:<workspace>/.agents/skills:ro",
            "fs:<workspace>/.agent/skills:ro"
        ]
    ),
    guest!("tapes", ["tape:read", "tape:append", "tape:reset"]),
    guest!("memory", ["hook:system-prompt", "hook:before-reset", "tape:read", "tape:append", "tape:workspace"]),
    guest!("context-builder", ["hook:selector", "hook:after-turn", "recall", "tape:read", "tape:event", "model:*"]),
    guest!("telegram", ["hook:channel", "http:api.telegram.org", "secret:telegram_token"]),
];

/// The names of those guests, and what each holds where the configuration is silent.
pub fn embedded() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    EMBEDDED.iter().map(|guest| (guest.name, guest.grants))
}

/// Whether the program carries a guest of that name.
pub fn is_embedded(name: &str) -> bool {
    EMBEDDED.iter().any(|embedded| embedded.name == name)
}
