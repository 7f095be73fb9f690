//! Plugins that are written with `wit-bindgen` alone do what those with the SDK do, and the book's page that compares both
//! shows the sources that are built here.

use crate::book::root;
use crate::{home, plugin_kinds, weather};
use bub_tests::{Home, programs};
use std::fs;

/// A home with this plugin, and its name.
fn with(name: &'static str, component: &str) -> (Home, &'static str) {
    let home = home().strict();
    let path = home.bub_home().join(format!("{name}.wasm"));
    fs::copy(component, &path).expect("the home can be written");
    let added = home.bub(["plugin", "add", path.to_str().expect("UTF-8"), "--yes"]).finish();
    assert_eq!(added.code, Some(0), "{added}");
    let checked = home.bub(["plugin", "check", name]).finish();
    assert_eq!(checked.code, Some(0), "{checked}");
    (home, name)
}

#[test]
pub(crate) fn bindgen_selector() {
    let (home, name) = with("bindgen-selector", programs::BINDGEN_SELECTOR);
    plugin_kinds::selects_the_last_exchange(&home, name);
}

#[test]
pub(crate) fn bindgen_gate() {
    let (home, _) = with("bindgen-gate", programs::BINDGEN_GATE);
    plugin_kinds::denies_blocked_commands(&home);
}

#[test]
pub(crate) fn bindgen_provider() {
    let (home, name) = with("bindgen-provider", programs::BINDGEN_PROVIDER);
    plugin_kinds::answers_as_a_model(&home, name);
}

#[test]
pub(crate) fn bindgen_channel() {
    let (home, name) = with("bindgen-channel", programs::BINDGEN_CHANNEL);
    plugin_kinds::takes_a_message_and_posts_the_answer(home, name);
}

#[test]
pub(crate) fn bindgen_weather() {
    weather::asks_with_the_key(programs::BINDGEN_WEATHER);
    weather::refuses_and_reports_failures(programs::BINDGEN_WEATHER);
}

/// A source as the page shows it: without its tests, and with a name.
fn shown(path: &str, name: &str) -> String {
    let source = fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let code = source.split("\n#[cfg(test)]").next().expect("it has a beginning");
    code.replace("{{name}}", name).trim_end().to_owned()
}

#[test]
fn the_page_that_compares_plugins_with_and_without_the_sdk_shows_their_sources_and_lengths() {
    let page = fs::read_to_string(root().join("docs/src/guide/plugin-bindgen.md")).expect("it is there");
    let sources = ["selector", "gate", "channel", "provider"].map(|kind| {
        let with = shown(&format!("guests/templates/rust/{kind}/src/lib.rs"), &format!("my-{kind}"));
        let without = shown(&format!("tests/programs/examples/bindgen_{kind}.rs"), "");
        (kind, with, without)
    });
    for (kind, with, without) in &sources {
        for code in [with, without] {
            let block = format!("```rust,ignore\n{code}\n```\n");
            assert!(page.contains(&block), "the page does not show this {kind}, as it is:\n{block}");
        }
        let row = format!("| {kind} | {} | {} |", with.lines().count(), without.lines().count());
        assert!(page.contains(&row), "the page does not have `{row}`");
    }
    let http = shown("tests/programs/bindgen_http.rs", "");
    assert!(page.contains(&format!("```rust,ignore\n{http}\n```\n")), "the page does not show `bindgen_http.rs`");
    let with = shown("guests/examples/weather/src/lib.rs", "").lines().count();
    let without = shown("tests/programs/examples/bindgen_weather.rs", "").lines().count();
    let row = format!("| weather tool | {with} | {without} |");
    assert!(page.contains(&row), "the page does not have `{row}`");
    let row = format!("`bindgen_http.rs`, {} lines", http.lines().count());
    assert!(page.contains(&row), "the page does not say `{row}`");
}
