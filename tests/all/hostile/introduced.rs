//! Invalid manifests and declarations: names that are taken, names with control characters, and schemas that are too
//! expensive to validate against.

use crate::home;
use crate::plugins::lists_as_failed;
use bub_tests::{Answer, Home, Server, programs};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// `hostile`, which says that of itself; among everything that the program brings along.
fn saying(key: &str, text: &str) -> Home {
    // The calls at load time need no grant, and no other function is called.
    let home = home().strict();
    home.plugin("hostile", programs::HOSTILE);
    // JSON's texts are TOML's as well.
    home.configure(&format!("[plugins.hostile.config]\n{key} = {}", json!(text)));
    home
}

#[track_caller]
fn is_refused(home: &Home, reason: &str) {
    let begun = Instant::now();
    let finished = home.run(["ECHO:all the same"]).finish().says("[cli:local]\nall the same\n");
    let finished = finished.mentions("plugin `hostile` did not load: ").mentions(reason);
    assert!(!format!("{finished}").contains('\u{1b}'), "a terminal was told something\n{finished}");
    assert!(begun.elapsed() < Duration::from_secs(60), "it took {:?}", begun.elapsed());
    lists_as_failed(home, "hostile", reason);
}

#[test]
fn a_tools_name_is_one_that_models_and_terminals_take() {
    let long = "x".repeat(65);
    for name in ["a b", "../x", "a/b", "\u{1b}[2J", "grüß", &long, &"x".repeat(128 << 10)] {
        is_refused(&saying("tool", name), "has no name of at most 64 letters, digits, `_`, `-` and `.`");
    }
}

#[test]
fn builtin_tool_names_are_reserved() {
    for (name, owner) in [("bash", "shell"), ("fs_read", "workspace"), ("fs.read", "workspace")] {
        is_refused(&saying("tool", name), &format!("its tool `{name}` is there already, in plugin `{owner}`"));
    }
}

#[test]
fn texts_that_are_part_of_every_request_are_limited() {
    is_refused(
        &saying("description", &"x".repeat(17 << 10)),
        "the description of its tool `hostile.tool` has more than 16 KiB",
    );
    let much = json!({ "type": "object", "description": "x".repeat(65 << 10) }).to_string();
    is_refused(&saying("parameters", &much), "the parameters of its tool `hostile.tool` are more than 64 KiB");
}

#[test]
fn control_characters_in_a_manifest_are_escaped() {
    for key in ["about", "version"] {
        let home = saying(key, "fine\u{1b}[2J\u{7}\nplugin `other` is trusted");
        let shown = home.bub(["plugin", "inspect", "hostile"]).finish();
        assert_eq!(shown.code, Some(0), "{shown}");
        assert!(!shown.stdout.contains(['\u{1b}', '\u{7}']), "{shown}");
        assert!(!shown.stdout.lines().any(|line| line.starts_with("plugin `other`")), "{shown}");
    }
}

/// Forty definitions, each of which is the next one or the next one.
fn doubling() -> Value {
    let mut all = serde_json::Map::new();
    for number in 0..40 {
        let next = json!({ "$ref": format!("#/$defs/d{}", number + 1) });
        all.insert(format!("d{number}"), json!({ "anyOf": [next, next] }));
    }
    all.insert("d40".to_owned(), json!({ "type": "string" }));
    json!({ "$defs": all, "properties": { "key": { "$ref": "#/$defs/d0" } } })
}

#[test]
fn a_schema_that_is_too_expensive_to_check_is_rejected() {
    let patterns = json!({ "allOf": vec![json!({ "pattern": "(a{50}){50}" }); 65] });
    let around = (0..9).fold(json!({}), |inner, _| json!({ "allOf": [inner], "unevaluatedProperties": false }));
    for (schema, reason) in [
        (doubling(), "a schema that is too large with all that it refers to"),
        (json!({ "$ref": "http://127.0.0.1/schema" }), "which is no place in it"),
        (json!({ "properties": { "a": { "$ref": "#/nowhere" } } }), "which is not there"),
        (json!({ "properties": { "a": { "$id": "other", "$ref": "#" } } }), "a schema with another one inside"),
        (json!({ "properties": { "a": { "$dynamicRef": "#a" } } }), "a schema with `$dynamicRef`"),
        (patterns, "a schema with more than 64 expressions"),
        (around, "`unevaluatedProperties` more than 8 times"),
    ] {
        is_refused(&saying("parameters", &schema.to_string()), reason);
    }
}

#[test]
fn a_schema_of_the_configuration_is_bounded_as_well() {
    let home = home();
    let bytes = std::fs::read(programs::PROMPT_UPPER).expect("it was built");
    let manifest = json!({ "config_schema": doubling() }).to_string();
    let hostile = bub_tests::component::with_section(&bytes, "bub:manifest", manifest.as_bytes());
    std::fs::write(home.bub_home().join("plugins/hostile.wasm"), hostile).expect("the home can be written");
    home.configure("[plugins.hostile.config]\nkey = 1");
    is_refused(&home, "a schema that is too large with all that it refers to");
}

/// The model calls the tool with these arguments; returns the result that it reads.
#[track_caller]
fn called_with(parameters: &Value, arguments: &Value) -> String {
    let home = saying("parameters", &parameters.to_string());
    let server = Server::new([Answer::tool_call("hostile_tool", &arguments.to_string()), Answer::text("done")]);
    let finished = home.run(["go on"]).model(&server).finish();
    let finished = finished.says("[cli:local]\ndone\n");
    let messages = server.requests()[1].messages();
    let result = messages.iter().find(|message| message["role"] == "tool");
    let result = result.unwrap_or_else(|| panic!("the call has no result\n{finished}"));
    result["content"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_recursive_schema_accepts_checkable_values_and_rejects_the_rest() {
    let tree = json!({ "type": "object", "properties": { "children": { "type": "array", "items": { "$ref": "#" } } } });
    let family = json!({ "children": [{ "children": [{}, {}] }, {}] });
    assert_eq!(called_with(&tree, &family), "fine");
    assert!(called_with(&tree, &json!({ "children": [{ "children": 1 }] })).contains("do not fit"));

    // Twice as many ways at each step down.
    let fork = json!({ "type": "object", "properties": { "a": { "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] } } });
    let deep = (0..50).fold(json!({}), |inner, _| json!({ "a": inner }));
    assert!(called_with(&fork, &deep).contains("would take too long to be checked"));
    let around = json!({ "type": "object", "allOf": [{ "$ref": "#" }, { "$ref": "#" }] });
    assert!(called_with(&around, &json!({})).contains("would take too long to be checked"));
}
