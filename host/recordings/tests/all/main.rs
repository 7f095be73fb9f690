//! Files of recordings: what they hold, what is found of changes, and what is removed.

mod packed;

use bub_recordings::{
    CallRecord, Ended, FORMAT, ImportRecord, Limits, Listed, Problem, Recording, Store, TurnRecord, digest_of,
};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

const SECRET: &str = "sk-of-the-test";

fn as_it_is(text: &str) -> String {
    text.to_owned()
}

/// A turn with two calls that say the same long text.
fn turn(session: &str, started_ms: i64) -> TurnRecord {
    let long = "a text that several calls say ".repeat(100);
    let shared = Arc::new(json!({ "config": { "key": 1.50 }, "limits": {} }));
    let call = |hook: &str| CallRecord {
        plugin: "one".to_owned(),
        component: "ab".repeat(32),
        hook: hook.to_owned(),
        config: shared.clone(),
        turn: Arc::new(json!({ "session": session, "prompt": long })),
        arguments: json!([long, { "b": 1, "a": [null, "ü\u{1}\"\\"] }]),
        ended: Ended::Returned,
        answer: Some(json!({ "ok": long })),
        imports: vec![ImportRecord {
            function: "bub:plugin/config.get".to_owned(),
            arguments: vec![json!("key")],
            answer: json!(format!("{{\"said\":\"{SECRET}\"}}")),
        }],
        clock: vec![1_700_000_000.123_456_7],
        monotonic: vec![1, u64::MAX],
        random: "00ff".to_owned(),
        instance: Some(3),
        fuel: 17,
        memory: 65_536,
        ..CallRecord::default()
    };
    TurnRecord {
        folder: "tape__one".to_owned(),
        session: session.to_owned(),
        runs: vec!["run-1".to_owned()],
        started_ms,
        calls: vec![call("build-prompt"), CallRecord { parent: Some(0), ..call("system-prompt") }],
        objects: [("blame".to_owned(), json!({ "spans": [1, 2] }))].into(),
        ..TurnRecord::default()
    }
}

fn store() -> (TempDir, Store) {
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::new(dir.path().join("recordings"));
    (dir, store)
}

fn only(store: &Store) -> Listed {
    let mut listed = store.list(None);
    assert_eq!(listed.len(), 1);
    listed.remove(0)
}

#[test]
fn a_turn_is_read_as_it_was_written_and_a_text_stands_once() {
    let (_dir, store) = store();
    let told = turn("chat:1", 1_790_000_000_123);
    let written = store.write(told.clone(), "0.1.0", &as_it_is).expect("it is written");
    let listed = only(&store);
    assert_eq!((&listed.name, &listed.folder), (&written.name, &"tape__one".to_owned()));
    assert!(listed.name.starts_with("20260921-"), "{}", listed.name);
    assert_eq!(fs::metadata(&listed.file).expect("a file").permissions().mode() & 0o777, 0o600);
    assert!(listed.bytes < 3_000, "{} bytes: the text of 3 kB stands six times in it", listed.bytes);
    let read = Recording::read(&listed.file).expect("it is read");
    assert_eq!((&read.digest, &read.problem), (&written.digest, &None));
    assert_eq!(read.object("blame"), Some(json!({ "spans": [1, 2] })));
    for (index, call) in told.calls.iter().enumerate() {
        let found = read.call(index).expect("its values are there");
        assert_eq!(format!("{:?}", (found.monotonic, found.clock)), format!("{:?}", (&call.monotonic, &call.clock)));
        assert_eq!(digest_of(&found.arguments), digest_of(&call.arguments));
        assert_eq!(
            (found.answer, found.turn, found.config),
            (call.answer.clone(), call.turn.clone(), call.config.clone())
        );
        assert_eq!((found.imports, found.parent, found.instance), (call.imports.clone(), call.parent, call.instance));
    }
}

#[test]
fn a_change_of_any_byte_and_a_missing_end_are_noticed() {
    let (dir, store) = store();
    store.write(turn("chat:1", 0), "0.1.0", &as_it_is).expect("it is written");
    let whole = fs::read(only(&store).file).expect("it is there");
    let file = dir.path().join("other.rec");
    let is_whole = |bytes: &[u8]| {
        fs::write(&file, bytes).expect("it can be written");
        Recording::read(&file).is_ok_and(|read| read.problem.is_none())
    };
    assert!(is_whole(&whole));
    for at in 0..whole.len() {
        let mut other = whole.clone();
        other[at] ^= 1 << (at % 8);
        assert!(!is_whole(&other), "byte {at} of {} may be changed", whole.len());
        assert!(at % 7 > 0 || !is_whole(&whole[..at]), "it may end after {at} bytes");
    }
    assert!(!is_whole(&[&whole[..], b"more"].concat()));
}

#[test]
fn what_is_wrong_is_said_and_what_is_there_can_be_used() {
    let (_dir, store) = store();
    store.write(turn("chat:1", 0), "0.1.0", &as_it_is).expect("it is written");
    let file = only(&store).file;
    let whole = fs::read(&file).expect("it is there");
    let problem = |bytes: &[u8]| {
        fs::write(&file, bytes).expect("it can be written");
        Recording::read(&file).map_or_else(|problem| problem, |read| read.problem.expect("something is wrong"))
    };
    let text = String::from_utf8_lossy(&whole).into_owned();
    let newer = text.replacen(&format!("recording {FORMAT} "), "recording 99 ", 1);
    assert_eq!(
        problem(newer.as_bytes()).to_string(),
        format!("its format is `99`, and this program reads {FORMAT}: use a newer bub-wasm")
    );
    assert_eq!(problem(b""), Problem::NoRecording);
    assert_eq!(problem(b"{}\n"), Problem::NoRecording);
    assert_eq!(problem(&whole[..100]), Problem::NoRecording);
    assert_eq!(problem(&whole[..300]), Problem::CutOff);
    let edited = [text.find("build-prompt").map(|at| {
        let mut other = whole.clone();
        other[at..at + 5].copy_from_slice(b"BUILD");
        other
    })];
    assert!(matches!(problem(edited[0].as_deref().expect("it names the hook")), Problem::Edited(_)));
    for missing in [5, 3, 2, 1, 4] {
        assert_eq!(problem(&whole[..whole.len() - missing]), Problem::CutOff, "{missing} bytes are missing");
    }
    assert!(Recording::read(&file).expect("most of it is there").call(0).is_ok(), "its values are before the cut");
}

#[test]
fn no_secret_is_in_a_file_and_a_call_without_its_values_says_so() {
    let (_dir, store) = store();
    let hide = |text: &str| text.replace(SECRET, "[secret]");
    store.write(turn(SECRET, 0), "0.1.0", &hide).expect("it is written");
    let listed = only(&store);
    let read = Recording::read(&listed.file).expect("it is read");
    assert!(read.texts().all(|text| !text.contains(SECRET)) && read.manifest.session == "[secret]");
    // A redactor that breaks what it redacts.
    let (_dir, store) = self::store();
    store.write(turn("chat", 0), "0.1.0", &|text: &str| text.replace("function", "\"")).expect("it is written");
    let read = Recording::read(&only(&store).file).expect("it is read");
    let reason = read.manifest.calls[0].unrecorded.clone();
    assert_eq!(reason.as_deref(), Some("a secret stands where it cannot be replaced"));
}

#[test]
fn the_oldest_are_removed_by_bytes_and_by_days() {
    let (_dir, store) = store();
    for second in 0..10 {
        store.write(turn("chat:1", second * 1_000), "0.1.0", &as_it_is).expect("it is written");
    }
    let all = store.list(None);
    let bytes: u64 = all.iter().map(|recording| recording.bytes).sum();
    let left = store.prune(Limits { max_bytes: bytes / 2, max_age: Duration::from_secs(3_600) });
    assert!(left <= bytes / 2 && left > 0, "{left} of {bytes}");
    let kept = store.list(None);
    assert_eq!(kept[..], all[all.len() - kept.len()..], "the newest are kept");
    assert_eq!(store.prune(Limits { max_bytes: bytes, max_age: Duration::ZERO }), 0);
    assert_eq!(store.list(None), []);
}

#[test]
fn recordings_with_an_erased_text_are_removed_and_those_of_a_session() {
    let (_dir, store) = store();
    store.write(turn("chat:1", 0), "0.1.0", &as_it_is).expect("it is written");
    let other = TurnRecord { folder: "tape__two".to_owned(), calls: Vec::new(), ..turn("chat:2", 1) };
    store.write(other, "0.1.0", &as_it_is).expect("it is written");
    // It stands in JSON within JSON.
    assert_eq!(store.remove_with(&["nobody has said this".to_owned()]), 0);
    assert_eq!(store.remove_with(&[format!("said\":\"{SECRET}")]), 1);
    assert_eq!(only(&store).folder, "tape__two");
    assert_eq!(store.remove_folder("tape__one"), 0);
    assert_eq!(store.remove_folder("tape__two"), 1);
}

#[test]
fn an_erasure_is_known_to_those_who_have_begun_before() {
    let (_dir, store) = store();
    let began = SystemTime::now();
    assert!(!store.has_erased_since(began));
    store.write(turn("chat:1", 0), "0.1.0", &as_it_is).expect("it is written");
    store.note_erasure().expect("it is noted");
    assert!(store.has_erased_since(began));
    assert!(!store.has_erased_since(SystemTime::now() + Duration::from_secs(1)));
    // It is no recording.
    assert_eq!(only(&store).folder, "tape__one");
}

#[test]
fn a_recording_is_found_by_a_part_of_its_name_and_by_a_model_call() {
    let (_dir, store) = store();
    let one = store.write(turn("chat:1", 0), "0.1.0", &as_it_is).expect("it is written");
    let other = TurnRecord { runs: vec!["run-2".to_owned()], ..turn("chat:2", 86_400_000) };
    let two = store.write(other, "0.1.0", &as_it_is).expect("it is written");
    assert_eq!(store.find(&one.name).expect("it is there").name, one.name);
    assert_eq!(store.find("19700102").expect("it is there").name, two.name);
    assert_eq!(store.find("run-2").expect("it is there").name, two.name);
    assert!(store.find("1970").is_err_and(|error| error.to_string().contains("a part of 2 names")));
    assert!(store.find("nonsense").is_err_and(|error| error.to_string().contains("replay --list")));
}

#[test]
fn canonical_json_is_what_a_parser_reads_with_sorted_keys() {
    let odd: String = (0_u32..0x300).filter_map(char::from_u32).chain(['\u{2028}', '\u{1F600}', '"', '\\']).collect();
    let value = json!({ "b": [1, -2.5, 1e300, true, null, {}, []], "a": odd, odd.as_str(): { "z": 1, "\u{1}": 2, "y\"": [{ "c": 1, "b": 2 }] } });
    let text = bub_recordings::canonical(&value);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    assert_eq!(text, bub_recordings::canonical(&serde_json::from_str(&text).unwrap()));
    assert_eq!(bub_recordings::canonical(&json!({ "b": odd, "a": 1 })), format!(r#"{{"a":1,"b":{}}}"#, json!(odd)));
}
