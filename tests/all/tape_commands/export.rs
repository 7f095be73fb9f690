//! `export`.

use super::{BUBS, golden, home_with, home_with_bubs, line, message, tape};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn lines_come_back_byte_for_byte() {
    let home = home_with_bubs();
    let bytes = fs::read(golden()).expect("a recorded tape");
    assert_eq!(tape(&home, ["export", BUBS]).stdout.as_bytes(), bytes);
    tape(&home, ["export", BUBS, "-o", "out.jsonl"]).says("");
    let out = home.workspace().join("out.jsonl");
    assert_eq!(fs::read(&out).expect("it was made"), bytes);
    assert_eq!(out.metadata().expect("it is there").permissions().mode() & 0o777, 0o600);
    let left: Vec<_> = fs::read_dir(home.workspace()).expect("it is there").collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn messages_are_those_of_the_whole_tape() {
    let home = home_with_bubs();
    let finished = tape(&home, ["export", BUBS, "--format", "messages"]);
    let messages: Vec<Value> =
        finished.stdout.lines().map(|line| serde_json::from_str(line).expect("a message is JSON")).collect();
    let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
    let expected =
        ["user", "assistant", "assistant", "user", "assistant", "tool", "user", "assistant", "user", "assistant"];
    assert_eq!(roles, expected, "{finished}");
    assert_eq!(messages[5]["tool_call_id"], "call_0", "{finished}");
}

#[test]
fn markdown_is_the_conversation() {
    let home = home_with_bubs();
    let finished = tape(&home, ["export", BUBS, "--format", "markdown"]);
    for part in [
        &format!("# Tape {BUBS}\n"),
        "\n## phase-1 (2026-11-21 02:41:50)\n\n```json\n{\"summary\": \"did things\"}\n```\n",
        "\n**assistant** (2026-11-21 02:41:54)\n\nHello from fake model.\n",
        "\n```\ntape_handoff({\"name\":\"phase-1\",\"summary\":\"did things\"})\n```\n",
    ] {
        assert!(finished.stdout.contains(part), "{part}\n{finished}");
    }
    assert!(!finished.stdout.contains("loop.step"), "{finished}");
}

#[test]
fn no_text_can_close_its_code_block() {
    let results = "{\"results\": [\"```\\nrm -rf\\n````\"]}";
    let home = home_with("aaaa__bbbb", &[&message(1, "user", "go"), &line(2, "tool_result", results)]);
    let finished = tape(&home, ["export", "aaaa__bbbb", "--format", "markdown"]);
    assert!(finished.stdout.contains("\n`````\n```\nrm -rf\n````\n`````\n"), "{finished}");
}

#[test]
fn an_unknown_format() {
    let home = home_with_bubs();
    let finished = home.bub(["tape", "export", BUBS, "--format", "yaml"]).finish().mentions("markdown");
    assert_eq!(finished.code, Some(2), "{finished}");
}
