//! Every grant, tried by a guest that does not want it, that wants it and was not given it, that was given it, and that
//! lost it in the middle of a turn. A refused call has no effect, as seen from outside.

use crate::home;
use bub_tests::listener::{Listener, response};
use bub_tests::{Answer, Finished, Home, Server, component, programs, tape};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The grants without which `trier` is not called.
const HOOKS: [&str; 2] = ["hook:run-model", "hook:render-outbound"];

/// A secret that the guest can guess, so that it can ask whether it is right.
const SECRET: &str = "planted-secret-value";

/// A home with `trier`, and everything that it could reach.
struct Field {
    home: Home,
    listener: Listener,
    model: Server,
    gate: Gate,
    outside: PathBuf,
    /// All grants that can be tried, less those of hooks.
    grants: Vec<String>,
}

/// A server that answers only when it is released.
struct Gate {
    listener: Listener,
    open: mpsc::Sender<()>,
}

impl Gate {
    fn new() -> Self {
        let (open, opened) = mpsc::channel();
        let opened = Arc::new(Mutex::new(opened));
        let listener = Listener::new(move |_| {
            let _ = opened.lock().expect("no thread panicked").recv_timeout(Duration::from_secs(60));
            response(200, "", "open")
        });
        Self { listener, open }
    }

    #[track_caller]
    fn wait_for_knock(&self) {
        let begun = std::time::Instant::now();
        while self.listener.heard().is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the guest did not come to the gate");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Field {
    /// `case` names a directory that outlives the test: its path is part of the manifest, and so of the compiled code.
    fn new(case: &str) -> Self {
        let outside = Path::new(env!("CARGO_TARGET_TMPDIR")).join("matrix").join(case);
        let _ = fs::remove_dir_all(&outside);
        for dir in ["read", "write"] {
            fs::create_dir_all(outside.join(dir)).expect("the scratch directory can be written");
        }
        fs::write(outside.join("read/planted"), "what stands outside").expect("it can be written");
        let listener = Listener::new(|_| response(200, "", "from the listener"));
        let grants = ["tape:read", "tape:event", "tape:append", "tape:reset", "tape:workspace", "model:openai:tried"]
            .into_iter()
            .chain(["tools:deeds.write", "agent", "process", "secret:door"])
            .map(str::to_owned)
            .chain([
                format!("http:{}", listener.base()),
                format!("fs:{}:ro", outside.join("read").display()),
                format!("fs:{}:rw", outside.join("write").display()),
                "usage".to_owned(),
            ])
            .collect();
        let home = home().bare().strict();
        home.plugin("deeds", programs::DEEDS);
        home.scripted("part", programs::SCRIPTED, "system-prompt = \"a part of it\"");
        home.configure("[plugins.part]\nfollow = true\ngrants = [\"hook:system-prompt\"]");
        let model = Server::new([Answer::text("said")]);
        Self { home, listener, model, gate: Gate::new(), outside, grants }
    }

    /// Drops `trier` in, with a manifest that wants its hooks, the gate, and these.
    fn plant(&self, wants: &[&str]) {
        let wants: Vec<&str> = HOOKS.into_iter().chain(wants.iter().copied()).collect();
        let bytes = fs::read(programs::TRIER).expect("it was built");
        fs::write(self.home.bub_home().join("plugins/trier.wasm"), component::wanting(&bytes, &wants))
            .expect("the home can be written");
    }

    /// Everything that `trier` may want. The listener's port is another in each run: it is not named, so that the
    /// compiled code can be kept.
    fn all_wants(&self) -> Vec<&str> {
        let known = self.grants.iter().map(String::as_str).filter(|grant| !grant.starts_with("http:"));
        known.chain(["http:*"]).collect()
    }

    /// Says what `trier` holds beside its hooks, and nothing else that was said before.
    fn grant(&self, grants: &[String]) {
        let grants: Vec<String> = HOOKS.iter().map(ToString::to_string).chain(grants.iter().cloned()).collect();
        self.home.configure(&format!("[plugins.trier]\nfollow = true\ngrants = {grants:?}"));
    }

    fn tries(&self, tries: &[&str], more: &str) {
        let command = format!("echo ran > {}", self.marker().display());
        self.home.configure(&format!("[plugins.trier.config]\ntries = {tries:?}\ncommand = {command:?}\n{more}"));
    }

    fn all(&self) -> Vec<&str> {
        self.grants.iter().map(String::as_str).collect()
    }

    fn marker(&self) -> PathBuf {
        self.outside.join("marker")
    }

    fn run(&self) -> bub_tests::Run<'_> {
        self.home.run(["hi"]).model(&self.model).env("BUB_SECRET_DOOR", SECRET).watched()
    }

    /// No attempt has had an effect, except those that these grants allow.
    #[track_caller]
    fn nothing_happened(&self, finished: &Finished, accessed: (i64, i64)) {
        assert!(self.listener.heard().is_empty(), "a packet was sent\n{finished}");
        assert!(self.model.requests().is_empty(), "a model was asked\n{finished}");
        assert!(!self.marker().exists(), "a program was started\n{finished}");
        assert!(!self.outside.join("write/written").exists(), "a file was written\n{finished}");
        assert!(!self.outside.join("read/must-not-be").exists(), "a file was written\n{finished}");
        assert_eq!(self.accessed(), accessed, "a file was read\n{finished}");
        assert!(finished.saw_hook("call-tool").is_empty(), "a tool was called\n{finished}");
        assert!(finished.saw_hook("system-prompt").is_empty(), "a plugin was asked\n{finished}");
        let tape = tape::read(&self.home.tape_file("cli:local"));
        assert!(!tape.iter().any(|entry| entry["payload"]["content"] == "forged"), "{tape:?}\n{finished}");
        assert!(!tape.iter().any(|entry| entry["payload"]["name"] == "tried"), "{tape:?}\n{finished}");
    }

    fn accessed(&self) -> (i64, i64) {
        let meta = fs::metadata(self.outside.join("read/planted")).expect("it is there");
        (meta.atime(), meta.atime_nsec())
    }

    /// The denied imports on the tape; hooks without a grant have events of their own.
    fn denied(&self) -> Vec<String> {
        let tape = tape::read(&self.home.tape_file("cli:local"));
        let of_imports = |entry: &Value| {
            entry["payload"]["name"] == "plugin.denied" && entry["payload"]["data"]["reason"] == "grant"
        };
        let events = tape.into_iter().filter(of_imports);
        let mut grants: Vec<String> =
            events.map(|event| event["payload"]["data"]["grant"].as_str().unwrap_or_default().to_owned()).collect();
        grants.sort();
        grants
    }
}

/// The result of each attempt in that hook.
#[track_caller]
fn outcomes(finished: &Finished, hook: &str) -> Vec<Value> {
    let seen = finished.saw_hook(hook);
    assert!(!seen.is_empty(), "`{hook}` tried nothing\n{finished}");
    seen.into_iter().filter(|seen| seen["plugin"] == "trier").map(|seen| seen["try"].clone()).collect()
}

/// The text of a denial: the command that would help, or that none can.
fn help(grant: &str, is_wanted: bool) -> String {
    match is_wanted {
        true => format!("bub-wasm plugin grant trier {grant}"),
        false => format!("plugin `trier` does not ask for `{grant}` in its manifest, so it cannot be given"),
    }
}

/// A refusal in the words of its import.
#[track_caller]
fn is_refused(outcome: &Value, is_wanted: bool, finished: &Finished) {
    let grant = outcome["grant"].as_str().unwrap_or_default();
    let message = outcome["message"].as_str().unwrap_or_default();
    if grant.starts_with("http:") {
        assert!(message.contains("HttpRequestDenied"), "{outcome}\n{finished}");
    } else if grant.starts_with("fs:") {
        assert!(!message.is_empty() && outcome["ok"].is_null(), "{outcome}\n{finished}");
    } else {
        assert_eq!(outcome["kind"], "Denied", "{outcome}\n{finished}");
        assert!(message.contains(&help(grant, is_wanted)), "{outcome}\n{finished}");
    }
}

/// All but what needs a tape in hand first: those who may not read the tape have none.
fn less_tapes(field: &Field) -> Vec<&str> {
    field.all().into_iter().filter(|grant| !grant.starts_with("tape:") || *grant == "tape:read").collect()
}

/// Tries everything with what is configured: all of it is refused. Where `tape:read` is held, the other rights of a
/// tape are tried in its place.
#[track_caller]
fn everything_is_refused(field: &Field, has_tape: bool, is_wanted: bool) {
    let tries: Vec<&str> = match has_tape {
        true => field.all().into_iter().filter(|grant| *grant != "tape:read").collect(),
        false => less_tapes(field),
    };
    field.tries(&tries, "");
    let accessed = field.accessed();
    let finished = field.run().finish().says("[cli:local]\ntried\n");
    let outcomes = outcomes(&finished, "run-model");
    assert_eq!(outcomes.len(), tries.len(), "{finished}");
    outcomes.iter().for_each(|outcome| is_refused(outcome, is_wanted, &finished));
    field.nothing_happened(&finished, accessed);
    // A plugin without a directory is not told of one: there is nothing to refuse.
    let mut expected: Vec<String> =
        tries.iter().filter(|grant| !grant.starts_with("fs:")).map(|grant| (*grant).to_owned()).collect();
    expected.sort();
    assert_eq!(field.denied(), expected, "{finished}");
    finished.mentions(&help(&format!("http:{}", field.listener.base()), is_wanted));
}

#[test]
pub(crate) fn trier_without_requested_grants_gets_none_even_if_granted() {
    let field = Field::new("not-wanted");
    field.plant(&[]);
    field.grant(&field.grants);
    everything_is_refused(&field, false, false);
}

#[test]
fn a_tape_in_hand_is_to_be_read_unless_more_is_wanted() {
    let field = Field::new("only-read-wanted");
    field.plant(&["tape:read"]);
    field.grant(&field.grants);
    everything_is_refused(&field, true, false);
}

#[test]
fn a_requested_grant_that_was_not_given_is_refused_with_the_command() {
    let field = Field::new("not-granted");
    field.plant(&field.all_wants());
    field.grant(&[]);
    everything_is_refused(&field, false, true);
}

#[test]
fn a_tape_in_hand_is_to_be_read_unless_more_is_granted() {
    let field = Field::new("only-read-granted");
    field.plant(&field.all_wants());
    field.grant(&["tape:read".to_owned()]);
    everything_is_refused(&field, true, true);
}

#[test]
fn a_given_grant_works_until_it_is_revoked_during_the_turn() {
    let field = Field::new("revoked");
    field.plant(&field.all_wants());
    let gate = format!("http:{}", field.gate.listener.base());
    let with_gate: Vec<String> = field.grants.iter().chain([&gate]).cloned().collect();
    field.grant(&with_gate);
    field.tries(&field.all(), &format!("again = true\nhold = \"{}/hold\"", field.gate.listener.base()));

    let started = field.run().start();
    field.gate.wait_for_knock();
    // All granted effects have happened by now.
    assert_eq!(field.listener.heard().len(), 1);
    assert_eq!(field.model.requests().len(), 1);
    assert!(field.marker().exists());
    assert_eq!(fs::read_to_string(field.outside.join("write/written")).expect("it was written"), "by trier");
    fs::remove_file(field.marker()).expect("it is there");
    fs::remove_file(field.outside.join("write/written")).expect("it is there");
    field.grant(&[gate]);
    // The file is looked at every 50 ms.
    std::thread::sleep(Duration::from_millis(120));
    field.gate.open.send(()).expect("the gate stands");
    let finished = started.finish().says("[cli:local]\ntried\n");

    for outcome in outcomes(&finished, "run-model") {
        assert!(outcome["ok"].is_string(), "{outcome}\n{finished}");
    }
    let said = |grant: &str| {
        let found = outcomes(&finished, "run-model").into_iter().find(|outcome| outcome["grant"] == grant);
        found.and_then(|outcome| outcome["ok"].as_str().map(str::to_owned)).unwrap_or_default()
    };
    assert_eq!(said("model:openai:tried"), "said", "{finished}");
    assert_eq!(said("agent"), "a part of it", "{finished}");
    assert_eq!(said("secret:door"), "true", "{finished}");
    assert!(said(&field.grants[10]).ends_with("from the listener"), "{finished}");
    assert_eq!(said(&field.grants[11]), "what stands outside", "{finished}");

    for outcome in outcomes(&finished, "render-outbound") {
        // Without `tape:read` none of the other rights of a tape has anything to hold on to.
        if matches!(outcome["grant"].as_str(), Some("tape:event" | "tape:append" | "tape:reset")) {
            assert_eq!(outcome["kind"], "Denied", "{outcome}\n{finished}");
        } else {
            is_refused(&outcome, true, &finished);
        }
    }
    assert_eq!(field.listener.heard().len(), 1, "a packet was sent\n{finished}");
    assert_eq!(field.model.requests().len(), 1, "a model was asked\n{finished}");
    assert_eq!(finished.saw_hook("call-tool").len(), 1, "a tool was called\n{finished}");
    assert_eq!(finished.asked("system-prompt"), ["part"], "a plugin was asked\n{finished}");
    assert!(!field.marker().exists(), "a program was started\n{finished}");
    assert!(!field.outside.join("write/written").exists(), "a file was written\n{finished}");
    assert!(!field.outside.join("read/must-not-be").exists(), "a file was written\n{finished}");
}

#[test]
fn a_grant_opens_its_target_and_nothing_else() {
    let field = Field::new("alone");
    field.plant(&field.all_wants());
    field.tries(&field.all(), "");
    for alone in &field.grants {
        // A plugin that can write a tape controls it.
        let tape = alone.starts_with("tape:").then(|| "tape:read".to_owned());
        field.grant(&tape.into_iter().chain([alone.clone()]).collect::<Vec<_>>());
        let finished = field.run().finish().says("[cli:local]\ntried\n");
        for outcome in outcomes(&finished, "run-model") {
            let tried = outcome["grant"].as_str().unwrap_or_default();
            let is_open = match (alone.as_str(), tried) {
                (alone, tried) if alone == tried => true,
                // The right to write anything is the right to write an event, and all begin with the tape in hand.
                ("tape:append", "tape:event") => true,
                (alone, "tape:read") => alone.starts_with("tape:"),
                _ => false,
            };
            assert_eq!(outcome["ok"].is_string(), is_open, "with `{alone}`: {outcome}\n{finished}");
        }
    }
}

/// One plugin holds every other hook, another one those between.
#[test]
fn only_granted_hooks_are_called() {
    const ALL: [&str; 13] = [
        "resolve-session",
        "load-state",
        "build-prompt",
        "run-model",
        "save-state",
        "render-outbound",
        "dispatch-outbound",
        "on-error",
        "before-llm-call",
        "after-llm-call",
        "before-tool-call",
        "after-tool-call",
        "system-prompt",
    ];
    let home = home().strict();
    home.plugin("deeds", programs::DEEDS);
    for (at, name) in ["even", "odd", "none"].into_iter().enumerate() {
        home.scripted(name, programs::SCRIPTED, "after-tool-call = { error = \"so that on-error is asked\" }");
        let held: Vec<String> =
            ALL.iter().enumerate().filter(|(hook, _)| hook % 2 == at).map(|(_, hook)| format!("hook:{hook}")).collect();
        home.configure(&format!("[plugins.{name}]\nfollow = true\ngrants = {held:?}"));
    }
    let finished = home.run(["TOOL:deeds.read {}"]).watched().finish();
    for (at, hook) in ALL.into_iter().enumerate() {
        let mut asked = finished.asked(hook);
        asked.sort();
        asked.dedup();
        assert_eq!(asked, [if at % 2 == 0 { "even" } else { "odd" }], "`{hook}`\n{finished}");
    }
}
