//! The guests that the program carries, in the order in which they are registered.

use anyhow::{Context, Result};
use bub_permissions::Grant;
use bub_types::hook::Hook;
use flate2::read::ZlibDecoder;
use std::io::Read;

/// A guest inside this program, and what it holds unless the configuration takes it away.
pub(super) struct Embedded {
    pub name: &'static str,
    /// The facts that are known without its bytes: a start needs no more, once its compiled code is kept.
    pub outline: EmbeddedOutline,
    pub grants: &'static [Grant],
    /// The component, compressed.
    compressed: &'static [u8],
}

/// The facts that `build.rs` reads of a guest.
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
pub(super) static EMBEDDED: [Embedded; 11] = [
    guest!(
        "builtin",
        [
            Grant::ALL_HOOKS,
            Grant::TAPE_READ,
            Grant::TAPE_APPEND,
            Grant::ALL_MODELS,
            Grant::ALL_TOOLS,
            Grant::AGENT,
            Grant::USAGE
        ]
    ),
    guest!("offline", [Grant::hook(Hook::Provider)]),
    guest!("workspace", [Grant::WORKSPACE]),
    guest!("shell", [Grant::PROCESS_SANDBOXED]),
    guest!("web", [Grant::constant("http:*"), Grant::constant("http:http://*")]),
    guest!(
        "skills",
        [
            Grant::hook(Hook::SystemPrompt),
            Grant::constant("fs:~/.agents/skills:ro"),
            Grant::constant("fs:<workspace>/.agents/skills:ro"),
            Grant::constant("fs:<workspace>/.agent/skills:ro")
        ]
    ),
    guest!("tapes", [Grant::TAPE_READ, Grant::TAPE_APPEND, Grant::TAPE_RESET]),
    guest!(
        "memory",
        [
            Grant::hook(Hook::SystemPrompt),
            Grant::hook(Hook::BeforeReset),
            Grant::TAPE_READ,
            Grant::TAPE_APPEND,
            Grant::TAPE_WORKSPACE
        ]
    ),
    guest!(
        "context-builder",
        [
            Grant::hook(Hook::Selector),
            Grant::hook(Hook::AfterTurn),
            Grant::RECALL,
            Grant::TAPE_READ,
            Grant::TAPE_EVENT,
            Grant::ALL_MODELS
        ]
    ),
    guest!(
        "telegram",
        [
            Grant::hook(Hook::Channel),
            Grant::constant("http:api.telegram.org"),
            Grant::constant("secret:telegram_token")
        ]
    ),
    // Its grants are those of the servers that are configured, and it is not loaded where there are none.
    guest!("mcp", []),
];

/// The names of those guests, and what each holds where the configuration is silent.
pub fn embedded() -> impl Iterator<Item = (&'static str, &'static [Grant])> {
    EMBEDDED.iter().map(|guest| (guest.name, guest.grants))
}

/// The names of those guests, and the SHA-256 of their bytes, in hex.
pub fn embedded_digests() -> impl Iterator<Item = (&'static str, &'static str)> {
    EMBEDDED.iter().map(|guest| (guest.name, guest.outline.digest))
}

/// Whether the program carries a guest of that name.
pub fn is_embedded(name: &str) -> bool {
    EMBEDDED.iter().any(|embedded| embedded.name == name)
}
