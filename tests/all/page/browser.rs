//! The page of `serve` in headless Chromium: the scripts of `tests/page` play what a user does, and check what is seen.
//!
//! Playwright and axe come from npm. Where they or Chromium cannot be had, the tests say so.

mod figures;
mod hostile;
mod model;
mod screenshots;

use crate::home;
use crate::packages::{absent, node, place};
use crate::plugin_add::{described, file};
use crate::serve::{serve, token_of};
use bub_tests::{Home, Serve, programs};
use model::model;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const CHROMIUM: &str = "/usr/bin/chromium";

/// The folders that hold the packages of the scripts.
struct Packages {
    playwright: PathBuf,
    axe: PathBuf,
}

/// Installs the packages once, or says that they are not there.
fn packages() -> Option<&'static Packages> {
    static PACKAGES: OnceLock<Option<Packages>> = OnceLock::new();
    let install = || {
        if !Path::new(CHROMIUM).is_file() {
            absent("Chromium");
            return None;
        }
        Some(Packages { playwright: node("playwright-core", "1.65.1")?, axe: node("axe-core", "4.14.1")? })
    };
    PACKAGES.get_or_init(install).as_ref()
}

/// A script about to be played.
struct Play(Command);

impl Play {
    /// The script of that name, for that server.
    fn new(packages: &Packages, script: &str, home: &Home, serve: &Serve<'_>) -> Self {
        let shots = place("page");
        fs::create_dir_all(&shots).expect("the scratch directory can be written");
        let mut node = Command::new("node");
        node.arg(format!("{}/../../tests/page/{script}.mjs", env!("CARGO_MANIFEST_DIR")))
            .env("PLAYWRIGHT", packages.playwright.join("node_modules/playwright-core/index.js"))
            .env("AXE", packages.axe.join("node_modules/axe-core/axe.min.js"))
            .env("CHROMIUM", CHROMIUM)
            .env("BASE", serve.base())
            .env("TOKEN", serve.token())
            .env("WORKSPACE", home.workspace())
            .env("SHOTS", shots);
        Self(node)
    }

    /// With one more variable.
    fn with(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    /// Plays it to its end; its output.
    #[track_caller]
    fn passes(mut self) -> String {
        let output = self.0.output().expect("Node runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        println!("{said}");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        said
    }
}

/// A link that logs a browser in.
fn link(home: &Home) -> String {
    let finished = home.bub(["open"]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    finished.stdout.lines().next().unwrap_or_default().to_owned()
}

#[test]
#[ignore = "plays the page in a browser"]
fn a_browser_signs_in_by_link_and_by_token_and_a_login_that_ends_keeps_the_draft() {
    let Some(packages) = packages() else { return };
    let home = home();
    let token = token_of(&home, "phone", "owner", "\"read\", \"turns\"", "");
    let model = model();
    let serve = serve(&home, &model);
    let links = [(); 4].map(|()| link(&home));
    Play::new(packages, "sign_in", &home, &serve).with("LINKS", links.join("\n")).with("PHONE", token).passes();
}

#[test]
#[ignore = "plays the page in a browser"]
fn a_conversation_is_streamed_steered_stopped_forked_and_resumed() {
    let Some(packages) = packages() else { return };
    let home = home();
    // Messages to a session whose turn runs go into that turn.
    home.scripted("porter", programs::SCRIPTED, "admit-message = \"steer\"");
    fs::write(home.workspace().join("note.txt"), "heron").expect("a file");
    let model = model();
    let serve = serve(&home, &model);
    Play::new(packages, "talk", &home, &serve).passes();
}

#[test]
#[ignore = "plays the page in a browser"]
fn a_question_is_answered_on_one_page_and_leaves_the_others() {
    let Some(packages) = packages() else { return };
    let home = home();
    home.configure("[policy]\napprove = \"ask\"\n");
    let model = model();
    let serve = serve(&home, &model);
    let config = home.bub_home().join("config.toml");
    Play::new(packages, "decide", &home, &serve).with("CONFIG", &config).passes();
}

#[test]
#[ignore = "plays the page in a browser"]
fn a_tape_is_read_searched_compared_handed_off_forked_and_exported() {
    let Some(packages) = packages() else { return };
    let home = home();
    fs::write(home.workspace().join("note.txt"), "heron").expect("a file");
    let model = model();
    let serve = serve(&home, &model);
    Play::new(packages, "tape", &home, &serve).passes();
}

#[test]
#[ignore = "plays the page in a browser"]
fn memory_is_added_corrected_compared_and_forgotten() {
    let Some(packages) = packages() else { return };
    let home = home();
    let model = model();
    let serve = serve(&home, &model);
    Play::new(packages, "memory", &home, &serve).passes();
}

#[test]
#[ignore = "plays the page in a browser"]
fn a_plugin_is_dropped_inspected_added_revoked_and_rolled_back() {
    let Some(packages) = packages() else { return };
    let home = home().strict();
    let versions = ["1.0.0", "2.0.0"].map(|version| {
        let bytes = described(programs::PROMPT_UPPER, &upper(version));
        file(&home, &format!("{version}.wasm"), &bytes)
    });
    let model = model();
    let serve = serve(&home, &model);
    let play = Play::new(packages, "plugins", &home, &serve);
    play.with("FIRST_VERSION", &versions[0]).with("SECOND_VERSION", &versions[1]).passes();
}

fn upper(version: &str) -> serde_json::Value {
    json!({
        "version": version,
        "about": "Says all in capitals.",
        "wants": [{ "grant": "hook:build-prompt", "why": "to hear it" }, { "grant": "tape:read", "why": "to read it" }],
    })
}

#[test]
#[ignore = "plays the page in a browser"]
fn costs_the_log_and_running_turns_are_shown() {
    let Some(packages) = packages() else { return };
    let home = home();
    home.configure("[budget]\ntokens_per_day = 100000\n");
    let model = model();
    let serve = serve(&home, &model);
    Play::new(packages, "costs", &home, &serve).with("CONFIG", home.bub_home().join("config.toml")).passes();
}

#[test]
#[ignore = "plays the page in a browser"]
fn every_view_is_used_by_keyboard_alone_and_speaks_chinese() {
    let Some(packages) = packages() else { return };
    let home = home();
    fs::write(home.workspace().join("note.txt"), "heron").expect("a file");
    let model = model();
    let serve = serve(&home, &model);
    for content in
        ["hello", "read note.txt", ",memory.add content=\"the heron eats fish\"", ",memory.daily content=\"watched\""]
    {
        serve.post("/v1/turns", &json!({ "content": content, "session_id": "http:views" }));
    }
    Play::new(packages, "views", &home, &serve).passes();
}
