//! Plugins that store the tapes: `guests/tapes-http`, with a server on loopback, and one that violates the contract.

mod conformance;
pub mod nonsense;
mod place;
mod queries;
mod stand_in;
mod trouble;
mod turns;

use crate::home;
use bub_tape::{Entry, MemoryStore};
use bub_tests::{Home, programs, tape};
use serde_json::Value;
use stand_in::{Mood, Searching, StandIn};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

/// The token that the server expects.
const TOKEN: &str = "t0ken-of-the-tests";

/// A server without tapes, and a home whose tapes it keeps.
fn keeping() -> (Home, StandIn) {
    let server = StandIn::new(Arc::new(MemoryStore::new()), Some(TOKEN));
    let home = home();
    kept_at(&home, &server.base());
    (home, server)
}

/// Lets the server at `base` keep the tapes of that home.
fn kept_at(home: &Home, base: &str) {
    home.plugin("tapes-http", programs::TAPES_HTTP);
    home.configure(&configuration(base));
    keep_token(&home.bub_home(), TOKEN);
}

fn configuration(base: &str) -> String {
    format!(
        "[plugins.tapes-http]\nfollow = true\n\
         grants = [\"hook:tape-store\", \"http:{base}\", \"secret:tapes\"]\n\
         [plugins.tapes-http.config]\nurl = \"{base}\"\ntoken = \"tapes\"\n"
    )
}

/// `secrets.toml`, closed to others.
fn keep_token(bub_home: &Path, token: &str) {
    let file = bub_home.join("secrets.toml");
    fs::write(&file, format!("[tapes]\nvalue = \"{token}\"\nhosts = [\"127.0.0.1\"]\n")).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
}

/// The name of a session's tape.
fn name(home: &Home, session: &str) -> String {
    home.tape_file(session).file_stem().unwrap().to_str().unwrap().to_owned()
}

/// The tape of the terminal's session, as the server keeps it.
fn kept(home: &Home, server: &StandIn) -> Vec<Entry> {
    server.tape(&name(home, "cli:local"))
}

/// The messages of user and model in it.
fn said(entries: &[Entry]) -> Vec<String> {
    let content = |entry: &Entry| {
        let payload: Value = serde_json::from_str(&entry.payload).unwrap();
        payload["content"].as_str().unwrap_or_default().lines().last().unwrap_or_default().to_owned()
    };
    entries.iter().filter(|entry| entry.is("message")).map(content).collect()
}

#[track_caller]
fn ids_follow(entries: &[Entry]) {
    let ids: Vec<u64> = entries.iter().map(|entry| entry.id).collect();
    assert_eq!(ids, (1..=entries.len() as u64).collect::<Vec<_>>());
}

/// No tape is stored in the home; it holds only journals.
#[track_caller]
fn nothing_at_home(home: &Home) {
    let tapes = tape::all(&home.tapes_dir());
    assert!(tapes.is_empty(), "{:?}", tapes.keys());
}
