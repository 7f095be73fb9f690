//! The recorded turns through another version of a plugin.

use super::{files, name, recording};
use bub_test_support::tier::in_full;
use bub_tests::{Answer, Server, programs};
use serde_json::Value;

#[test]
pub(crate) fn prompt_upper_next() {
    let home = recording();
    home.plugin("upper", programs::PROMPT_UPPER);
    let count = in_full(100, 20);
    let server = Server::ruled(|_| Answer::text("well"));
    let lines: String = (0..count).map(|number| format!("message {number}\n")).collect();
    home.bub(["chat"]).model(&server).input(&lines).finish();
    let names: Vec<String> = files(&home).iter().map(|file| name(file)).collect();
    assert_eq!(names.len(), count);
    let with = format!("upper={}", programs::PROMPT_UPPER_NEXT);
    let all = count.to_string();
    let table = home.bub(["replay", "--turns", &all, "--with", &with]).finish();
    assert_eq!(table.code, Some(1), "{table}");
    let rows: Vec<&str> = table.stdout.lines().skip(1).take_while(|line| !line.is_empty()).collect();
    let expected: Vec<&String> =
        names.iter().enumerate().filter(|(at, _)| at % 10 == 7).map(|(_, name)| name).collect();
    assert_eq!(rows.len(), expected.len(), "{table}");
    for (row, (at, name)) in rows.iter().zip(expected.iter().enumerate()) {
        let number = at * 10 + 7;
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words[..2], [name.as_str(), "build-prompt"], "{row}");
        assert!(row.contains(&format!("MESSAGE {number}")) && row.contains(&format!("message {number}")), "{row}");
    }
    assert!(table.stdout.ends_with(&format!("{count} turns, of which {} would have been otherwise\n", rows.len())));
    // It is carried on into the request that the model would have got.
    let first = home.bub(["replay", expected[0], "--with", &with, "--json"]).finish();
    let first: Value = serde_json::from_str(&first.stdout).expect("it is JSON");
    let question = &first["turns"][0]["question"];
    assert_eq!(
        (&question["function"], &question["plugin"]),
        (&"bub:model/chat.complete".into(), &"builtin".into()),
        "{first}"
    );
    assert!(
        question["was"].to_string().contains("MESSAGE 7") && !question["would_be"].to_string().contains("MESSAGE 7")
    );
    assert!(question["would_be"].to_string().contains("message 7"), "{question}");
}

#[test]
fn the_same_version_changes_nothing() {
    let home = recording();
    home.plugin("upper", programs::PROMPT_UPPER);
    home.run(["hi"]).finish();
    let same = home.bub(["replay", "--with", &format!("upper={}", programs::PROMPT_UPPER)]).finish();
    assert!(same.code == Some(0) && same.stdout == "1 turn, none of which would have been otherwise\n", "{same}");
}

#[test]
fn a_version_that_asks_something_else_is_followed_to_its_question() {
    let home = recording();
    home.plugin("a", programs::PROMPT_UPPER);
    home.run(["hi"]).finish();
    let other = home.bub(["replay", "--with", &format!("a={}", programs::SCRIPTED)]).finish();
    assert_eq!(other.code, Some(1), "{other}");
    assert!(other.stdout.contains("question to the host: "), "{other}");
}

#[test]
fn what_is_no_plugin_and_no_file_is_said() {
    let home = recording();
    home.run(["ECHO:hi"]).finish();
    for (with, words) in [
        ("upper", "names no plugin and no file: --with PLUGIN=FILE"),
        ("upper=/nowhere.wasm", "`/nowhere.wasm`"),
        ("Upper=/nowhere.wasm", "does not begin with a plugin's name"),
    ] {
        let refused = home.bub(["replay", "--with", with]).finish();
        assert!(
            refused.code == Some(1) && refused.stderr.contains(words) && refused.stderr.lines().count() == 1,
            "{refused}"
        );
    }
}

#[test]
fn an_upgrade_is_offered_to_be_tried_on_recorded_turns() {
    let home = recording();
    home.plugin("upper", programs::PROMPT_UPPER);
    home.run(["hi"]).finish();
    let added = home.bub(["plugin", "add", programs::PROMPT_UPPER_NEXT, "--name", "upper", "--yes"]).finish();
    assert!(added.stdout.contains("bub-wasm replay --turns 1 --with upper="), "{added}");
}
