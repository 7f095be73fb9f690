//! The tests of the whole program, in one binary. Each starts the program as a person does; the model is a server on
//! loopback that says what the test gives it to say.

mod agents_file;
mod bad_input;
mod cache;
mod cancellation;
mod channels;
mod chat;
mod commands;
mod compiling;
mod completion;
mod conformance;
mod context;
mod contracts;
mod corpus;
mod deadline;
mod denials;
mod differences;
mod directories;
mod doctor;
mod ending;
mod environment;
mod estimate;
mod fallback;
mod faults;
mod files;
mod fresh_home;
mod gates;
mod gateway;
mod grants;
mod guest_store;
mod guests;
mod handoff;
mod hooks;
mod hostile;
mod interruption;
mod languages;
mod layers;
mod limits;
mod loader;
mod logs;
mod machine;
mod matrix;
mod media;
mod memory;
mod model;
mod net;
mod obeyed_files;
mod plugin_add;
mod plugin_check;
mod plugin_commands;
mod plugin_fetch;
mod plugin_kept;
mod plugin_manifest;
mod plugin_names;
mod plugin_repro;
mod plugins;
mod policy;
mod process;
mod programs;
mod provenance;
mod proxies;
mod quarantine;
mod secret;
mod secrets_seen;
mod selectors;
mod serve;
mod settings;
mod skills;
mod subagents;
mod swap;
mod tape;
mod tape_commands;
mod telegram;
mod tool_guests;
mod tools;
mod usage;
mod versions;
mod webhook;
mod workspace_plugins;

use bub_tests::Home;

/// A new home for the program of this build.
fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_bub-wasm"), env!("CARGO_TARGET_TMPDIR"))
}
