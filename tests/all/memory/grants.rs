//! Memory without its grants, and without itself.

use super::*;

fn holding(grants: &[&str]) -> Home {
    let home = keeping();
    typed(&home, ",memory.save content='of all sessions'");
    typed(&home, ",memory.save content='of this session' scope=session");
    let grants: Vec<String> = grants.iter().map(|grant| format!("\"{grant}\"")).collect();
    home.configure(&format!("[plugins.memory]\ngrants = [{}]", grants.join(", ")));
    home
}

#[test]
fn it_holds_exactly_the_grants_of_its_manifest() {
    let home = home();
    let finished = home.bub(["plugin", "list", "--json"]).finish();
    let listed: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let text = listed.to_string();
    let memory = listed
        .as_array()
        .or_else(|| listed["plugins"].as_array())
        .and_then(|plugins| plugins.iter().find(|plugin| plugin["name"] == "memory"))
        .unwrap_or_else(|| panic!("it is listed: {text}"));
    let grants = memory.to_string();
    for grant in ["hook:system-prompt", "hook:before-reset", "tape:read", "tape:append", "tape:workspace"] {
        assert!(grants.contains(grant), "{grant}: {grants}");
    }
    for other in ["tape:reset", "model:", "http:", "fs:", "process", "secret:", "agent"] {
        assert!(!grants.contains(&format!("\"{other}")), "{other}: {grants}");
    }
}

#[test]
fn without_the_hook_nothing_is_shown_and_the_tools_work() {
    let home = holding(&["tape:read", "tape:append", "tape:workspace"]);
    let system = system(&home, SESSION);
    assert!(!system.contains("Today is ") && block(&system).is_none(), "{system}");
    assert!(typed(&home, ",memory.export").contains("of all sessions"));
}

#[test]
fn without_the_workspaces_tape_the_sessions_memory_is_left() {
    let home = holding(&["hook:system-prompt", "tape:read", "tape:append"]);
    let server = Server::new([Answer::text("hello")]);
    let finished = home.run(["hi"]).model(&server).watched().finish().says("[cli:local]\nhello\n");
    let system = server.requests()[0].messages()[0]["content"].as_str().unwrap_or_default().to_owned();
    assert!(system.contains("of this session") && !system.contains("of all sessions"), "{system}");
    finished.mentions("bub-wasm plugin grant memory tape:workspace");
    let denied = call(&home, "memory.save", &json!({ "content": "x" }));
    assert_eq!(denied["kind"], "denied", "{denied}");
    assert!(denied["message"].as_str().is_some_and(|why| why.ends_with("bub-wasm plugin grant memory tape:workspace")));
}

#[test]
fn without_reading_the_tape_the_workspaces_memory_is_left() {
    let home = holding(&["hook:system-prompt", "tape:append", "tape:workspace"]);
    let system = system(&home, SESSION);
    assert!(system.contains("of all sessions") && !system.contains("of this session"), "{system}");
    assert_eq!(call(&home, "memory.save", &json!({ "content": "x", "scope": "session" }))["kind"], "denied");
}

#[test]
fn without_the_write_grant_memory_is_shown_and_nothing_is_written() {
    let home = holding(&["hook:system-prompt", "tape:read", "tape:workspace"]);
    let before = entries(&home, WORKSPACE);
    assert!(system(&home, SESSION).contains("of all sessions"));
    // A new session has no section, and its turn works.
    assert!(system(&home, "new").contains("of all sessions"));
    assert!(!entries(&home, "new").iter().any(|entry| is_anchor(entry, "memory/open")));
    for (tool, arguments) in [
        ("memory.save", json!({ "content": "x" })),
        ("memory.daily", json!({ "content": "x" })),
        ("memory.clear", json!({})),
        ("memory.forget", json!({ "query": "sessions" })),
    ] {
        let denied = call(&home, tool, &arguments);
        assert_eq!(denied["kind"], "denied", "{tool}: {denied}");
    }
    assert_eq!(entries(&home, WORKSPACE), before);
}

#[test]
fn without_any_grant_the_turn_continues() {
    let home = holding(&["hook:system-prompt"]);
    let system = system(&home, SESSION);
    assert!(system.contains("Today is ") && block(&system).is_none(), "{system}");
}

#[test]
fn without_the_other_hook_an_archive_has_no_copy_beside_it() {
    let home = holding(&["hook:system-prompt", "tape:read", "tape:append", "tape:workspace"]);
    typed(&home, ",tape.reset archive=true");
    let files = std::fs::read_dir(home.tapes_dir()).expect("it is there").flatten();
    let names: Vec<_> = files.map(|file| file.file_name().into_string().unwrap_or_default()).collect();
    assert!(names.iter().any(|name| name.ends_with(".bak")), "{names:?}");
    assert!(!names.iter().any(|name| name.ends_with(".md")), "{names:?}");
}

#[test]
fn one_line_of_the_configuration_takes_it_out() {
    let home = keeping();
    typed(&home, ",memory.save content='of all sessions'");
    home.configure("[plugins.memory]\nenabled = false");
    let server = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    let body = &server.requests()[0].body;
    assert!(
        !body.contains("memory_save") && !body.contains("Today is ") && !body.contains("of all sessions"),
        "{body}"
    );
}

/// Where the workspace's tape cannot be read, its part is missing and the log says so.
#[test]
fn a_workspace_tape_that_cannot_be_read_ends_no_turn() {
    let home = keeping();
    std::fs::create_dir_all(home.tape_file(WORKSPACE)).expect("a directory in its place");
    let server = Server::new([Answer::text("hello")]);
    let finished = home.run(["hi"]).model(&server).watched().finish().says("[cli:local]\nhello\n");
    finished.mentions("the workspace's memory is not shown: ");
    let failed = call(&home, "memory.save", &json!({ "content": "x" }));
    assert!(failed["kind"].is_string(), "{failed}");
}
