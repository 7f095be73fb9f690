//! The guests that the program carries, in the order in which they are registered.

/// A guest inside this program, and what it holds unless the configuration takes it away.
pub(crate) struct Embedded {
    pub(crate) name: &'static str,
    pub(crate) bytes: &'static [u8],
    pub(crate) grants: &'static [&'static str],
}

/// First registered first: a later one is asked before an earlier one.
pub(crate) const EMBEDDED: &[Embedded] = &[
    Embedded {
        name: "builtin",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/builtin.wasm")),
        grants: &["hook:*", "tape:read", "tape:append", "model:*", "tools:*", "agent", "usage"],
    },
    Embedded {
        name: "offline",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/offline.wasm")),
        grants: &["hook:provider"],
    },
    Embedded {
        name: "workspace",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/workspace.wasm")),
        grants: &["fs:<workspace>:rw"],
    },
    Embedded { name: "shell", bytes: include_bytes!(concat!(env!("OUT_DIR"), "/shell.wasm")), grants: &["process"] },
    Embedded {
        name: "web",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/web.wasm")),
        grants: &["http:*", "http:http://*"],
    },
    Embedded {
        name: "skills",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/skills.wasm")),
        grants: &[
            "hook:system-prompt",
            "fs:~/.agents/skills:ro",
            "fs:<workspace>/.agents/skills:ro",
            "fs:<workspace>/.agent/skills:ro",
        ],
    },
    Embedded {
        name: "tapes",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/tapes.wasm")),
        grants: &["tape:read", "tape:append", "tape:reset"],
    },
    Embedded {
        name: "memory",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/memory.wasm")),
        grants: &["hook:system-prompt", "hook:before-reset", "tape:read", "tape:append", "tape:workspace"],
    },
    Embedded {
        name: "context-builder",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/context-builder.wasm")),
        grants: &["hook:selector", "hook:after-turn", "tape:read", "tape:event", "model:*"],
    },
    Embedded {
        name: "telegram",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/telegram.wasm")),
        grants: &["hook:channel", "http:api.telegram.org", "secret:telegram_token"],
    },
];

/// The names of those guests, and what each holds where the configuration is silent.
pub(crate) fn embedded() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    EMBEDDED.iter().map(|guest| (guest.name, guest.grants))
}
