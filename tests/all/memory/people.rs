//! Access to the memory of a workspace.

use super::*;
use bub_tests::programs;

/// A home whose owner is the boss on `telegram`, where the friend is known; strangers and the friend may use all tools
/// of memory, as far as the channel decides it.
fn with_people() -> Home {
    let home = keeping();
    let tools: Vec<String> = ["save", "daily", "recall", "show", "clear", "forget", "export"]
        .iter()
        .map(|tool| format!("\"memory.{tool}\""))
        .collect();
    home.configure(&format!(
        "[channels.telegram]\nowners = [\"boss\"]\npeers = [\"friend\"]\ntools = [{}]",
        tools.join(", ")
    ));
    typed(&home, ",memory.save content='the safe is behind the clock'");
    home
}

fn said_by<'a>(sender: &'a str, message: &'a str) -> [&'a str; 7] {
    [message, "--channel", "telegram", "--chat-id", "7", "--sender-id", sender]
}

#[test]
fn the_owner_is_shown_the_workspaces_memory_on_any_channel() {
    let home = with_people();
    let system = system_of(&home, &said_by("boss", "hi"));
    assert!(system.contains("behind the clock") && system.contains("keep it without being asked"), "{system}");
}

#[test]
fn a_peer_sees_it_without_instructions_to_write() {
    let home = with_people();
    let system = system_of(&home, &said_by("friend", "hi"));
    assert!(system.contains("behind the clock") && !system.contains("memory.save"), "{system}");
    assert!(!system.contains("keep it without being asked"), "{system}");
}

#[test]
fn an_anonymous_sender_neither_sees_it_nor_hears_of_it() {
    let home = with_people();
    let system = system_of(&home, &said_by("nobody", "hi"));
    assert!(!system.contains("behind the clock"), "{system}");
    for (tool, arguments) in [("memory_export", "{}"), ("memory_recall", r#"{"query":"clock"}"#), ("memory_show", "{}")]
    {
        let server = Server::new([Answer::tool_call(tool, arguments), Answer::text("done")]);
        assert_eq!(home.run(said_by("nobody", "hi")).model(&server).finish().code, Some(0));
        let result = result(&server);
        let told = result.as_str().unwrap_or_default();
        assert!(!told.is_empty() && !told.contains("behind the clock") && !told.contains("workspace:"), "{result}");
    }
}

#[test]
fn neither_a_peer_nor_an_anonymous_sender_can_write_memory() {
    let home = with_people();
    let before = entries(&home, WORKSPACE);
    for sender in ["friend", "nobody"] {
        for scope in ["workspace", "session"] {
            let arguments = json!({ "content": "the safe is open", "scope": scope }).to_string();
            let server = Server::new([Answer::tool_call("memory_save", &arguments), Answer::text("done")]);
            assert_eq!(home.run(said_by(sender, "hi")).model(&server).finish().code, Some(0));
            assert_eq!(result(&server)["kind"], "denied", "{sender}, {scope}");
        }
    }
    assert_eq!(entries(&home, WORKSPACE), before);
}

/// The host holds it for every plugin, whatever its grants.
#[test]
fn only_in_an_owners_turn_does_a_plugin_write_to_the_workspaces_tape() {
    let home = with_people();
    home.configure("[plugins.trier]\ngrants = [\"tape:workspace\", \"tape:append\"]");
    home.configure("[plugins.trier.config]\ntries = [\"shared:write\"]");
    home.plugin("trier", programs::TRIER);
    let tried = |sender: &str| {
        let finished = home.run(said_by(sender, "hi")).watched().finish();
        finished.saw_hook("run-model")[0]["try"].clone()
    };
    let before = entries(&home, WORKSPACE).len();
    for sender in ["friend", "nobody"] {
        let tried = tried(sender);
        assert_eq!(tried["kind"], "Denied", "{tried}");
        assert!(tried["message"].as_str().is_some_and(|why| why.contains("only the owner")), "{tried}");
    }
    assert_eq!(entries(&home, WORKSPACE).len(), before);
    assert!(tried("boss")["ok"].is_string());
    assert_eq!(entries(&home, WORKSPACE).len(), before + 1);
}

#[test]
fn the_turn_of_an_anonymous_sender_drops_no_old_notes() {
    let home = home();
    home.configure("[channels.telegram]\nowners = [\"boss\"]");
    typed(&home, ",memory.daily content=old date=2020-01-01");
    let before = entries(&home, WORKSPACE);
    system_of(&home, &said_by("nobody", "hi"));
    assert_eq!(entries(&home, WORKSPACE), before);
    system_of(&home, &said_by("boss", "hi"));
    assert_eq!(contents(&home, WORKSPACE).2, Vec::new());
}
