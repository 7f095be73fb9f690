//! Plugins are opened at the first call into them: which are compiled in a turn, what is known of the others, and what happens
//! when one cannot be opened or is not what its manifest declares.

use crate::home;
use bub_tests::component::with_section;
use bub_tests::{Answer, Home, Run, Server, programs};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Compiled code of this home alone.
fn cache(home: &Home) -> PathBuf {
    home.bub_home().join("own cache")
}

fn cold<'home>(home: &'home Home, arguments: &[&str]) -> Run<'home> {
    home.bub(arguments.iter().copied()).env("BUB_CACHE", cache(home))
}

/// The digests of the plugins whose compiled code is there.
fn compiled(home: &Home) -> BTreeSet<String> {
    let files = fs::read_dir(cache(home)).into_iter().flatten().flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    names.filter(|name| name.ends_with(".cwasm")).map(|name| name[..64].to_owned()).collect()
}

/// The output of `plugin inspect` for a plugin.
#[track_caller]
fn inspected(home: &Home, name: &str) -> Value {
    let finished = cold(home, &["plugin", "inspect", name, "--json"]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    serde_json::from_str(&finished.stdout).expect("it is JSON")
}

fn digest(home: &Home, name: &str) -> String {
    inspected(home, name)["digest"].as_str().expect("it has one").to_owned()
}

/// A tool as manifests declare it.
fn declared(name: &str, effect: &str, reads_outside: bool) -> Value {
    json!({
        "name": format!("deeds.{name}"),
        "description": "Says in the log that it was called.",
        "parameters": { "type": "object" },
        "effect": effect,
        "reads_outside": reads_outside,
    })
}

/// The tools that the program `deeds` lists.
fn deeds() -> Vec<Value> {
    vec![
        declared("read", "read", false),
        declared("write", "write", false),
        declared("send", "send", false),
        declared("run", "run", false),
        declared("outside", "read", true),
    ]
}

/// Adds the program `deeds` with a manifest.
fn with_manifest(home: &Home, manifest: &Value) {
    let wasm = fs::read(programs::DEEDS).expect("it was built");
    let wasm = with_section(&wasm, "bub:manifest", manifest.to_string().as_bytes());
    fs::write(home.bub_home().join("plugins/deeds.wasm"), wasm).expect("the home can be written");
}

#[test]
fn a_first_turn_compiles_the_guests_that_it_calls_and_no_others() {
    let home = home();
    let finished = cold(&home, &["run", "hello"]).env("RUST_LOG", "bub_runtime=debug").finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    let compiled = compiled(&home);
    for called in ["builtin", "skills", "memory", "offline"] {
        assert!(compiled.contains(&digest(&home, called)), "`{called}` was called: {compiled:?}");
        assert!(finished.stderr.contains(&format!("plugin `{called}` is opened")), "{finished}");
    }
    for idle in ["workspace", "shell", "web", "tapes", "context-builder", "telegram"] {
        assert!(!compiled.contains(&digest(&home, idle)), "`{idle}` was not called");
        assert!(!finished.stderr.contains(&format!("plugin `{idle}` is opened")), "{finished}");
    }
}

#[test]
fn a_tool_is_compiled_when_the_model_calls_it() {
    let home = home();
    fs::write(home.workspace().join("note.txt"), "what it says").expect("the workspace can be written");
    let server = Server::new([Answer::tool_call("fs_read", r#"{"path": "note.txt"}"#), Answer::text("read")]);
    cold(&home, &["run", "read it"]).model(&server).finish().says("[cli:local]\nread\n");
    assert!(compiled(&home).contains(&digest(&home, "workspace")));
    assert!(!compiled(&home).contains(&digest(&home, "shell")));
}

#[test]
fn tools_of_the_manifest_are_shown_and_offered_before_anything_is_compiled() {
    let home = home();
    with_manifest(&home, &json!({ "name": "deeds", "tools": deeds() }));
    let tools = inspected(&home, "deeds")["tools"].clone();
    assert_eq!(tools, json!(["deeds.read", "deeds.write", "deeds.send", "deeds.run", "deeds.outside"]));
    assert!(inspected(&home, "workspace")["tools"].to_string().contains("fs.read"));
    assert!(compiled(&home).is_empty(), "nothing has to run for that");
    let server = Server::new([Answer::text("hello")]);
    cold(&home, &["run", "hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    assert!(server.requests()[0].body.contains("deeds_outside"), "the model was offered the tool");
    assert!(!compiled(&home).contains(&digest(&home, "deeds")), "no turn has called it");
}

#[test]
fn a_plugin_without_declared_tools_is_asked_once() {
    let home = home();
    home.plugin("deeds", programs::DEEDS);
    let ask = || cold(&home, &["run", "hi"]).env("RUST_LOG", "bub_runtime=debug").finish();
    let first = ask();
    assert!(compiled(&home).contains(&digest(&home, "deeds")), "{first}");
    assert!(first.stderr.contains("plugin `deeds` is asked what it is"), "{first}");
    let second = ask();
    assert!(!second.stderr.contains("plugin `deeds` is asked what it is"), "{second}");
    assert!(inspected(&home, "deeds")["tools"].to_string().contains("deeds.read"));
}

#[test]
fn a_declared_tool_without_a_field_is_refused_with_the_name_of_the_field() {
    let home = home();
    with_manifest(&home, &json!({ "name": "deeds", "tools": [{ "name": "a.b" }] }));
    let finished = cold(&home, &["plugin", "inspect", "deeds"]).finish();
    assert!(finished.code != Some(0) && finished.stderr.contains("missing field `description`"), "{finished}");
}

#[test]
fn dynamic_tools_are_asked_for_at_each_start() {
    let home = home();
    with_manifest(&home, &json!({ "name": "deeds", "tools": "dynamic" }));
    assert!(inspected(&home, "deeds")["tools"].to_string().contains("deeds.read"));
    assert!(compiled(&home).contains(&digest(&home, "deeds")));
    let again = cold(&home, &["run", "hi"]).env("RUST_LOG", "bub_runtime=debug").finish();
    assert!(
        again.stderr.contains("plugin `deeds` is asked what it is"),
        "an answer that may change is not kept: {again}"
    );
}

#[test]
fn a_tool_that_differs_from_its_manifest_is_a_fault_that_is_named_and_counted() {
    let mut effect = deeds();
    effect[1]["effect"] = "read".into();
    let mut schema = deeds();
    schema[0]["parameters"] = json!({ "type": "object", "required": ["path"] });
    let mut outside = deeds();
    outside[4]["reads_outside"] = false.into();
    let mut more = deeds();
    more.push(declared("other", "read", false));
    for (tools, difference) in [
        (
            effect,
            "its tool `deeds.write` is not what its manifest declares: the effect is `write`, and `read` is declared",
        ),
        (schema, "its tool `deeds.read` is not what its manifest declares: the schema of its arguments is another one"),
        (outside, "`reads_outside` is true, and false is declared"),
        (more, "its manifest declares the tool `deeds.other`, which it does not list"),
        (deeds()[..4].to_vec(), "it lists the tool `deeds.outside`, which its manifest does not declare"),
    ] {
        let home = home();
        with_manifest(&home, &json!({ "name": "deeds", "tools": tools }));
        let server = Server::new([Answer::tool_call("deeds_send", "{}"), Answer::text("it failed")]);
        cold(&home, &["run", "call it", "--approve", "all"]).model(&server).finish().says("[cli:local]\nit failed\n");
        let told = &server.requests()[1].body;
        assert!(told.contains("broke the contract") && told.contains(&difference.replace('"', "\\\"")), "{told}");
        let list = cold(&home, &["plugin", "list"]).finish();
        assert!(list.stdout.contains("did not load") && list.stdout.contains(difference), "{list}");
    }
}

#[test]
fn a_broken_plugin_that_no_turn_calls_does_not_disturb_and_is_found_by_list_doctor_and_check() {
    let home = home();
    let wasm = broken();
    fs::write(home.bub_home().join("plugins/broken.wasm"), &wasm).expect("the home can be written");
    let finished = cold(&home, &["run", "ECHO:hello"]).finish();
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished}");
    for command in [&["plugin", "list"][..], &["doctor"]] {
        let finished = cold(&home, command).finish();
        assert!(finished.stdout.contains("it does not compile"), "{finished}");
    }
    let file = home.bub_home().join("plugins/broken.wasm");
    cold(&home, &["plugin", "check", file.to_str().expect("UTF-8")]).finish().fails("it does not compile");
}

#[test]
fn a_broken_plugin_that_a_turn_calls_is_a_fault_of_that_call() {
    let home = home();
    fs::write(home.bub_home().join("plugins/broken.wasm"), broken()).expect("the home can be written");
    let server = Server::new([Answer::tool_call("deeds_read", "{}"), Answer::text("it failed")]);
    cold(&home, &["run", "call it"]).model(&server).finish().says("[cli:local]\nit failed\n");
    let told = &server.requests()[1].body;
    assert!(told.contains("plugin `broken` did not load: it does not compile"), "{told}");
}

/// A component whose manifest declares tools and whose code is invalid. Its sections are whole, so that only a compiler
/// finds out.
fn broken() -> Vec<u8> {
    let wasm = fs::read(programs::DEEDS).expect("it was built");
    let body = [
        // Types, one function and its body: an addition of nothing.
        &[1, 4, 1, 0x60, 0, 0][..],
        &[3, 2, 1, 0],
        &[10, 5, 1, 3, 0, 0x6a, 0x0b],
    ];
    let module = [b"\0asm\x01\0\0\0".as_slice(), &body.concat()].concat();
    let wasm = bub_tests::component::with_started_module(&wasm, &module);
    let manifest = json!({ "name": "broken", "tools": deeds() });
    with_section(&wasm, "bub:manifest", manifest.to_string().as_bytes())
}

#[test]
fn serve_compiles_in_the_background_and_takes_a_plugin_that_is_added_meanwhile() {
    let home = home();
    let serve = bub_tests::Serve::start(cold(&home, &["serve", "--listen", "127.0.0.1:0"]), &home.bub_home());
    with_manifest(&home, &json!({ "name": "deeds", "tools": deeds() }));
    let ends = Instant::now() + Duration::from_secs(120);
    let has_deeds = || serve.get("/v1/plugins")["plugins"].to_string().contains("deeds.read");
    // No turn has called any of them.
    while compiled(&home).len() < 3 || !has_deeds() {
        assert!(Instant::now() < ends, "{} are compiled", compiled(&home).len());
        std::thread::sleep(Duration::from_millis(50));
    }
    serve.end();
}

#[test]
fn two_processes_can_start_at_once_with_nothing_compiled() {
    let home = home();
    let start = |session: &str| cold(&home, &["run", "--session-id", session, "ECHO:hello"]).start();
    let both = [start("one"), start("two")];
    for started in both {
        let finished = started.finish();
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished}");
        assert!(finished.stdout.contains("hello"), "{finished}");
    }
}
