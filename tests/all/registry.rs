//! Plugins from registries, with Debian's `docker-registry` on loopback.

mod audit;
mod hostile;
mod keyless;
mod published;
mod required;
#[path = "../../host/sigstore/tests/all/world.rs"]
mod world;

use crate::plugin_add::{described, does, new, plugin};
use crate::plugin_test::project;
use bub_registry::Lock;
use bub_tests::{Home, programs};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// A manifest of the plugin `notes`.
fn manifest(version: &str, wants: &[&str]) -> Value {
    let wants: Vec<Value> = wants.iter().map(|grant| json!({ "grant": grant, "why": "to do it" })).collect();
    json!({ "name": "notes", "version": version, "about": "Writes in capitals.", "wants": wants })
}

/// The plugin `notes`, which answers in capitals if it may.
fn component(version: &str, wants: &[&str]) -> Vec<u8> {
    described(programs::PROMPT_UPPER, &manifest(version, wants))
}

/// Makes the workspace the project of that component.
fn make_project(home: &Home, component: &[u8]) {
    fs::write(home.workspace().join("made.wasm"), component).expect("the workspace can be written");
    fs::write(home.workspace().join("README.md"), "# Notes\n").expect("the workspace can be written");
    project(home, "notes", "made.wasm");
}

/// Makes a key, and returns its file and its public key.
fn key(home: &Home, name: &str) -> (PathBuf, String) {
    let file = home.workspace().join(name);
    let said = does(home, ["key", file.to_str().expect("UTF-8"), "--no-password"]);
    let line = said.lines().find_map(|line| line.strip_prefix("key = \"")).expect("it prints the public key");
    (file, line.trim_end_matches('"').to_owned())
}

/// Trusts a key for `notes`.
fn trust(home: &Home, name: &str, public: &str) {
    home.configure(&format!("[trust.keys.{name}]\nkey = \"{public}\"\nplugins = [\"notes\"]"));
}

/// Publishes a component as the project's, signed with that key file.
#[track_caller]
fn publish(home: &Home, to: &str, component: &[u8], key: &std::path::Path) -> String {
    make_project(home, component);
    does(home, ["publish", "--to", to, "--key", key.to_str().expect("UTF-8")])
}

fn lock(home: &Home) -> Lock {
    Lock::read(&home.bub_home()).unwrap_or_else(|error| panic!("{error:#}"))
}

fn installed(home: &Home) -> PathBuf {
    home.bub_home().join("plugins/notes.wasm")
}

/// Whether the plugin `notes` runs, and may.
#[track_caller]
fn answers(home: &Home, does: bool) {
    home.run(["hi"]).finish().says(if does { "[cli:local]\nHI\n" } else { "[cli:local]\nhi\n" });
}
