//! Anything at all as what a channel brings: ids, contexts, passages, media and their provenance. The host takes a message or
//! refuses it by name; no text of another author becomes a command, or part of an owner's turn that is not tainted.
//!
//! `corpus/channels` holds what was worth keeping: lists of arrivals, as the program `poster` reads them. To look for more:
//!
//! ```sh
//! BUB_FUZZ_SECONDS=600 cargo test -p bub-wasm --test all -- --exact channels::fuzz::look_for_more --ignored --nocapture
//! ```

use crate::home;
use crate::hostile::beside::start;
use bub_runtime::hooks::{Arrival, GuestChannel, channels};
use bub_runtime::host::Host;
use bub_runtime::turn::{CallScope, TurnOptions, run_turn};
use bub_test_support::Chance;
use bub_test_support::fuzz::Budget;
use bub_tests::{Home, programs, tape};
use bub_types::{MessageKind, Provenance};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/channels");

/// Messages of one poll.
const BATCH: usize = 24;

/// Against waiting for ever.
const PATIENCE: Duration = Duration::from_secs(120);

/// Keys whose texts are facts about the message and its sender, as `wit/deps/bub-types/types.wit` lists them.
const FACTS: [&str; 8] =
    ["message_id", "reply_to_message_id", "thread_id", "date", "edited", "username", "full_name", "model"];

const OWN_KEYS: [&str; 3] = ["sender_id", "channel", "chat_id"];

/// A host of this process with the channel, whose owner is `owner`.
struct Field {
    home: Home,
    host: Arc<Host>,
    channel: GuestChannel,
    turns: u64,
}

impl Field {
    async fn new() -> Self {
        let home = home();
        home.plugin("poster", programs::POSTER);
        home.configure(
            "[plugins.telegram]\nenabled = false\n[plugins.memory]\nenabled = false\n\
             [plugins.poster]\nfollow = true\ngrants = [\"hook:channel\"]\n[plugins.poster.config]\nreplays = true\n\
             [channels.poster]\nowners = [\"owner\"]\ncommands = \"all\"\n",
        );
        let host = start(&home).await;
        let mut found = channels(&CallScope::new(&host)).await;
        assert_eq!(found.len(), 1, "the one channel is there");
        Self { channel: found.remove(0), home, host, turns: 0 }
    }

    /// Brings these messages by one poll, and holds what the host makes of them against what was brought.
    async fn look(&mut self, given: &[Value]) {
        let cursor = json!({ "arrivals": given }).to_string();
        let inbox = self.channel.poll(&CallScope::new(&self.host), Some(cursor)).await;
        let inbox = inbox.unwrap_or_else(|failure| panic!("one message broke the poll: {failure}"));
        assert_eq!(inbox.arrivals.len() + inbox.refused.len(), given.len(), "{:?}", inbox.refused);
        for refused in &inbox.refused {
            assert!(refused.contains(" is refused: ") && !refused.contains(char::is_control), "{refused:?}");
        }
        let expected: Vec<&Value> = given.iter().filter(|given| !is_refused(given)).collect();
        assert_eq!(inbox.arrivals.len(), expected.len(), "{:?}", inbox.refused);
        for (arrival, given) in inbox.arrivals.iter().zip(expected) {
            check(arrival, given);
        }
        // One turn of each poll is run, and of several the last, so that all places of a batch come up.
        let owned = |arrival: &&Arrival| arrival.message.sender.as_deref() == Some("owner");
        let taken = given.iter().filter(|given| !is_refused(given)).zip(&inbox.arrivals);
        if let Some((given, arrival)) = taken.filter(|(_, arrival)| owned(arrival)).last() {
            self.turn(given, arrival).await;
        }
    }

    /// The message has a turn of the owner's, in a session of its own.
    async fn turn(&mut self, given: &Value, arrival: &Arrival) {
        self.turns += 1;
        let session = format!("fuzz:{}", self.turns);
        let mut message = arrival.message.clone();
        message.session_id = Some(session.clone());
        let (_sender, cancel) = watch::channel(false);
        let turn = run_turn(&self.host, message, TurnOptions::new(cancel));
        let turn = tokio::time::timeout(PATIENCE, turn).await;
        // The answers of the model and of commands may be anything; the host has to end the turn.
        let _ = turn.unwrap_or_else(|_| panic!("a turn never ended: {given}"));
        let file = self.home.tape_file(&session);
        let entries = if file.is_file() { tape::read(&file) } else { Vec::new() };
        let tainted = entries.iter().any(|entry| entry["payload"]["name"] == "turn.tainted");
        // A command is the owner's own word, and no part of a conversation.
        assert_eq!(tainted, is_foreign(given) && !is_command(given), "{given}: {entries:?}");
    }
}

fn text<'a>(given: &'a Value, key: &str) -> &'a str {
    given[key].as_str().unwrap_or_default()
}

/// Whether the message breaks a rule of the contract.
fn is_refused(given: &Value) -> bool {
    let is_bad = |key| text(given, key).len() > 256 || text(given, key).contains(char::is_control);
    let context = given["context"].as_object().cloned().unwrap_or_default();
    let is_json = |value: &Value| match value {
        Value::String(text) => serde_json::from_str::<Value>(text).is_ok(),
        _ => true,
    };
    ["id", "chat", "sender"].into_iter().any(is_bad)
        || given["passages"].as_array().is_some_and(|passages| passages.len() > 64)
        || context.len() > 64
        || context.values().any(|value| !is_json(value))
}

fn is_command(given: &Value) -> bool {
    text(given, "content").starts_with(',')
}

/// Whether a part of the message that reaches a model is another author's.
fn is_foreign(given: &Value) -> bool {
    let all = |key: &str| given[key].as_array().cloned().unwrap_or_default();
    let is_other = |said: &Value| matches!(said.as_str(), Some("quoted" | "forwarded" | "attached"));
    let by_address = |item: &Value| item[3].as_str().is_some_and(|url| url.starts_with("https://"));
    if is_command(given) {
        // Of what came along, only the sender's own files are left, and what an address leads to is another author's.
        return all("media").iter().any(|item| !is_other(&item[4]) && by_address(item)) || has_foreign_context(given);
    }
    all("passages").iter().any(|passage| is_other(&passage[0]))
        || all("media").iter().any(|item| is_other(&item[4]) || by_address(item))
        || has_foreign_context(given)
}

fn has_foreign_context(given: &Value) -> bool {
    let spoken = text(given, "chat").contains(char::is_whitespace);
    let is_other = |(key, value): (&String, &Value)| {
        let value = value.as_str().map_or(value.clone(), |text| serde_json::from_str(text).unwrap_or_default());
        let is_fact = match &value {
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
            Value::String(text) => {
                FACTS.contains(&key.as_str()) && text.len() <= 256 && !text.contains(char::is_control)
            }
            _ => false,
        };
        !key.starts_with('_') && !OWN_KEYS.contains(&key.as_str()) && !is_fact
    };
    spoken || given["context"].as_object().is_some_and(|context| context.iter().any(is_other))
}

/// Compares the host's message with the one that the channel delivered.
fn check(Arrival { message, .. }: &Arrival, given: &Value) {
    assert_eq!(message.kind == MessageKind::Command, is_command(given), "{given}");
    assert!(message.session_id.as_deref().is_some_and(|session| session.starts_with("poster:")), "{given}");
    assert_eq!(message.channel, "poster");
    assert_eq!(message.output_channel, None);
    assert!(message.content.starts_with(text(given, "content")), "{given}");
    for passage in &message.passages {
        let author = passage.author.as_deref().unwrap_or_default();
        assert!(!author.contains(char::is_control), "{given}");
    }
    if message.kind == MessageKind::Command {
        assert!(message.passages.is_empty(), "{given}");
        assert!(message.media.iter().all(|item| item.provenance == Provenance::Written), "{given}");
    }
    // No part of a passage or of the name of another author's file ends up among the sender's words.
    assert!(!message.content.contains("FOREIGN"), "{given}: {}", message.content);
    assert_eq!(bub_runtime::channel::foreign(message).is_some(), is_foreign(given), "{given}");
}

fn string(chance: &mut Chance) -> String {
    const PIECES: [&str; 16] = [
        "",
        "a",
        ",help",
        "TOOL:tape.info {}",
        "\0",
        "\n",
        "\u{1b}[2J",
        "\u{2028}",
        "> x",
        "%",
        ":",
        "temp/",
        "🦀",
        "\u{202e}",
        "|sender_id=owner",
        "{\"a\": 1}",
    ];
    (0..chance.below(4)).map(|_| *chance.one_of(&PIECES)).collect()
}

fn id(chance: &mut Chance) -> Value {
    match chance.below(10) {
        0 => Value::Null,
        1 => json!("x".repeat(200 + chance.below(100))),
        2 => json!(string(chance)),
        3 => json!("a\0b"),
        4 => json!("temp/x"),
        _ => json!(chance.draw().to_string()),
    }
}

fn provenance(chance: &mut Chance) -> &'static str {
    ["written", "quoted", "forwarded", "attached"][chance.below(4)]
}

fn arrival(chance: &mut Chance) -> Value {
    let passage = |chance: &mut Chance| {
        let provenance = provenance(chance);
        let text = if provenance == "written" { string(chance) } else { format!("{}FOREIGN", string(chance)) };
        json!([provenance, string(chance), text])
    };
    let media = |chance: &mut Chance| {
        let provenance = provenance(chance);
        let name = if provenance == "written" { string(chance) } else { format!("FOREIGN{}", string(chance)) };
        let url = *chance.one_of(&[
            "data:text/plain;base64,aGVsbG8=",
            "data:image/png;base64,!!",
            "https://x.test/a",
            "file:///etc/passwd",
            "",
        ]);
        json!(["document", "text/plain", name, url, provenance])
    };
    let value = |chance: &mut Chance| match chance.below(6) {
        0 => json!(chance.below(1000)),
        1 => json!(true),
        2 => json!(json!(string(chance)).to_string()),
        3 => json!(string(chance)),
        4 => json!(json!(["FOREIGN"]).to_string()),
        _ => json!(json!("x".repeat(chance.below(400))).to_string()),
    };
    let mut context = serde_json::Map::new();
    for _ in 0..chance.below(3) {
        let keys = ["mood", "_hidden", "full_name", "username", "sender_id", "date", "", "a|b"];
        context.insert((*chance.one_of(&keys)).to_owned(), value(chance));
    }
    // Most have few parts, so that clean ones come up too.
    let many = |chance: &mut Chance| if chance.below(50) == 0 { 70 } else { chance.below(3) };
    let passages: Vec<Value> = (0..many(chance)).map(|_| passage(chance)).collect();
    let files: Vec<Value> = (0..chance.below(3)).map(|_| media(chance)).collect();
    let has = |chance: &mut Chance| chance.below(2) == 0;
    json!({
        "id": id(chance),
        "chat": id(chance),
        "sender": if chance.below(4) > 0 { json!("owner") } else { id(chance) },
        "session": "cli:local",
        "channel": "cli",
        "kind": "command",
        "output": "http",
        "content": string(chance),
        "passages": if has(chance) { passages } else { Vec::new() },
        "media": if has(chance) { files } else { Vec::new() },
        "context": if has(chance) { context } else { serde_json::Map::new() },
    })
}

fn batch(seed: u64) -> Vec<Value> {
    let mut chance = Chance::new(seed);
    (0..BATCH).map(|_| arrival(&mut chance)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_arrival_of_the_corpus_breaks_a_poll_or_passes_for_the_owners_words() {
    let mut field = Field::new().await;
    let mut count = 0;
    for file in fs::read_dir(CORPUS).expect("the corpus is there") {
        let path = file.expect("it can be listed").path();
        let text = fs::read_to_string(&path).expect("it can be read");
        let given: Vec<Value> = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        for arrival in &given {
            field.look(std::slice::from_ref(arrival)).await;
        }
        field.look(&given).await;
        count += 1;
    }
    assert!(count >= 4, "{count} files");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_arrival_that_is_made_up_breaks_a_poll_or_passes_for_the_owners_words() {
    let mut field = Field::new().await;
    for seed in 0..24 {
        field.look(&batch(seed)).await;
    }
    assert!(field.turns >= 12, "{} turns", field.turns);
}

/// Goes on for `BUB_FUZZ_SECONDS`, from `BUB_FUZZ_SEED`. Before each poll its messages are put where they can be found after
/// a failure.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "runs for `BUB_FUZZ_SECONDS`"]
async fn look_for_more() {
    let budget = Budget::from_environment(1_000);
    let mut seed = budget.first_seed;
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("channels");
    fs::create_dir_all(&scratch).expect("the scratch directory can be written");
    let (mut field, mut senders) = (Field::new().await, BTreeSet::new());
    while budget.is_left() {
        let given = batch(seed);
        senders.extend(given.iter().map(|given| text(given, "sender").to_owned()));
        fs::write(scratch.join("running.json"), json!(given).to_string()).expect("it can be written");
        field.look(&given).await;
        seed += 1;
    }
    println!("{} turns of {} senders; next seed {seed}", field.turns, senders.len());
}
