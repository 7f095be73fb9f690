//! Tapes that are made up from a seed: any ids on any kinds of entries.

use bub_test_support::Chance;

/// Values that may stand in the place of an id.
const ODD: [&str; 22] = [
    "0",
    "-1",
    "-9223372036854775809",
    "1",
    "2",
    "7",
    "true",
    "false",
    "9007199254740990",
    "9007199254740991",
    "9007199254740992",
    "9223372036854775806",
    "9223372036854775807",
    "18446744073709551615",
    "340282366920938463463374607431768211456",
    "1.5",
    "1e3",
    "\"3\"",
    "null",
    "[]",
    "{\"a\": 1}",
    "00012",
];

/// The bytes of a tape.
pub(super) fn tape(chance: &mut Chance) -> Vec<u8> {
    let count = match chance.below(24) {
        0 => 0,
        // So many, and so long, that their file is more than one stretch of what is marked in it.
        1 => 120 + chance.below(120),
        _ => 1 + chance.below(40),
    };
    let (oddity, filler) = (chance.below(6), if count > 40 { 2000 } else { chance.below(60) });
    let (mut tape, mut id) = (Vec::new(), 0_u64);
    for _ in 0..count {
        let written = match oddity {
            _ if chance.below(8) > 0 => {
                id = id.saturating_add(1 + chance.below(3) as u64);
                id.to_string()
            }
            0 => id.to_string(),
            1 => id.saturating_sub(chance.below(20) as u64).to_string(),
            2 => {
                id = chance.draw() >> chance.below(64);
                id.to_string()
            }
            3 => {
                id = id.saturating_sub(chance.below(200) as u64);
                id.to_string()
            }
            _ => (*chance.one_of(&ODD)).to_owned(),
        };
        let id = if chance.below(60) == 0 { String::new() } else { format!("\"id\": {written}, ") };
        let (kind, payload, meta) = content(chance, filler);
        let line = format!(
            "{{{id}\"kind\": \"{kind}\", \"payload\": {payload}, \"meta\": {meta}, \"date\": \"2026-11-21T02:36:22+00:00\"}}\n"
        );
        tape.extend(line.into_bytes());
    }
    match chance.below(10) {
        0 => drop(tape.pop()),
        1 => tape.truncate(tape.len().saturating_sub(chance.below(40))),
        2 => tape.extend(b"\xff\n"),
        _ => {}
    }
    tape
}

fn content(chance: &mut Chance, filler: usize) -> (&'static str, String, &'static str) {
    let word = *chance.one_of(&["heron", "stork", "crane"]);
    let text = format!("{word} {}", "x".repeat(filler));
    let version = chance.below(4);
    let zone = *chance.one_of(&["memory", "notes"]);
    match chance.below(12) {
        0 => ("anchor", format!(r#"{{"name": "phase", "state": {{"n": {version}}}}}"#), "{}"),
        1 | 2 => {
            ("anchor", format!(r#"{{"name": "{zone}/open", "state": {{"version": {version}}}}}"#), r#"{"zone": true}"#)
        }
        3 | 4 => {
            ("anchor", format!(r#"{{"name": "{zone}/seal", "state": {{"version": {version}}}}}"#), r#"{"zone": true}"#)
        }
        5 => ("event", format!(r#"{{"name": "{zone}.long_term", "data": {{"text": "{text}"}}}}"#), r#"{"zone": true}"#),
        6 => ("event", format!(r#"{{"name": "{word}", "data": {{"text": "{text}"}}}}"#), r#"{"context": false}"#),
        7 => ("system", format!(r#"{{"content": "{text}"}}"#), "{}"),
        8 => {
            ("tool_call", r#"{"calls": [{"id": "a", "function": {"name": "t", "arguments": "{}"}}]}"#.to_owned(), "{}")
        }
        9 => ("tool_result", r#"{"results": ["done"]}"#.to_owned(), "{}"),
        10 => (word, format!(r#"{{"text": "{text}"}}"#), "{}"),
        _ => ("message", format!(r#"{{"role": "user", "content": "{text}"}}"#), "{}"),
    }
}
