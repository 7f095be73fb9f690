//! `plugin add`: the description of a component before it is stored, and refusals.

use crate::home;
use bub_tests::component::with_section;
use bub_tests::{Finished, Home, programs};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// A home in which plugins hold what they are given, and no more.
pub(crate) fn new() -> Home {
    home().bare().strict()
}

/// A file of that name outside of the home's directory of plugins.
pub(crate) fn file(home: &Home, name: &str, bytes: &[u8]) -> PathBuf {
    let path = home.workspace().join(name);
    fs::write(&path, bytes).expect("the workspace can be written");
    path
}

/// A program's bytes with that manifest.
pub(crate) fn described(program: &str, manifest: &Value) -> Vec<u8> {
    let bytes = fs::read(program).expect("it was built");
    with_section(&bytes, "bub:manifest", manifest.to_string().as_bytes())
}

/// `plugin` with these arguments.
#[track_caller]
pub(crate) fn plugin<'a>(home: &Home, arguments: impl IntoIterator<Item = &'a str>) -> Finished {
    home.bub(std::iter::once("plugin").chain(arguments)).finish()
}

/// The same, which goes well.
#[track_caller]
pub(crate) fn does<'a>(home: &Home, arguments: impl IntoIterator<Item = &'a str>) -> String {
    let finished = plugin(home, arguments);
    assert_eq!(finished.code, Some(0), "{finished}");
    finished.stdout
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The output of `plugin inspect --json`.
#[track_caller]
pub(crate) fn inspected(home: &Home, name: &str) -> Value {
    let text = does(home, ["plugin", "inspect", name, "--json"].into_iter().skip(1));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Requests of a malicious plugin that states them.
fn talker() -> Value {
    json!({
        "version": "1.2.0",
        "about": "Sends what is said to a friend.",
        "wants": [
            { "grant": "hook:build-prompt", "why": "to hear what is said" },
            { "grant": "tape:read", "why": "to hear what was said before" },
            { "grant": "http:friend.example.com", "why": "to pass it on" },
        ],
    })
}

#[test]
fn an_added_plugin_is_shown_with_its_hooks_requested_grants_and_risks() {
    let home = new();
    let bytes = described(programs::PROMPT_UPPER, &talker());
    let path = file(&home, "talker.wasm", &bytes);
    let shown = does(&home, ["add", text(&path)]);
    for line in [
        format!("sha256 {}", sha256(&bytes)),
        "talker 1.2.0: ".to_owned(),
        "Sends what is said to a friend.".to_owned(),
        "hook build-prompt: sees the message; decides what the model is asked in its place, because: to hear what is said".to_owned(),
        "wants tape:read: reads the whole conversation, because: to hear what was said before".to_owned(),
        "wants http:friend.example.com: talks to friend.example.com, because: to pass it on".to_owned(),
        "careful: it reads your conversation (hook:build-prompt, tape:read) and talks to friend.example.com: what you say can leave this machine".to_owned(),
        "careful: it talks to friend.example.com and steers the model (hook:build-prompt)".to_owned(),
        "it requests further grants; to give them: bub-wasm plugin grant talker hook:build-prompt tape:read http:friend.example.com".to_owned(),
    ] {
        assert!(shown.contains(&line), "{line}\n{shown}");
    }
    let kept = fs::read(home.bub_home().join("plugins/talker.wasm")).expect("it is there now");
    assert_eq!(kept, bytes);
    // Without a terminal no grant could be given, so the plugin is not asked.
    home.run(["hi"]).finish().says("[cli:local]\nhi\n").mentions(
        "plugin `talker` is not asked; to let it answer: bub-wasm plugin grant talker hook:build-prompt tape:read http:friend.example.com",
    );
    does(&home, ["grant", "talker"]);
    home.run(["hi"]).finish().says("[cli:local]\nHI\n");
}

#[test]
fn harmless_grants_are_not_called_dangerous() {
    let home = new();
    let shown = does(&home, ["add", programs::ECHO]);
    assert!(shown.contains("hook run-model: ") && !shown.contains("careful"), "{shown}");
}

#[test]
fn only_the_grants_of_the_command_line_are_given() {
    let bytes = described(programs::PROMPT_UPPER, &talker());
    let home = new();
    let path = file(&home, "talker.wasm", &bytes);
    let said = does(&home, ["add", text(&path), "--grant", "hook:build-prompt", "--grant", "tape:read"]);
    assert!(said.contains("plugin `talker` may now: hook:build-prompt tape:read\n"), "{said}");
    assert_eq!(inspected(&home, "talker")["grants"], json!(["hook:build-prompt", "tape:read"]));
    // An installed plugin gets the given grants in addition to its own.
    let said = does(&home, ["add", text(&path), "--grant", "http:friend.example.com"]);
    assert!(said.contains("plugin `talker` is already installed with this content"), "{said}");
    let all = json!(["hook:build-prompt", "http:friend.example.com", "tape:read"]);
    assert_eq!(inspected(&home, "talker")["grants"], all);

    let home = new();
    let path = file(&home, "talker.wasm", &bytes);
    does(&home, ["add", text(&path), "--yes"]);
    assert_eq!(inspected(&home, "talker")["grants"], all);
}

#[test]
fn an_invalid_or_unrequested_grant_adds_nothing() {
    let home = new();
    let path = file(&home, "talker.wasm", &described(programs::PROMPT_UPPER, &talker()));
    for (grant, reason) in
        [("process", "plugin `talker` does not ask for `process`"), ("tape:reed", "did you mean `tape:read`")]
    {
        let finished = plugin(&home, ["add", text(&path), "--grant", grant]);
        assert_eq!(finished.code, Some(1), "{finished}");
        let finished = finished.mentions(reason);
        assert_eq!(finished.stderr.trim_end().lines().count(), 1, "{finished}");
    }
    assert!(!home.bub_home().join("plugins/talker.wasm").exists());
}

#[test]
fn a_file_that_is_not_a_plugin_is_rejected_in_one_line_and_leaves_nothing() {
    let home = new();
    let upper = fs::read(programs::PROMPT_UPPER).expect("it was built");
    let noise = file(&home, "noise.wasm", b"no wasm at all");
    let good = file(&home, "good.wasm", &upper);
    let large = home.workspace().join("large.wasm");
    fs::File::create(&large).and_then(|file| file.set_len((64 << 20) + 1)).expect("a file");
    let long = "n".repeat(200);
    let (other, directory) = ("0".repeat(64), home.workspace());
    let cases: &[(&[&str], &[&str])] = &[
        (&[text(&noise)], &["noise.wasm", "is not added", "it does not compile"]),
        (&[text(&large)], &["large.wasm", "it is larger than 64 MiB"]),
        (&["nowhere.wasm"], &["`nowhere.wasm` is not added", "no such file or directory"]),
        (&[text(&good), "--name", "../good"], &["`../good` is not a name for a plugin"]),
        (&[text(&good), "--name", ".."], &["`..` is not a name for a plugin"]),
        (&[text(&good), "--name", "a/b"], &["`a/b` is not a name for a plugin"]),
        (&[text(&good), "--name", &long], &["is not a name for a plugin", "at most 64"]),
        (&[text(&good), "--name", ""], &["`` is not a name for a plugin"]),
        (&[text(&good), "--sha256", &other], &["has another SHA-256", &sha256(&upper)]),
        (&[text(&good), "--sha256", "abc"], &["`abc` is not a SHA-256"]),
        (&[text(&directory)], &["is no file"]),
    ];
    for (arguments, naming) in cases {
        plugin(&home, ["add"].into_iter().chain(arguments.iter().copied())).refuses(naming);
    }
    let plugins = home.bub_home().join("plugins");
    assert_eq!(fs::read_dir(plugins).expect("it is there").count(), 0);
}

#[test]
fn the_name_of_an_embedded_plugin_is_taken() {
    let home = home().strict();
    let finished = plugin(&home, ["add", programs::PROMPT_UPPER, "--name", "shell"]);
    finished.refuses(&["is not added", "the name is taken by an embedded plugin", "enabled = false"]);
    // And so is a name of a tool.
    home.plugin("deeds", programs::DEEDS);
    let finished = plugin(&home, ["add", programs::DEEDS, "--name", "mine"]);
    finished.refuses(&["is not added", "is there already, in plugin `deeds`"]);
    assert!(!home.bub_home().join("plugins/mine.wasm").exists());
}

#[test]
fn escapes_in_names_and_reasons_never_reach_a_terminal() {
    let home = new();
    let evil = "\u{1b}[2J\u{9b}31m\u{202e}evil\u{7}\r\n";
    let manifest = json!({
        "version": format!("1{evil}"),
        "about": format!("It is {evil}"),
        "wants": [
            { "grant": "secret:evil", "why": format!("because {evil}") },
            { "grant": "hook:build-prompt", "why": evil },
        ],
    });
    let path = file(&home, "evil.wasm", &described(programs::PROMPT_UPPER, &manifest));
    let path = text(&path);
    let is_plain = |finished: &Finished| {
        let printed = format!("{}{}", finished.stdout, finished.stderr);
        let obeyed = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(printed.contains("vil") && !printed.contains(obeyed), "{printed:?}");
    };
    is_plain(&plugin(&home, ["add", path, "--yes"]));
    for arguments in
        [&["inspect", "evil"][..], &["inspect", "evil", "--json"], &["check", path], &["check", path, "--json"]]
    {
        is_plain(&plugin(&home, arguments.iter().copied()));
    }
    is_plain(&plugin(&home, ["list"]));
    is_plain(&plugin(&home, ["list", "--json"]));
    // No grant has such a name.
    let manifest = json!({ "wants": [{ "grant": format!("tools:{evil}"), "why": "no reason" }] });
    let other = file(&home, "other.wasm", &described(programs::PROMPT_UPPER, &manifest));
    let refused = plugin(&home, ["add", text(&other), "--yes"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    is_plain(&refused);
    // A file name chosen by another person.
    let odd = file(&home, "e\u{1b}[31mvil.wasm", b"");
    is_plain(&plugin(&home, ["add", text(&odd)]));
    let refused = plugin(&home, ["add", &format!("https://evil.example.com/{evil}.wasm")]);
    is_plain(&refused);
}

#[test]
fn a_person_at_the_terminal_decides_on_its_grants() {
    let home = new();
    let first = json!({ "wants": [
        { "grant": "hook:build-prompt", "why": "to shout" }, { "grant": "tape:read", "why": "to look" },
    ] });
    let path = file(&home, "upper.wasm", &described(programs::PROMPT_UPPER, &first));
    let path = text(&path);
    let add = || home.bub(["plugin", "add", path]).terminal(200, 40);
    let at = home.bub_home().join("plugins/upper.wasm");

    let terminal = add();
    terminal.sees("Give `upper`: y all that it requests · e ask for each · n nothing · q do not add it? [n]");
    terminal.answer("q").sees("upper.wasm` is not added");
    assert!(!at.exists());
    let terminal = add();
    terminal.sees("? [n]");
    terminal.after_delay().press(["C-d"]).sees("upper.wasm` is not added");
    assert!(!at.exists());

    let terminal = add();
    terminal.sees("? [n]");
    terminal.answer("y").sees("plugin `upper` may now: hook:build-prompt tape:read");
    terminal.ends();
    let terminal = add();
    terminal.sees("Give `upper`: y all that it requests · e ask for each · n nothing? [n]");
    terminal.answer("").sees("already installed with this content");
    terminal.ends();
    assert_eq!(inspected(&home, "upper")["grants"], json!(["hook:build-prompt", "tape:read"]));

    let second = json!({ "wants": [
        { "grant": "hook:build-prompt", "why": "to shout" }, { "grant": "tape:read", "why": "to look" },
        { "grant": "usage", "why": "to count" },
    ] });
    file(&home, "upper.wasm", &described(programs::PROMPT_UPPER, &second));
    let terminal = add();
    terminal.sees("k the grants of the previous version");
    terminal.answer("k").sees("to give them: bub-wasm plugin grant upper usage");
    terminal.ends();
    assert_eq!(inspected(&home, "upper")["grants"], json!(["hook:build-prompt", "tape:read"]));
}

#[test]
fn every_hook_describes_the_data_that_it_sees() {
    let listed = home().bub(["hooks", "--json"]).finish();
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap_or_else(|error| panic!("{error}\n{listed}"));
    let rows = listed["hooks"].as_array().expect("hooks");
    let mut powers: Vec<&str> = rows.iter().filter_map(|row| row["power"].as_str()).collect();
    assert!(powers.len() == rows.len() && powers.iter().all(|power| power.split_whitespace().count() > 4), "{rows:?}");
    powers.sort_unstable();
    powers.dedup();
    assert_eq!(powers.len(), rows.len(), "no two are the same");
}
