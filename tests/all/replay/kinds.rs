//! Turns of all kinds, each of which replays identical.

use super::{are_identical, files, recording, replay};
use bub_tests::{Answer, Server, programs};
use serde_json::json;

#[test]
fn tools_that_read_write_list_and_start_programs() {
    let home = recording();
    std::fs::create_dir_all(home.workspace().join("folder/inner")).expect("a folder");
    std::fs::write(home.workspace().join("notes.txt"), "a line\n".repeat(50)).expect("a file");
    std::fs::write(home.workspace().join("folder/bytes"), [0xff, 0, 1]).expect("a file");
    std::os::unix::fs::symlink("../notes.txt", home.workspace().join("folder/link")).expect("a link");
    let call = |name: &str, arguments: serde_json::Value| Answer::tool_call(name, &arguments.to_string());
    let server = Server::new([
        call("fs_read", json!({ "path": "notes.txt" })),
        call("fs_read", json!({ "path": "folder/link" })),
        call("fs_read", json!({ "path": "folder/bytes" })),
        call("fs_read", json!({ "path": "absent" })),
        call("fs_read", json!({ "path": "folder" })),
        call("nonsense", json!({ "path": "." })),
        call("fs_write", json!({ "path": "new/file.txt", "content": "new\n" })),
        call("fs_edit", json!({ "path": "notes.txt", "old": "a line\na line\n", "new": "two\n" })),
        call("fs_read", json!({ "path": "new/file.txt" })),
        call("bash", json!({ "cmd": "ls; date; echo $RANDOM" })),
        call("tape_info", json!({})),
        Answer::text("done"),
    ]);
    home.run(["use them", "--allow", "write", "--allow", "run"]).model(&server).finish();
    assert_eq!(server.requests().len(), 12);
    // What was there is gone or other: a replay has it from the recording.
    std::fs::remove_dir_all(home.workspace().join("folder")).expect("it is there");
    std::fs::write(home.workspace().join("notes.txt"), "something else").expect("a file");
    are_identical(&home, 1);
    assert_eq!(std::fs::read_to_string(home.workspace().join("notes.txt")).expect("a file"), "something else");
    assert!(!home.workspace().join("folder").exists());
}

#[test]
fn a_session_of_megabytes() {
    let home = recording();
    // The agent loop, the selector, the request and the provider have all of its messages, which are held once.
    for number in 1..=4 {
        let text = format!("\"{number}\"\\\u{1F512} ").repeat(85_000);
        home.run([] as [&str; 0]).input(&text).finish();
    }
    are_identical(&home, 4);
}

#[test]
fn commands_memory_and_the_context_of_a_session() {
    let home = recording();
    home.configure("selector = \"context-builder\"");
    let server = Server::ruled(|_| Answer::text("well"));
    for message in
        [",memory.add 'the door code is 4711'", "hello", ",tape.info", "what was it", ",memory.show", ",fs.list"]
    {
        home.run([message]).model(&server).finish();
    }
    are_identical(&home, 6);
}

#[test]
fn turns_inside_of_turns() {
    let home = recording();
    let server = Server::new([
        Answer::tool_call("subagent", &json!({ "prompt": "count to three" }).to_string()),
        Answer::tool_call("bash", &json!({ "cmd": "echo one" }).to_string()),
        Answer::text("one two three"),
        Answer::text("it counted"),
    ]);
    home.run(["let somebody count", "--allow", "run"]).model(&server).finish();
    are_identical(&home, 1);
}

#[test]
fn calls_side_by_side() {
    let home = recording();
    let call = |index: usize| {
        let function = json!({ "name": "bash", "arguments": json!({ "cmd": format!("sleep 0.{index}; echo {index}") }).to_string() });
        json!({ "index": index, "id": format!("call_{index}"), "type": "function", "function": function })
    };
    let server = Server::new([Answer::tool_calls(&[call(0), call(1), call(2)]), Answer::text("three")]);
    home.run(["all at once", "--allow", "run"]).model(&server).finish();
    are_identical(&home, 1);
}

#[test]
fn hooks_of_a_plugin_and_their_errors() {
    let home = recording();
    let answers = "system-prompt = \"be brief\"\nload-state = { mood = \"good\" }\nbuild-prompt = \"mine\"\n\
        before-llm-call = { say = \"and more\" }\nafter-turn = {}\nrender-outbound = [\"rendered\"]\nsave-state = true";
    home.scripted("a", programs::SCRIPTED, answers);
    home.scripted("b", programs::SCRIPTED_STREAM, "system-prompt = { error = \"I do not know\" }");
    home.run(["hi"]).finish();
    home.scripted("c", programs::SCRIPTED, "render-outbound = { error = \"no\" }");
    home.run(["hi"]).finish();
    are_identical(&home, 2);
}

#[test]
fn faults_of_plugins() {
    let home = recording();
    for (name, wasm) in
        [("trap", programs::FAULT_TRAP), ("panic", programs::FAULT_PANIC), ("memory", programs::FAULT_MEMORY)]
    {
        home.plugin(name, wasm);
        home.run(["hi"]).finish();
        home.remove_plugin(name);
        // The component is needed to make the call again.
        std::fs::copy(wasm, home.bub_home().join(format!("{name}.wasm"))).expect("it can be kept");
    }
    for name in ["trap", "panic", "memory"] {
        let plugins = home.bub_home().join("plugins");
        std::fs::rename(home.bub_home().join(format!("{name}.wasm")), plugins.join(format!("{name}.wasm")))
            .expect("it is there");
    }
    are_identical(&home, 3);
}

#[test]
fn only_turns_that_break_are_recorded_where_that_is_wanted() {
    let home = crate::home();
    home.configure("record = \"faults\"");
    home.run(["ECHO:hi"]).finish();
    assert!(files(&home).is_empty());
    home.plugin("trap", programs::FAULT_TRAP).configure("[plugins.trap]\non_fault = \"skip\"");
    home.run(["ECHO:hi"]).finish().says("[cli:local]\nhi\n");
    assert_eq!(files(&home).len(), 1, "the call of a plugin broke");
    are_identical(&home, 1);
}

#[test]
fn a_call_that_was_ended_by_its_deadline_is_named_and_the_others_are_made() {
    let home = recording();
    home.scripted("slow", programs::SCRIPTED, "build-prompt = { wait = 2000 }");
    home.configure("[plugins.slow]\non_fault = \"skip\"\n[plugins.slow.limits]\ndeadline_ms = 200");
    home.run(["ECHO:hi"]).finish();
    let replayed = replay(&home, 1);
    let words = "not replayable: hook `build-prompt` of plugin `slow`: it was ended by `deadline`";
    assert!(replayed.code == Some(1) && replayed.stdout.contains(words), "{replayed}");
    assert!(replayed.stdout.contains(" calls are identical"), "{replayed}");
}

#[test]
fn a_cancelled_turn_is_recorded_up_to_its_end() {
    let home = recording();
    let server = Server::new([Answer::stalled("so far")]);
    let started = home.run(["take your time"]).model(&server).watched().start();
    server.wait_for(1);
    std::thread::sleep(std::time::Duration::from_millis(300));
    started.interrupt();
    assert_eq!(started.finish().code, Some(1));
    are_identical(&home, 1);
}

#[test]
fn hostile_text_is_shown_on_one_line() {
    let home = recording();
    let text = "\u{1b}[2J\u{202e}evil\r\n\0`x`\u{feff}";
    home.scripted("a", programs::SCRIPTED, "system-prompt = \"plain\"");
    let server = Server::ruled(move |_| Answer::text(text));
    home.run(["--session", "odd session", "say it"]).model(&server).finish();
    are_identical(&home, 1);
}
