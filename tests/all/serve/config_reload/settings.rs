//! Settings that take effect at once, and settings that need a restart.

use super::super::{echo, say};
use super::{IN_EFFECT, a_while, count, home_with, in_effect, named, serving, start, until};
use bub_tests::{Serve, programs};
use serde_json::json;

#[test]
fn where_it_listens_waits_for_the_next_start_and_the_rest_does_not() {
    let model = named();
    let home = home_with(&model);
    home.configure("[serve]\nlisten = \"127.0.0.1:0\"");
    let serve = serving(&home, &[]);
    home.configure("model = \"openai:new\"\n[serve]\nlisten = \"127.0.0.1:9\"");
    in_effect(&serve, 1);
    let line =
        "`serve.listen` of config.toml is `127.0.0.1:9` from the next start on; until then it stays `127.0.0.1:0`";
    serve.program().wait_for(line);
    assert_eq!(say(&serve, "a", "hi")["model_output"], "new answers");
    // A message is not repeated.
    home.configure("model = \"openai:newer\"");
    in_effect(&serve, 2);
    assert_eq!(say(&serve, "a", "hi")["model_output"], "newer answers");
    assert_eq!(count(&serve, "from the next start on"), 1, "{}", serve.program().told());
}

#[test]
fn how_tapes_are_kept_waits_for_the_next_start() {
    let model = named();
    let home = home_with(&model);
    let serve = start(&home);
    home.configure("tape_store = \"sqlite:tapes.db\"\ndurability = \"fsync\"\nlock_wait = 7.5\nshared_fs = true");
    in_effect(&serve, 1);
    say(&serve, "a", "hi");
    let told = serve.end().stderr;
    for line in [
        "`tape_store` of config.toml is `sqlite:tapes.db` from the next start on; until then it stays `files`",
        "`durability` of config.toml is `fsync` from the next start on; until then it stays `os`",
        "`lock_wait` of config.toml is `7.5` from the next start on",
        "`shared_fs` of config.toml is `true` from the next start on; until then it stays `false`",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    assert!(home.tape_file("a").exists() && !home.bub_home().join("tapes.db").exists());
}

#[test]
fn the_command_line_overrides_the_file() {
    let model = named();
    let home = home_with(&model);
    let run = home.bub(["serve", "--listen", "127.0.0.1:0"]).watched().env("BUB_API_KEY", "sk-fake");
    let serve = Serve::start(run.env("BUB_MODEL", "openai:mine"), &home.bub_home());
    home.configure("model = \"openai:new\"\n[serve]\nlisten = \"127.0.0.1:9\"");
    in_effect(&serve, 1);
    assert_eq!(say(&serve, "a", "hi")["model_output"], "mine answers", "the environment stands above the file");
    a_while();
    assert_eq!(count(&serve, "next start"), 0, "{}", serve.program().told());
}

#[test]
fn a_channel_that_is_switched_off_is_served_no_more() {
    let model = echo();
    let home = home_with(&model);
    home.plugin("poster", programs::POSTER);
    home.configure("[plugins.poster.config]\nflags = [\"webhook\"]");
    let serve = start(&home);
    let post = || serve.strange("POST", "/channels/poster").body("anything").send().status;
    assert_eq!(post(), 200);
    home.configure("[serve]\nenabled_channels = [\"!poster\"]");
    in_effect(&serve, 1);
    assert_eq!(post(), 404);
    home.configure("[serve]\nenabled_channels = [\"all\"]");
    in_effect(&serve, 2);
    assert_eq!(post(), 200);
    assert_eq!(count(&serve, "channel `poster` is no longer served"), 1);
}

/// A page of another name is asked about by what holds now.
#[test]
fn names_and_pages_that_are_configured_are_known_at_once() {
    let model = echo();
    let home = home_with(&model);
    let serve = start(&home);
    let ask = || serve.ask("GET", "/v1/sessions").header("host", "agent.example").header("origin", "https://a.example");
    ask().send().refused(421, "serve.hosts");
    home.configure("[serve]\nhosts = [\"agent.example\"]\norigins = [\"https://a.example\"]");
    in_effect(&serve, 1);
    assert_eq!(ask().send().status, 200);
    home.configure("[serve]\nhosts = []\norigins = []");
    in_effect(&serve, 2);
    ask().send().refused(421, "serve.hosts");
}

#[test]
fn a_plugin_has_the_settings_that_are_configured_and_the_others_are_left_alone() {
    let model = echo();
    let home = home_with(&model);
    home.scripted("p", programs::SCRIPTED, "build-prompt = \"the first\"");
    home.plugin("upper", programs::PROMPT_UPPER);
    home.configure("[plugins.upper]\nenabled = false");
    let serve = start(&home);
    let asked = || model.requests().last().map(|request| request.last_content()).unwrap_or_default();
    say(&serve, "a", "hi");
    assert!(asked().ends_with("the first"), "{}", asked());
    home.configure("[plugins.p.config.answers]\nbuild-prompt = \"the second\"");
    in_effect(&serve, 1);
    say(&serve, "a", "hi");
    assert!(asked().ends_with("the second"), "{}", asked());
    // One is switched off, and another on.
    home.configure("[plugins.p]\nenabled = false\n[plugins.upper]\nenabled = true");
    in_effect(&serve, 2);
    say(&serve, "a", "hi");
    assert!(asked().ends_with("HI"), "{}", asked());
    let told = serve.end().stderr;
    let changed: Vec<&str> = told.lines().filter(|line| line.contains("other settings")).collect();
    assert_eq!(changed.len(), 1, "{told}");
    assert!(changed[0].contains("plugin `p` serves with other settings"), "{told}");
    assert!(told.contains("plugin `p` is gone") && told.contains("plugin `upper` is there now"), "{told}");
}

#[test]
fn a_plugin_of_the_program_is_switched_off_and_on() {
    let model = echo();
    let home = home_with(&model);
    let serve = start(&home);
    let has = |name: &str| {
        let plugins = serve.get("/v1/plugins");
        plugins["plugins"].as_array().unwrap().iter().any(|plugin| plugin["name"] == json!(name))
    };
    assert!(has("memory"));
    home.configure("[plugins.memory]\nenabled = false");
    in_effect(&serve, 1);
    assert!(!has("memory") && has("builtin"));
    home.configure("[plugins.memory]\nenabled = true");
    in_effect(&serve, 2);
    assert!(has("memory"));
    assert_eq!(count(&serve, "other settings"), 0, "{}", serve.program().told());
    until("it is said so", || count(&serve, IN_EFFECT) == 2);
}
