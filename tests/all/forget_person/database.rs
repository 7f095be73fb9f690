//! The same where tapes and the inbox are in PostgreSQL.

use super::{ADAS, BOBS, forget, holding, people_in, says};
use crate::cluster::until;
use crate::home;
use crate::serve::{echo, serve};
use bub_test_support::postgres::Postgres;
use bub_tests::{Answer, Home, Server, programs};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A home on a database of its own.
pub(super) struct Databased {
    pub(super) home: Home,
    postgres: &'static Postgres,
    address: String,
}

impl Databased {
    /// `None`: PostgreSQL is not installed.
    pub(super) fn new() -> Option<Self> {
        let postgres = Postgres::shared()?;
        let (home, address) = (home(), postgres.database());
        home.configure(&format!("tape_store = {address:?}\nlease_seconds = 3\nlock_wait = 8"));
        Some(Self { home, postgres, address })
    }

    /// The same with a channel that brings these messages, and to which no answer can be delivered.
    pub(super) fn posted(arrivals: &str) -> Option<Self> {
        let this = Self::new()?;
        this.home.plugin("poster", programs::POSTER);
        let fails = "fails = { send = { kind = \"not-found\", message = \"gone\" } }";
        this.home.configure(&format!(
            "[plugins.poster.config]\nflags = [\"polls\"]\nwait = 60000\n{fails}\narrivals = [{arrivals}]"
        ));
        Some(this)
    }

    pub(super) fn sql(&self, statement: &str) -> String {
        self.postgres.sql(&self.address, statement)
    }

    pub(super) fn until(&self, statement: &str, expected: &str) {
        until(&self.address, statement, expected);
    }

    fn tables(&self) -> Vec<String> {
        let names =
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1";
        self.sql(names).lines().map(str::to_owned).collect()
    }

    /// All rows of a table, one a line, with the bytes of its columns in lower case.
    pub(super) fn rows(&self, table: &str) -> Vec<String> {
        let text = self.sql(&format!("SELECT replace(t::text, E'\\n', ' ') FROM {table} t"));
        text.lines().map(|line| readable(line).to_lowercase()).collect()
    }

    /// The tables in which a word stands, and the samples of columns that PostgreSQL keeps.
    pub(super) fn holding(&self, word: &str) -> Vec<String> {
        let mut tables = self.tables();
        assert!(tables.len() > 15, "{tables:?}");
        tables.push("pg_stats".to_owned());
        tables.retain(|table| self.rows(table).iter().any(|row| row.contains(word)));
        tables
    }

    /// The rows with Bob's words and none of hers, byte for byte, of these tables.
    fn of_others(&self) -> Vec<String> {
        let all = ["entry", "message", "outbound", "event"].into_iter().flat_map(|table| self.rows(table));
        let is_his = |row: &String| BOBS.iter().any(|word| row.contains(word));
        // The memory is written again.
        let is_hers = |row: &String| ADAS.iter().any(|word| row.contains(word)) || row.contains("\"memory.");
        let mut rows: Vec<String> = all.filter(is_his).filter(|row| !is_hers(row)).collect();
        rows.sort();
        rows
    }

    /// Fails if any word of hers is anywhere, or one of his is gone.
    fn she_is_forgotten(&self) {
        for word in ADAS {
            assert_eq!(self.holding(word), [] as [String; 0], "`{word}`");
            let mut files = holding(&self.home, word);
            // What the channel of the test brings.
            files.retain(|file| !file.ends_with("config.toml"));
            assert_eq!(files, [] as [PathBuf; 0], "`{word}`");
        }
        for word in BOBS {
            assert!(!self.holding(word).is_empty(), "`{word}`");
        }
        let verified = self.home.bub(["audit", "verify"]).finish();
        assert_eq!(verified.code, Some(0), "{verified}");
        let again = forget(&self.home, ["ada", "--yes"]);
        assert!(again.code == Some(0) && again.stdout.contains("nothing of sender `ada`"), "{again}");
    }
}

/// A row as text, with the bytes behind `\x` in place of their digits.
fn readable(row: &str) -> String {
    let mut parts = row.split("\\x");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count() & !1;
        let byte = |at: usize| u8::from_str_radix(&part[at..at + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..digits).step_by(2).map(byte).collect();
        text.push_str(&String::from_utf8_lossy(&bytes));
        text.push_str(&part[digits..]);
    }
    text
}

pub(super) const ARRIVALS: &str = r#"{ id = "1", chat = "7", sender = "ada", content = "the wolfram lamp on my desk is mine" },
    { id = "2", chat = "8", sender = "bob", content = "the porcupine sleeps under the old oak tree" }"#;

/// Both of them in tapes, archives, the memory, the inbox, and rows that workers leave for others.
fn with_people() -> Option<(Databased, Server)> {
    let here = Databased::posted(ARRIVALS)?;
    people_in(&here.home);
    // Behind the message itself the context builder has lines of its own.
    let model = Server::ruled(|request| {
        let content = request.last_content();
        let is_said = |line: &&str| ["wolfram", "porcupine", "tangerine"].iter().any(|word| line.contains(word));
        Answer::text(&format!("you said: {}", content.lines().find(is_said).unwrap_or_default()))
    });
    let served = serve(&here.home, &model);
    here.until("SELECT count(*) FROM outbound WHERE state = 2", "2");
    let body = json!({ "content": "say the tangerine thing", "session_id": "http:1" });
    let said = served.ask("POST", "/v1/turns").header("idempotency-key", "7").json(&body).send().ok();
    assert!(said["model_output"].to_string().contains("tangerine"), "{said}");
    assert_eq!(served.end().code, Some(0));
    // Of a chat that was reset and not used again there is the archive alone.
    says(
        &here.home,
        "ada",
        "gone",
        "my quixotic archive that has no tape beside it",
        vec![Answer::text("A quixotic one.")],
    );
    let reset = here.home.bub(["tape", "reset", "--session", "group:gone", "--yes"]).finish();
    assert_eq!(reset.code, Some(0), "{reset}");
    let tape = here.sql(
        "SELECT t.name FROM tape t JOIN entry e ON e.tape = t.number WHERE NOT t.archive \
                         AND encode(e.payload, 'escape') LIKE '%wolfram%' LIMIT 1",
    );
    let session = here.sql(&format!("SELECT encode(id, 'escape') FROM session WHERE tape = '{tape}'"));
    let quixotic = "my quixotic archive that has no tape beside it";
    let wolfram = "the wolfram lamp on my desk is mine";
    here.sql(&format!(
        "INSERT INTO stream (tape, turn, first, items, is_last) VALUES ('{tape}', 't', 0, '[\"you said: wol\"]', false), \
         ('{tape}', 't', 1, '[\"fram\"]', true), ('another__tape', 'u', 0, '[\"porcupine\"]', true); \
         INSERT INTO approval (id, question, until) VALUES \
         ('a', '{{\"session_id\":\"{session}\",\"arguments\":\"wolfram\"}}', clock_timestamp()), \
         ('b', '{{\"session_id\":\"x\",\"arguments\":\"porcupine\"}}', clock_timestamp()); \
         INSERT INTO event (session, name, data) VALUES ('s', 'turn-ends', '{{\"error\":\"cannot do: {wolfram}\"}}'), \
         ('s', 'turn-ends', '{{\"error\":\"cannot do: {quixotic}\"}}'), \
         ('s', 'turn-ends', '{{\"error\":\"cannot do: porcupine\"}}'); \
         INSERT INTO breaker (digest, hook, state) VALUES \
         ('d', 'h', '{{\"plugin\":\"p\",\"fault\":\"{wolfram}\",\"at\":0,\"sessions\":[],\"callers\":{{}}}}'); ANALYZE"
    ));
    Some((here, model))
}

#[test]
fn a_forgotten_person_leaves_no_byte_in_any_table_and_others_lose_no_row() {
    let Some((here, _)) = with_people() else { return };
    for word in &ADAS {
        assert!(!here.holding(word).is_empty(), "`{word}`");
    }
    for table in ["entry", "outbound", "event", "approval", "breaker", "pg_stats"] {
        assert!(here.rows(table).iter().any(|row| ADAS.iter().any(|word| row.contains(word))), "`{table}`");
    }
    let streams = || here.rows("stream").iter().filter(|row| row.contains("wol") || row.contains("fram")).count();
    assert_eq!(streams(), 2, "a word in two pieces");
    let (before, keys) =
        (here.of_others(), here.sql("SELECT string_agg(encode(key, 'hex'), ' ' ORDER BY key) FROM message"));
    assert!(before.len() >= 8, "{before:?}");
    let dry = forget(&here.home, ["ada", "--dry-run"]);
    for place in ["entries of tapes", "entries of archives", "lines of the memory", "messages and answers in the inbox"]
    {
        assert!(dry.code == Some(0) && dry.stdout.contains(place), "{place}\n{dry}");
    }
    assert!(!here.holding("wolfram").is_empty(), "a dry run erases nothing");
    let erased = forget(&here.home, ["ada", "--yes", "--export", "ada.jsonl"]);
    assert!(erased.code == Some(0) && erased.stdout.contains("exported to `ada.jsonl`"), "{erased}");
    here.she_is_forgotten();
    assert_eq!((here.of_others(), streams()), (before, 0));
    assert_eq!(here.sql("SELECT string_agg(encode(key, 'hex'), ' ' ORDER BY key) FROM message"), keys);
    let exported = std::fs::read_to_string(here.home.workspace().join("ada.jsonl")).expect("it is there");
    let lines: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    for word in ADAS {
        assert!(exported.contains(word), "`{word}`");
    }
    for table in ["outbound", "event", "stream", "approval", "breaker"] {
        assert!(lines.iter().any(|line| line["inbox"] == table), "`{table}`");
    }
    assert!(lines.iter().any(|line| line["archive"].is_string()));
    let shown = here.home.run([",memory.export"]).finish();
    assert!(shown.stdout.contains("owns a porcupine") && !shown.stdout.contains("marzipan"), "{shown}");
    says(&here.home, "bob", "g", "is all well?", vec![Answer::text("yes")]);
}

#[test]
fn an_erasure_in_a_database_that_is_killed_is_continued_by_the_next_one() {
    let Some((here, _)) = with_people() else { return };
    let before = here.of_others();
    let steps = ["exported", "recordings", "files", "quotations", "memory", "derived", "table", "table#3"];
    let last = ["inbox", "archive", "archive#2", "tape", "tape#2"];
    // One home for all: each run is cut off a step later.
    for step in steps.iter().chain(&last).map(|step| format!("forget.{step}")) {
        let killed =
            here.home.bub(["forget-person", "ada", "--yes", "--no-export"]).env("BUB_FAILPOINT", &step).finish();
        assert!(killed.code.is_none(), "`{step}`\n{killed}");
    }
    let last = forget(&here.home, ["ada", "--yes", "--no-export"]);
    assert_eq!(last.code, Some(0), "{last}");
    here.she_is_forgotten();
    assert_eq!(here.of_others(), before);
}

#[test]
fn hostile_names_and_texts_are_erased_from_a_database() {
    let long = format!("zanzibar {}", "very long indeed, ".repeat(20_000));
    let texts = [
        r#""'; DROP TABLE message; -- marzipan \\ ' \""#.to_owned() + " \\u0000 and more of it\"",
        r#""\u001b[31mmarzipan in red\u001b[0m, \u202ebackwards, and a bell \u0007""#.to_owned(),
        format!("\"{long}\""),
    ];
    for (sender, written) in [("o'hara\"; --", "o'hara\\\"; --"), ("a|b%_\\x", "a|b%_\\\\x"), ("Ада 💥", "Ада 💥")]
    {
        let arrivals: Vec<String> = texts
            .iter()
            .enumerate()
            .map(|(nth, text)| format!("{{ id = \"{nth}\", chat = \"7\", sender = \"{written}\", content = {text} }}"))
            .collect();
        let others = "{ id = \"9\", chat = \"7\", sender = \"bob\", content = \"the tangerine of bob\" }";
        let Some(here) = Databased::posted(&format!("{}, {others}", arrivals.join(", "))) else { return };
        let model = echo();
        let served = serve(&here.home, &model);
        here.until("SELECT count(*) FROM message WHERE state = 2", "4");
        assert_eq!(served.end().code, Some(0));
        for word in ["marzipan", "zanzibar"] {
            assert!(!here.holding(word).is_empty(), "`{word}`");
        }
        let erased = forget(&here.home, [sender, "--yes", "--export", "it.jsonl"]);
        assert_eq!(erased.code, Some(0), "{erased}");
        for word in ["marzipan", "zanzibar"] {
            assert_eq!(here.holding(word), [] as [String; 0], "`{word}` of `{sender}`");
        }
        assert!(!here.holding("tangerine").is_empty());
        let exported = std::fs::read_to_string(here.home.workspace().join("it.jsonl")).expect("it is there");
        assert!(exported.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
        assert!(exported.contains("very long indeed, very long") && exported.contains("DROP TABLE"));
    }
}

#[test]
fn archives_in_sqlite_are_erased_as_those_in_files() {
    let home = home();
    home.configure("tape_store = \"sqlite:tapes.db\"");
    people_in(&home);
    let erased = forget(&home, ["ada", "--yes", "--no-export"]);
    assert!(erased.code == Some(0) && erased.stdout.contains("entries of archives"), "{erased}");
    super::she_is_forgotten(&home);
}
