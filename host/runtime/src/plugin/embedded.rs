//! The guests that the program carries, in the order in which they are registered.

/// A guest inside this program, and what it holds unless the configuration takes it away.
pub(super) struct Embedded {
    pub name: &'static str,
    pub bytes: &'static [u8],
    /// SHA-256 of the bytes, in hex.
    pub digest: &'static str,
    pub grants: &'static [&'static str],
}

macro_rules! guest {
    ($name:literal, $grants:expr) => {
        Embedded {
            name: $name,
            bytes: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".wasm")),
            digest: include_str!(concat!(env!("OUT_DIR"), "/", $name, ".sha256")),
            grants: &$grants,
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
