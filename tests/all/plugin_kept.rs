//! Versions of plugins: replacing, removing and restoring them.

use crate::home;
use crate::plugin_add::{described, does, file, inspected, new, plugin};
use bub_tests::{Home, programs};
use serde_json::{Value, json};
use std::fs;

fn version(number: &str, wants: &[&str]) -> Value {
    let wants: Vec<Value> = wants.iter().map(|grant| json!({ "grant": grant, "why": "to do it" })).collect();
    json!({ "version": number, "wants": wants })
}

/// Adds that version of `notes`, with these arguments.
#[track_caller]
fn add(home: &Home, program: &str, manifest: &Value, more: &[&str]) -> String {
    let path = file(home, "notes.wasm", &described(program, manifest));
    does(home, ["add", path.to_str().expect("UTF-8")].into_iter().chain(more.iter().copied()))
}

fn table(home: &Home) -> toml::Table {
    let text = fs::read_to_string(home.bub_home().join("config.toml")).expect("it is there");
    let config: toml::Table = text.parse().expect("it is TOML");
    config["plugins"].get("notes").and_then(|table| table.as_table()).cloned().unwrap_or_default()
}

#[test]
fn a_replaced_plugin_shows_the_differences_and_has_no_grants_until_they_are_given() {
    let home = new();
    add(&home, programs::PROMPT_UPPER, &version("1.0.0", &["hook:build-prompt"]), &["--yes"]);
    home.run(["hi"]).finish().says("[cli:local]\nHI\n");
    let second = version("1.1.0", &["hook:build-prompt", "tape:read"]);
    let shown = add(&home, programs::PROMPT_UPPER, &second, &[]);
    for line in ["it replaces version 1.0.0\n", "  + want tape:read\n", "bub-wasm plugin rollback notes"] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    assert!(!shown.contains("  - ") && !shown.contains("+ want hook:build-prompt"), "{shown}");
    assert_eq!(inspected(&home, "notes")["grants"], json!([]));
    let said = home.run(["hi"]).finish().says("[cli:local]\nhi\n");
    said.mentions(
        "its grants are not for these bytes; to let it answer: bub-wasm plugin grant notes hook:build-prompt tape:read",
    );

    let shown = add(&home, programs::SCRIPTED, &version("2.0.0", &["hook:run-model"]), &[]);
    for line in ["it replaces version 1.1.0\n", "  + hook run-model\n", "  - want tape:read\n"] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    // The same in other bytes is the same.
    let mut same = version("2.0.1", &["hook:run-model"]);
    same["about"] = "the same".into();
    let shown = add(&home, programs::SCRIPTED, &same, &[]);
    assert!(shown.contains("its hooks, tools, commands, imports and requested grants are the same"), "{shown}");
}

#[test]
fn a_new_import_is_shown_even_without_a_requested_grant() {
    let home = new();
    add(&home, programs::PROMPT_UPPER, &json!({}), &[]);
    let shown = add(&home, programs::TRIER, &version("1.0.0", &["hook:run-model"]), &[]);
    assert!(shown.contains("  + import bub:process/process@0.1.0\n"), "{shown}");
}

#[test]
fn rolling_back_brings_the_bytes_and_their_grants_and_so_does_rolling_forth() {
    let home = new();
    add(&home, programs::PROMPT_UPPER, &version("1.0.0", &["hook:build-prompt"]), &["--yes"]);
    home.configure("[plugins.notes.config]\nmine = true");
    add(
        &home,
        programs::PROMPT_UPPER,
        &version("2.0.0", &["hook:build-prompt", "tape:read"]),
        &["--grant", "tape:read"],
    );
    home.run(["hi"]).finish().says("[cli:local]\nhi\n");

    for (number, grants, answer) in [
        ("1.0.0", json!(["hook:build-prompt"]), "HI"),
        ("2.0.0", json!(["tape:read"]), "hi"),
        ("1.0.0", json!(["hook:build-prompt"]), "HI"),
    ] {
        let said = does(&home, ["rollback", "notes"]);
        assert!(said.contains(&format!("plugin `notes` {number}: ")), "{said}");
        let now = inspected(&home, "notes");
        assert_eq!((&now["version"], &now["grants"]), (&number.into(), &grants), "{now}");
        home.run(["hi"]).finish().says(&format!("[cli:local]\n{answer}\n"));
        assert_eq!(table(&home)["config"]["mine"].as_bool(), Some(true));
    }
}

#[test]
fn a_removed_plugin_is_gone_with_its_grants_and_can_be_brought_back_with_them() {
    let home = new();
    add(&home, programs::PROMPT_UPPER, &version("1.0.0", &["hook:build-prompt"]), &["--yes"]);
    home.configure("[plugins.notes]\non_fault = \"skip\"");
    let said = does(&home, ["remove", "notes"]);
    assert!(said.contains("plugin `notes` is removed") && said.contains("bub-wasm plugin rollback notes"), "{said}");
    assert!(said.contains("`[plugins.notes]` of config.toml"), "{said}");
    let left = table(&home);
    assert_eq!(left.keys().collect::<Vec<_>>(), ["on_fault"], "{left}");
    home.run(["hi"]).finish().says("[cli:local]\nhi\n");
    plugin(&home, ["remove", "notes"]).refuses(&["there is no plugin `notes`"]);

    does(&home, ["rollback", "notes"]);
    home.run(["hi"]).finish().says("[cli:local]\nHI\n");
    // It took its place back: there is nothing behind it.
    plugin(&home, ["rollback", "notes"]).refuses(&["no version of plugin `notes` is kept"]);
    // A plugin that is added after its removal has to be granted again.
    does(&home, ["remove", "notes"]);
    add(&home, programs::PROMPT_UPPER, &version("1.0.0", &["hook:build-prompt"]), &[]);
    assert_eq!(inspected(&home, "notes")["grants"], json!([]));
}

#[test]
fn a_plugin_that_is_not_the_users_own_is_not_removed() {
    let home = home().strict();
    let naming = ["plugin `shell` is part of this program", "`enabled = false` in `[plugins.shell]`"];
    plugin(&home, ["remove", "shell"]).refuses(&naming);
    let dir = home.workspace().join(".bub/plugins");
    fs::create_dir_all(&dir).expect("a directory");
    fs::copy(programs::PROMPT_UPPER, dir.join("theirs.wasm")).expect("a file");
    let naming = ["plugin `theirs` is this workspace's", "bub-wasm plugin trust --revoke", "theirs.wasm"];
    plugin(&home, ["remove", "theirs"]).refuses(&naming);
    home.plugin("notes", programs::PROMPT_UPPER);
    plugin(&home, ["remove", "nodes"]).refuses(&["there is no plugin `nodes`; did you mean `notes`"]);
    plugin(&home, ["rollback", "notes"]).refuses(&["no version of plugin `notes` is kept"]);
    for name in ["../notes", "..", "a/b", ""] {
        plugin(&home, ["remove", name]).refuses(&["is not a name for a plugin"]);
        plugin(&home, ["rollback", name]).refuses(&["is not a name for a plugin"]);
    }
}

#[test]
fn a_version_that_no_longer_loads_is_not_rolled_back_to() {
    let home = new();
    add(&home, programs::DEEDS, &json!({}), &[]);
    add(&home, programs::PROMPT_UPPER, &version("2.0.0", &["hook:build-prompt"]), &["--yes"]);
    // Another plugin has its tools by now.
    home.plugin("deeds", programs::DEEDS);
    let finished = plugin(&home, ["rollback", "notes"]);
    finished
        .refuses(&["the version before of plugin `notes` does not load, and nothing is changed", "is there already"]);
    home.run(["hi"]).finish().says("[cli:local]\nHI\n");
}

#[test]
fn a_version_that_other_users_could_have_written_is_not_restored() {
    use std::os::unix::fs::PermissionsExt;
    let home = new();
    add(&home, programs::PROMPT_UPPER, &version("1.0.0", &["hook:build-prompt"]), &["--yes"]);
    does(&home, ["remove", "notes"]);
    let dir = home.bub_home().join("plugins/.before");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).expect("it is ours");
    plugin(&home, ["rollback", "notes"]).refuses(&["is open to other users: `chmod 700 "]);
}
