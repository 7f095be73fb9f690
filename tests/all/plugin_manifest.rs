//! The grants that a manifest may request, and how long grants follow a plugin's name.

use crate::home;
use crate::plugin_add::{described, does, file, inspected, new, plugin};
use bub_tests::component::with_section;
use bub_tests::programs;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn a_plugin_whose_grants_were_all_taken_away_follows_its_name_no_longer() {
    let home = new();
    home.plugin("a", programs::PROMPT_UPPER);
    does(&home, ["grant", "a", "--follow"]);
    let said = does(&home, ["revoke", "a"]);
    assert!(said.contains("are for the bytes that it has then, unless you give `--follow`"), "{said}");
    does(&home, ["grant", "a"]);
    assert_eq!(inspected(&home, "a")["other_bytes"], false);
    // Other bytes under the same name have no grants.
    let other = with_section(&fs::read(programs::PROMPT_UPPER).expect("it was built"), "other", b"");
    fs::write(home.bub_home().join("plugins/a.wasm"), other).expect("the home can be written");
    assert_eq!(inspected(&home, "a")["other_bytes"], true);
    let list = does(&home, ["list"]);
    assert!(list.contains("its grants are not for these bytes"), "{list}");

    // One by one is the same; as long as it holds one, it follows.
    does(&home, ["grant", "a", "hook:build-prompt", "--follow"]);
    does(&home, ["grant", "a", "tape:read"]);
    let said = does(&home, ["revoke", "a", "tape:read"]);
    assert!(!said.contains("--follow"), "{said}");
    home.plugin("a", programs::PROMPT_UPPER);
    assert_eq!(inspected(&home, "a")["other_bytes"], false);
    does(&home, ["revoke", "a", "hook:build-prompt"]);
    does(&home, ["grant", "a", "hook:build-prompt"]);
    let other = with_section(&fs::read(programs::PROMPT_UPPER).expect("it was built"), "another", b"");
    fs::write(home.bub_home().join("plugins/a.wasm"), other).expect("the home can be written");
    assert_eq!(inspected(&home, "a")["other_bytes"], true);
}

#[test]
fn a_grant_that_was_left_following_when_all_were_taken_away_follows_no_longer() {
    let home = new();
    home.plugin("a", programs::PROMPT_UPPER);
    home.configure("[plugins.a]\ngrants = []\nfollow = true");
    does(&home, ["grant", "a"]);
    let config = fs::read_to_string(home.bub_home().join("config.toml")).expect("it is there");
    assert!(!config.contains("follow") && config.contains("digest = "), "{config}");
}

#[test]
fn a_manifest_that_requests_an_unknown_hook_is_rejected_with_a_suggestion() {
    let home = new();
    for (grant, reason) in [
        ("hook:build-promt", "`hook:build-promt`, and there is no such hook; did you mean `hook:build-prompt`"),
        ("hook:entirely-made-up", "and there is no such hook; `bub-wasm hooks` lists all hooks"),
        ("hook:bild-*", "and there is no such hook"),
    ] {
        let bytes = described(programs::PROMPT_UPPER, &json!({ "wants": [{ "grant": grant, "why": "so" }] }));
        let path = file(&home, "upper.wasm", &bytes);
        plugin(&home, ["add", text(&path)]).refuses(&["upper.wasm` is not added", "its manifest wants", reason]);
    }
    for grant in ["hook:*", "hook:before-*", "hook:tape-store"] {
        let bytes = described(programs::PROMPT_UPPER, &json!({ "wants": [{ "grant": grant, "why": "so" }] }));
        does(&home, ["add", text(&file(&home, "upper.wasm", &bytes)), "--name", "fine"]);
    }
    home.plugin("a", programs::PROMPT_UPPER);
    plugin(&home, ["grant", "a", "hook:build-promt"]).refuses(&["did you mean `hook:build-prompt`"]);
}

#[test]
fn a_manifest_names_directories_independently_of_the_working_directory() {
    let home = new();
    for (path, reason) in [
        ("notes", "whose path is neither absolute nor `<workspace>`, `<workspace>/DIR` or `~/DIR`"),
        ("./notes", "whose path is neither absolute"),
        ("~", "whose path is neither absolute"),
        ("~other/notes", "whose path is neither absolute"),
        ("<workspace>notes", "whose path is neither absolute"),
        ("<workspace>/../notes", "which escapes the workspace"),
    ] {
        let grant = format!("fs:{path}:ro");
        let bytes = described(programs::PROMPT_UPPER, &json!({ "wants": [{ "grant": grant, "why": "so" }] }));
        let added = file(&home, "upper.wasm", &bytes);
        plugin(&home, ["add", text(&added)]).refuses(&["its manifest wants", &grant, reason]);
    }
    for path in ["/notes", "~/notes", "<workspace>", "<workspace>/notes"] {
        let wants = json!({ "wants": [{ "grant": format!("fs:{path}:ro"), "why": "so" }] });
        let bytes = described(programs::PROMPT_UPPER, &wants);
        does(&home, ["add", text(&file(&home, "upper.wasm", &bytes)), "--name", "fine"]);
    }
}

#[test]
fn a_tool_that_reads_outside_is_shown_as_one_before_it_is_added_and_after() {
    let home = new();
    let bytes = fs::read(programs::WEB).expect("it was built");
    let path = file(&home, "fetcher.wasm", &bytes);
    let says = "tool web.fetch: can read; reads outside: what others wrote, so each call taints its turn\n";
    let added = does(&home, ["add", text(&path)]);
    assert!(added.contains(says), "{added}");
    let shown = does(&home, ["inspect", "fetcher"]);
    assert!(shown.contains(says), "{shown}");
    assert_eq!(inspected(&home, "fetcher")["reads_outside"], json!(["web.fetch"]));
}

#[test]
fn no_embedded_guest_requires_a_setting_and_their_schemas_can_be_compiled() {
    let list: Value = serde_json::from_str(&does(&home(), ["list", "--json"])).expect("JSON");
    let mut checked = 0;
    for plugin in list["plugins"].as_array().expect("plugins") {
        let name = plugin["name"].as_str().expect("a name");
        let home = home();
        // With any setting at all the schema is compiled, and says everything that it finds wrong.
        home.configure(&format!("[plugins.{name}.config]\nno_such_setting = 1"));
        let errors = home.bub(["plugin", "list"]).finish().stderr;
        if let Some(error) = errors.lines().find(|line| line.contains(&format!("`[plugins.{name}.config]`"))) {
            let expected = "config.toml: Additional properties are not allowed ('no_such_setting' was unexpected)";
            assert!(error.ends_with(expected), "{errors}");
            checked += 1;
        } else {
            assert!(!errors.contains("schema"), "{errors}");
        }
    }
    assert!(checked > 1, "{list}");
}
