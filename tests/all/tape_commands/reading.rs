//! `list`, `show`, `info` and `anchors`.

use super::{BUBS, home_with, home_with_bubs, json, line, message, tape, tape_file};
use crate::home;
use serde_json::{Value, json as expected};
use std::fs;

#[test]
fn an_empty_home_has_no_tapes_and_stays_empty() {
    let home = home();
    let finished = tape(&home, ["list"]).mentions("there are no tapes");
    assert_eq!(finished.stdout, "", "{finished}");
    assert_eq!(json(&tape(&home, ["list", "--json"])), expected!({ "tapes": [] }));
    assert!(!home.tapes_dir().exists(), "looking makes a directory");
}

#[test]
fn the_list_marks_the_tapes_of_this_workspace() {
    let home = home_with_bubs();
    home.run(["hello"]).finish();
    let finished = tape(&home, ["list"]);
    let mine = format!("    tape {}__", home.workspace_half());
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert!(lines.iter().any(|line| line.starts_with(&mine)), "{finished}");
    assert!(lines.iter().any(|line| line.starts_with("* cli:local  ")), "{finished}");
    let bubs = format!("  {BUBS}       32 2026-11-21 02:41:54  7.7 KB");
    assert!(lines.contains(&bubs.as_str()), "{finished}");
    let here = json(&tape(&home, ["list", "--here", "--json"]));
    assert_eq!(here["tapes"].as_array().map(Vec::len), Some(1), "{here}");
    assert_eq!(here["tapes"][0]["session"], "cli:local", "{here}");
}

#[test]
fn the_list_shows_torn_tapes() {
    let home = home_with("aaaa__bbbb", &[&message(1, "user", "hi"), "{\"id\": 2, \"kind"]);
    let listed = json(&tape(&home, ["list", "--json"]));
    let row = &listed["tapes"][0];
    assert_eq!((&row["entries"], &row["torn"]), (&expected!(1), &expected!(true)), "{listed}");
    assert!(tape(&home, ["list"]).stdout.contains("\n    torn\n"));
}

#[test]
fn a_tape_of_bubs_is_shown_by_kind_with_anchors_as_rules() {
    let home = home_with_bubs();
    let finished = tape(&home, ["show", BUBS]);
    for part in [
        "── session/start ────────────────────────────────────── 1 2026-11-21 02:41:46 ──\n       {\"owner\": \"human\"}\n",
        "── phase-1 ─────────────────────────────────────────── 12 2026-11-21 02:41:50 ──\n",
        "    23 assistant                                             2026-11-21 02:41:50\n       tool said: anchor added: phase-1\n",
        "       tape_handoff({\"name\":\"phase-1\",\"summary\":\"did things\"})\n",
        "    17 tool_result                                           2026-11-21 02:41:50\n       anchor added: phase-1\n",
        "     9 event loop.step ",
    ] {
        assert!(finished.stdout.contains(part), "{part}\n{finished}");
    }
}

/// The ids that `show --json` gives.
#[track_caller]
fn ids<const N: usize>(words: [&str; N]) -> Vec<u64> {
    let home = home_with_bubs();
    let shown = json(&tape(&home, ["show", BUBS, "--json"].into_iter().chain(words)));
    assert_eq!(shown["tape"], BUBS);
    shown["entries"].as_array().into_iter().flatten().filter_map(|entry| entry["id"].as_u64()).collect()
}

#[test]
fn entries_can_be_filtered() {
    assert_eq!(ids([]), (1..=32).collect::<Vec<_>>());
    assert_eq!(ids(["--last", "3"]), [30, 31, 32]);
    assert_eq!(ids(["--after", "30"]), [31, 32]);
    assert_eq!(ids(["--after", "28", "--last", "2"]), [31, 32]);
    assert_eq!(ids(["--from-anchor"]), (12..=32).collect::<Vec<_>>());
    assert_eq!(ids(["--from-anchor", "session/start", "--kind", "anchor"]), [1, 12]);
    assert_eq!(ids(["--kind", "tool_call,tool_result"]), [16, 17]);
    assert_eq!(ids(["--kind", "message", "--last", "1"]), [30]);
    assert_eq!(ids(["--id", "16"]), [16]);
    assert!(ids(["--after", "32"]).is_empty());
}

#[test]
fn entries_as_json_are_those_of_the_tape() {
    let home = home_with_bubs();
    let shown = json(&tape(&home, ["show", BUBS, "--json"]));
    let text = fs::read_to_string(tape_file(&home, BUBS)).expect("the tape is there");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    assert_eq!(shown["entries"], Value::from(lines));
}

#[test]
fn a_long_text_is_folded_with_how_to_see_the_rest() {
    let text: Vec<String> = (1..=40).map(|number| format!("line {number}")).collect();
    let home = home_with("aaaa__bbbb", &[&message(1, "user", &text.join("\n")), &message(2, "user", "short")]);
    let finished = tape(&home, ["show", "aaaa__bbbb"]);
    assert!(finished.stdout.contains("\n       line 16\n       ... 24 more lines: --id 1 shows them"), "{finished}");
    assert!(!finished.stdout.contains("line 17"), "{finished}");
    for words in [["--full", "--last", "9"].as_slice(), &["--id", "1"]] {
        let finished = tape(&home, ["show", "aaaa__bbbb"].into_iter().chain(words.iter().copied()));
        assert!(finished.stdout.contains("\n       line 40\n"), "{finished}");
    }
}

#[test]
fn info_summarizes_the_tape() {
    let home = home_with_bubs();
    let about = json(&tape(&home, ["info", BUBS, "--json"]));
    for (key, value) in [
        ("entries", expected!(32)),
        ("anchors", expected!(2)),
        ("last_anchor", expected!("phase-1")),
        ("entries_since_last_anchor", expected!(20)),
        ("last_token_usage", expected!(1053)),
        ("cache_hit_rate", expected!(0.0)),
        ("unreadable", expected!(0)),
        ("torn_bytes", expected!(0)),
        ("interrupted", Value::Null),
    ] {
        assert_eq!(about[key], value, "{key} of {about}");
    }
    let finished = tape(&home, ["info", BUBS]);
    assert!(finished.stdout.contains("last anchor  phase-1, 20 entries behind it\n"), "{finished}");
    assert!(finished.stdout.contains("last run     1053 tokens, 0 % of its prompt from the cache\n"), "{finished}");
}

#[test]
fn info_counts_unreadable_lines_and_reports_torn_ones() {
    let home = home_with("aaaa__bbbb", &[&message(1, "user", "hi"), "no entry\n", &message(2, "user", "half")[..20]]);
    fs::write(home.tapes_dir().join("aaaa__bbbb.jsonl.torn"), "# 5 bytes\nhello\n").expect("it can be written");
    let about = json(&tape(&home, ["info", "aaaa__bbbb", "--json"]));
    assert_eq!(about["torn_bytes"], 16, "{about}");
    assert_eq!(about["ends_torn"], true, "{about}");
    assert!(about["unreadable"].as_u64().is_some_and(|lines| lines >= 1), "{about}");
    tape(&home, ["info", "aaaa__bbbb"]);
}

#[test]
fn the_last_twenty_anchors_are_shown_or_all() {
    let lines: Vec<String> = (1..=25)
        .map(|id| line(id, "anchor", &format!("{{\"name\": \"phase-{id}\", \"state\": {{\"at\": {id}}}}}")))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let home = home_with("aaaa__bbbb", &lines);
    let count = |words: &[&str]| {
        let shown = json(&tape(&home, ["anchors", "aaaa__bbbb", "--json"].into_iter().chain(words.iter().copied())));
        shown["anchors"].as_array().map(Vec::len)
    };
    assert_eq!((count(&[]), count(&["--all"])), (Some(20), Some(25)));
    let finished = tape(&home, ["anchors", "aaaa__bbbb"]);
    assert!(finished.stdout.starts_with("── phase-6 ──"), "{finished}");
    assert!(finished.stdout.ends_with("   {\"at\": 25}\n"), "{finished}");
}
