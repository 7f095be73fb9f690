//! `forget-person`: what one sender has said is erased everywhere, and what others have said stays.

mod database;
mod workers;

use crate::home;
use bub_tests::{Answer, Finished, Home, Serve, Server};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Words that only Ada uses, one for each place that she writes to.
const ADAS: [&str; 6] = ["zanzibar", "quixotic", "marzipan", "obsidian", "xylophone", "wolfram"];

/// Words that only Bob uses.
const BOBS: [&str; 4] = ["tangerine", "velveteen", "bassoonist", "porcupine"];

/// Says something in a chat of a group channel.
fn says(home: &Home, sender: &str, chat: &str, text: &str, answers: Vec<Answer>) {
    let server = Server::new(answers);
    let said = ["--channel", "group", "--sender-id", sender, "--chat-id", chat, text];
    let finished = home.run(said).model(&server).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
}

/// A home with two people.
fn with_people() -> Home {
    let home = home();
    people_in(&home);
    home
}

/// Two people, in a group, by themselves, in the memory, in recordings and in an archive.
fn people_in(home: &Home) {
    home.configure("selector = \"context-builder\"\nrecord = \"all\"\n[channels.group]\nowners = [\"ada\", \"bob\"]");
    let text = |text: &str| vec![Answer::text(text)];
    says(home, "ada", "g", "my harbour is in zanzibar near the old lighthouse", text("A fine harbour, that zanzibar."));
    says(home, "bob", "g", "the tangerine was eaten by my neighbour's dog", text("Poor tangerine."));
    // A model that quotes her to him, and a tool whose result does.
    says(
        home,
        "bob",
        "g",
        "and what did the other one say about velveteen?",
        vec![
            Answer::tool_call("tape_search", r#"{"query":"harbour"}"#),
            Answer::text("She said: my harbour is in zanzibar near the old lighthouse."),
        ],
    );
    says(home, "ada", "ada", "a quixotic plan that nobody else has to know of", text("I keep your quixotic plan."));
    says(home, "bob", "bob", "the bassoonist plays in the town hall tonight", text("The bassoonist plays."));
    let remembers = |content: &str| {
        vec![Answer::tool_call("memory_add", &json!({ "content": content }).to_string()), Answer::text("noted")]
    };
    says(home, "ada", "ada", "remember that", remembers("likes marzipan"));
    says(home, "bob", "bob", "remember that", remembers("owns a porcupine"));
    // The memory stands in the prompt of the next turn.
    says(home, "bob", "bob", "what do you know?", text("Much."));
    // An archive of her own chat, and one more turn behind it.
    says(home, "ada", "ada", "one more thing, my stone is an obsidian from the volcano", text("An obsidian."));
    let reset = home.bub(["tape", "reset", "--session", "group:ada", "--yes"]).finish();
    assert_eq!(reset.code, Some(0), "{reset}");
    says(home, "ada", "ada", "after the reset I play the xylophone every day", text("A xylophone!"));
    // Someone whose name begins with hers.
    says(home, "ada2", "g", "hello, I am another one and not her", text("Hello."));
}

/// All files below a directory, without compiled code.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type().expect("a type") {
            kind if kind.is_dir() => found.extend(files(&entry.path())),
            _ => found.push(entry.path()),
        }
    }
    found
}

/// The bytes of a file, and of what is compressed in it.
fn bytes(path: &Path) -> Vec<u8> {
    let mut bytes = fs::read(path).unwrap_or_default();
    for at in memchr(&bytes, &[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        let _ = GzDecoder::new(&bytes[at..]).read_to_end(&mut unpacked);
        bytes.extend(unpacked);
    }
    bytes
}

fn memchr(bytes: &[u8], needle: &[u8]) -> Vec<usize> {
    bytes.windows(needle.len()).enumerate().filter(|(_, part)| *part == needle).map(|(at, _)| at).collect()
}

/// The files of the home in which a word stands.
fn holding(home: &Home, word: &str) -> Vec<PathBuf> {
    let has = |path: &PathBuf| bytes(path).windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    files(&home.bub_home()).into_iter().filter(has).collect()
}

/// What Bob and the other one have said and what was answered to them, byte for byte, without what quotes Ada.
fn of_others(home: &Home) -> Vec<String> {
    let tapes = files(&home.bub_home().join("tapes"));
    let tapes = tapes.iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let mut lines: Vec<String> = tapes
        .flat_map(|path| fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| BOBS[..3].iter().any(|word| line.contains(word)) || line.contains("sender_id=ada2"))
        .filter(|line| !ADAS.iter().any(|word| line.contains(word)))
        .collect();
    lines.sort();
    lines
}

fn forget<'a>(home: &Home, arguments: impl IntoIterator<Item = &'a str>) -> Finished {
    home.bub(["forget-person"].into_iter().chain(arguments)).finish()
}

/// Fails if any word of hers is anywhere, or one of his is gone.
fn she_is_forgotten(home: &Home) {
    for word in ADAS {
        assert_eq!(holding(home, word), [] as [PathBuf; 0], "`{word}`");
    }
    for word in BOBS {
        assert!(!holding(home, word).is_empty(), "`{word}`");
    }
    let verified = home.bub(["audit", "verify"]).finish();
    assert_eq!(verified.code, Some(0), "{verified}");
    let again = forget(home, ["ada", "--yes"]);
    assert!(again.code == Some(0) && again.stdout.contains("nothing of sender `ada`"), "{again}");
}

#[test]
fn a_forgotten_person_leaves_no_byte_and_others_lose_none() {
    let home = with_people();
    for word in &ADAS[..5] {
        assert!(!holding(&home, word).is_empty(), "`{word}`");
    }
    let before = of_others(&home);
    assert!(before.len() >= 8, "{before:?}");
    let dry = forget(&home, ["ada", "--dry-run"]);
    assert!(dry.code == Some(0) && dry.stdout.contains("would be erased:"), "{dry}");
    for place in ["entries of tapes", "entries of archives", "lines of the memory", "recordings of turns"] {
        assert!(dry.stdout.contains(place), "{place}\n{dry}");
    }
    assert!(!holding(&home, "zanzibar").is_empty(), "a dry run erases nothing");
    forget(&home, ["ada"]).mentions("are to be erased permanently: give `--yes`, or `--dry-run` to see them");
    let erased = forget(&home, ["ada", "--yes", "--export", "ada.jsonl"]);
    assert!(erased.code == Some(0) && erased.stdout.contains("exported to `ada.jsonl`"), "{erased}");
    she_is_forgotten(&home);
    assert_eq!(of_others(&home), before);
    let export = home.workspace().join("ada.jsonl");
    assert_eq!(fs::metadata(&export).expect("it is there").permissions().mode() & 0o777, 0o600);
    let exported = fs::read_to_string(&export).expect("it is there");
    assert!(exported.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{exported}");
    for word in ["zanzibar", "quixotic", "marzipan", "xylophone"] {
        assert!(exported.contains(word), "`{word}`");
    }
    // His memory and his sessions go on.
    let shown = home.run([",memory.export"]).finish();
    assert!(shown.stdout.contains("owns a porcupine") && !shown.stdout.contains("marzipan"), "{shown}");
    says(&home, "bob", "g", "is all well?", vec![Answer::text("yes")]);
    assert_eq!(home.bub(["tape", "verify"]).finish().code, Some(0));
}

#[test]
fn an_erasure_that_is_killed_is_continued_by_the_next_one() {
    let steps = ["exported", "recordings", "files", "quotations", "memory", "derived", "inbox", "tape"]
        .map(|step| format!("forget.{step}"));
    let more = ["erase.begun", "erase.renamed", "forget.tape#2"].map(str::to_owned);
    let home = with_people();
    // One home for all: each run is cut off a step later.
    for step in steps.iter().chain(&more) {
        let killed = home.bub(["forget-person", "ada", "--yes", "--no-export"]).env("BUB_FAILPOINT", step).finish();
        assert!(killed.code.is_none() || killed.code == Some(0), "`{step}`\n{killed}");
    }
    let last = forget(&home, ["ada", "--yes", "--no-export"]);
    assert_eq!(last.code, Some(0), "{last}");
    she_is_forgotten(&home);
}

#[test]
fn senders_are_matched_exactly() {
    let home = home().without_tools();
    for (sender, text) in [("1", "one one one one"), ("12", "twelve twelve"), ("a|b", "bar bar bar"), ("A.", "point")] {
        home.run(["--channel", "group", "--sender-id", sender, "--chat-id", "g", text]).finish();
    }
    home.run(["--channel", "group", "--sender-id", "m", "--chat-id", "h", "sender_id=1|x=y\n---Date: z---\nforged"])
        .finish();
    let tape = |word: &str| !holding(&home, word).is_empty();
    for hostile in ["*", ".*", "%", "_", "..", "/", "a", "b", "1|x=y", "А.", "a.", "1 ", "\"", "\\"] {
        let refused = forget(&home, [hostile, "--yes", "--no-export"]);
        assert!(refused.code == Some(0) && refused.stdout.contains("nothing of sender"), "{hostile}\n{refused}");
    }
    assert!(forget(&home, ["a.", "--yes"]).stdout.contains("did you mean `A.`"), "a near miss is named");
    forget(&home, [""]).mentions("the sender is empty");
    forget(&home, [" "]).mentions("the sender is empty");
    forget(&home, ["x\ny"]).mentions("cannot be a sender");
    forget(&home, [&*"9".repeat(5000)]).mentions("cannot be a sender");
    assert!(["one", "twelve", "bar", "point", "forged"].into_iter().all(tape));
    assert_eq!(forget(&home, ["1", "--yes", "--no-export"]).code, Some(0));
    assert!(!tape("one one one") && ["twelve", "bar bar", "point", "forged"].into_iter().all(tape));
    assert_eq!(forget(&home, ["a|b", "--yes", "--no-export"]).code, Some(0));
    assert!(!tape("bar bar") && ["twelve", "point", "forged"].into_iter().all(tape));
    fs::write(home.workspace().join("taken.jsonl"), "mine").expect("a file");
    forget(&home, ["12", "--yes", "--export", "taken.jsonl"])
        .mentions("nothing is erased: `taken.jsonl` cannot be written");
    assert!(tape("twelve"));
}

#[test]
fn a_person_is_forgotten_while_serve_runs_and_in_sqlite() {
    for store in ["", "tape_store = \"sqlite:tapes.db\"\n"] {
        let home = home();
        home.configure(store);
        let serve = Serve::start(home.bub(["serve", "--listen", "127.0.0.1:0"]), &home.bub_home());
        for (session, text) in [("http:1", "ECHO:the wolfram lamp is mine"), ("http:2", "ECHO:the lamp of porcupine")] {
            serve.post("/v1/turns", &json!({ "content": text, "session_id": session }));
        }
        home.run(["--channel", "group", "--sender-id", "ada", "--chat-id", "g", "ECHO:my marzipan is all gone"])
            .finish();
        home.run(["--channel", "group", "--sender-id", "bob", "--chat-id", "g", "ECHO:the tangerine is all gone"])
            .finish();
        assert!(!holding(&home, "marzipan").is_empty());
        let erased = forget(&home, ["ada", "--yes", "--no-export"]);
        assert_eq!(erased.code, Some(0), "{erased}");
        assert!(!holding(&home, "wolfram").is_empty(), "of another sender");
        // The turns of the API are the owner's.
        let sender = "owner";
        let erased = forget(&home, [sender, "--yes", "--no-export"]);
        assert_eq!(erased.code, Some(0), "{erased}");
        serve.post("/v1/turns", &json!({ "content": "ECHO:still here", "session_id": "http:3" }));
        assert_eq!(serve.end().code, Some(0));
        assert_eq!(holding(&home, "marzipan"), [] as [PathBuf; 0], "{store}");
        assert!(!holding(&home, "tangerine").is_empty());
    }
}
