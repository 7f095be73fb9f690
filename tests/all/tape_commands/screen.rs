//! Output on a terminal: 80 columns, no control characters, colors only on request.

use super::{BUBS, home_with, home_with_bubs, json, line, message, tape};
use bub_tests::Home;

/// Columns, or more: everything from the first East Asian block on counts twice, but for rules.
fn columns(line: &str) -> usize {
    line.chars().map(|c| if matches!(c, '\u{2e80}'..='\u{3fffd}') { 2 } else { 1 }).sum()
}

/// All that shows something of the tape, for people.
const SHOWING: &[&[&str]] = &[
    &["list"],
    &["show", "TAPE"],
    &["show", "TAPE", "--full"],
    &["info", "TAPE"],
    &["anchors", "TAPE"],
    &["search", "words", "TAPE"],
    &["gc", "--dry-run"],
];

#[track_caller]
fn each_fits(home: &Home, name: &str) {
    for words in SHOWING.iter().chain(&[&["verify", "TAPE"][..]]) {
        let words = words.iter().map(|word| if *word == "TAPE" { name } else { word });
        let finished = home.bub(std::iter::once("tape").chain(words)).finish();
        for line in finished.stdout.lines() {
            assert!(columns(line) <= 80, "{} columns: {line}\n{finished}", columns(line));
            assert!(!line.chars().any(char::is_control), "a control character: {line:?}");
        }
    }
}

#[test]
fn no_line_is_wider_than_eighty_columns() {
    each_fits(&home_with_bubs(), BUBS);
    let name = format!("{}__{}", "a".repeat(90), "b".repeat(100));
    let long = "words".repeat(300);
    let chinese = "这是一个很长的句子没有空格".repeat(40);
    let spaced = "some words ".repeat(100);
    let deep = format!("{{\"name\": \"{}\", \"state\": {{\"text\": \"{long}\"}}}}", "阶段words".repeat(50));
    let event = format!("{{\"name\": \"{long}\", \"data\": {{\"x\": \"{long}\"}}}}");
    let lines = [
        line(1, "anchor", &deep),
        message(2, "user", &long),
        message(3, "user", &chinese),
        message(4, &spaced, &spaced),
        line(5, "event", &event),
        line(6, &long, "{\"words\": 1}"),
        line(
            7,
            "tool_call",
            &format!("{{\"calls\": [{{\"function\": {{\"name\": \"{long}\", \"arguments\": \"{long}\"}}}}, {{}}]}}"),
        ),
        "no entry\n".to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    each_fits(&home_with(&name, &lines), &name);
}

#[test]
fn control_characters_are_escaped() {
    let evil = r"words \u001b]0;owned\u0007 \u009b31m \u202e reversed \r over \u0000";
    let lines = [
        line(1, "anchor", &format!("{{\"name\": \"{evil}\", \"state\": \"{evil}\"}}")),
        line(2, "message", &format!("{{\"role\": \"{evil}\", \"content\": \"{evil}\"}}")),
        line(3, "event", &format!("{{\"name\": \"{evil}\", \"data\": \"{evil}\"}}")),
        // As another program may write it: not escaped at all.
        line(4, "message", "{\"role\": \"user\", \"content\": \"raw words \u{9b}31m \u{7f} \u{202e}\"}"),
        line(5, evil, "{}"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let home = home_with("aaaa__bbbb", &lines);
    each_fits(&home, "aaaa__bbbb");
    let finished = tape(&home, ["show", "aaaa__bbbb"]);
    assert!(finished.stdout.contains(r"\u{9b}31m"), "{finished}");
    assert!(!finished.stdout.contains('\u{202e}'), "{finished}");
    let finished = tape(&home, ["show", "aaaa__bbbb", "--json"]);
    assert!(!finished.stdout.chars().any(|c| c.is_control() && c != '\n' || c == '\u{202e}'), "{finished}");
    let content = json(&finished)["entries"][3]["payload"]["content"].clone();
    assert_eq!(content, "raw words \u{9b}31m \u{7f} \u{202e}", "escaped, it means the same");
}

#[test]
fn colors_can_be_enabled_and_disabled() {
    let home = home_with_bubs();
    let show = |variables: &[(&str, &str)]| {
        let run = home.bub(["tape", "show", BUBS]);
        variables.iter().fold(run, |run, (name, value)| run.env(name, value)).finish().stdout
    };
    let plain = show(&[]);
    assert!(!plain.contains('\x1b'), "this is no terminal");
    let colored = show(&[("CLICOLOR_FORCE", "1")]);
    assert!(colored.contains("\x1b[1;36m── session/start"), "{colored}");
    assert_eq!(show(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), plain);
}
