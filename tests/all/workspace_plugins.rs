//! Plugins of a workspace: they neither run nor configure anything before the user trusts them.

use crate::home;
use bub_tests::component::{wanting, with_section};
use bub_tests::{Home, programs};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// A home without a model, and a workspace with `upper`, which turns every message into capitals.
fn cloned() -> Home {
    let home = home().bare().strict();
    bring(&home, "upper", &upper());
    home
}

fn upper() -> Vec<u8> {
    fs::read(programs::PROMPT_UPPER).expect("it was built")
}

fn dir(home: &Home) -> PathBuf {
    home.workspace().join(".bub/plugins")
}

fn bring(home: &Home, name: &str, bytes: &[u8]) {
    fs::create_dir_all(dir(home)).expect("it can be made");
    fs::write(dir(home).join(name).with_extension("wasm"), bytes).expect("it can be written");
}

fn trust(home: &Home, name: &str) {
    let finished = home.bub(["plugin", "trust", &format!(".bub/plugins/{name}.wasm")]).finish();
    assert!(
        finished.code == Some(0) && finished.stdout.contains("is trusted, these bytes and no others"),
        "{finished}"
    );
}

fn grant(home: &Home, name: &str) {
    let finished = home.bub(["plugin", "grant", name]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
}

fn listed(home: &Home) -> Value {
    let finished = home.bub(["plugin", "list", "--json"]).finish();
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}\n{finished}"))
}

#[test]
fn opening_a_repository_runs_nothing_of_it() {
    let home = cloned();
    let cache = home.bub_home().join("own-cache");
    let finished = home.run(["hi"]).env("BUB_CACHE", &cache).finish().says("[cli:local]\nhi\n");
    let path = dir(&home).join("upper.wasm");
    finished.mentions(&format!(
        "plugin `upper` of this workspace is not run; if you trust it: bub-wasm plugin trust {}",
        path.display()
    ));
    assert!(fs::read_dir(cache).map_or(0, Iterator::count) == 0, "it was compiled");
    let listed = listed(&home);
    assert_eq!(listed["untrusted"][0]["name"], "upper");
    assert_eq!(listed["plugins"], Value::Array(Vec::new()));
    let doctor = home.bub(["doctor"]).finish();
    assert!(doctor.stdout.contains("note  plugin `upper` of this workspace: is not run"), "{doctor}");
}

#[test]
fn a_trusted_and_granted_plugin_runs_and_other_bytes_do_not() {
    let home = cloned();
    trust(&home, "upper");
    // To be trusted is to be loaded, and to hold nothing.
    let finished = home.run(["hi"]).finish().says("[cli:local]\nhi\n");
    finished.mentions("plugin `upper` is not asked; to let it answer: bub-wasm plugin grant upper hook:build-prompt");
    grant(&home, "upper");
    home.run(["hi"]).finish().says("[cli:local]\nHI\n");
    assert_eq!(listed(&home)["plugins"][0]["source"], "workspace");

    bring(&home, "upper", &with_section(&upper(), "other", b""));
    home.run(["hi"]).finish().says("[cli:local]\nhi\n").mentions("is not run; if you trust it");
    bring(&home, "upper", &upper());
    home.run(["hi"]).finish().says("[cli:local]\nHI\n");
    home.bub(["plugin", "trust", "--revoke", ".bub/plugins/upper.wasm"]).finish();
    home.run(["hi"]).finish().says("[cli:local]\nhi\n").mentions("is not run; if you trust it");
}

#[test]
fn grants_can_be_taken_from_it_again() {
    let home = cloned();
    trust(&home, "upper");
    grant(&home, "upper");
    home.bub(["plugin", "revoke", "upper"]).finish().says("plugin `upper` no longer may: hook:build-prompt\n");
    home.run(["hi"]).finish().says("[cli:local]\nhi\n");
    home.bub(["plugin", "grant", "upper", "--follow"]).finish().refuses(&["`upper`", "for these bytes alone"]);
}

#[test]
fn trust_is_listed_and_survives_the_file() {
    let home = cloned();
    trust(&home, "upper");
    let listed = home.bub(["plugin", "trust", "--list", "--json"]).finish();
    let listed: Value = serde_json::from_str(&listed.stdout).expect("it is JSON");
    let digest = listed["trusted_plugins"][0]["digest"].as_str().expect("a digest").to_owned();
    assert_eq!(listed["trusted_plugins"][0]["file"], dir(&home).join("upper.wasm").to_str().expect("a path"));
    fs::remove_file(dir(&home).join("upper.wasm")).expect("it is there");
    home.bub(["plugin", "trust", "--revoke", &digest]).finish().says(&format!("`{digest}` is no longer trusted\n"));
    home.bub(["plugin", "trust", "--revoke", &digest]).finish().refuses(&["is not trusted"]);
}

#[test]
fn a_plugin_that_cannot_be_trusted_is_rejected_in_one_line() {
    let home = cloned();
    home.bub(["plugin", "trust", "nowhere.wasm"]).finish().refuses(&["`nowhere.wasm`", "cannot be read"]);
    home.bub(["plugin", "trust", ".bub"]).finish().refuses(&["`.bub`", "is no file"]);
    home.bub(["plugin", "trust", "/dev/zero"]).finish().refuses(&["`/dev/zero`", "is no file"]);
    home.bub(["plugin", "trust", "--revoke", ".bub/plugins/upper.wasm"]).finish().refuses(&["is not trusted"]);
}

/// Trust in the user's own `notes` does not extend to a stranger's.
#[test]
fn a_name_that_is_taken_takes_nothing() {
    let home = cloned();
    let grants = "grants = [\"hook:*\", \"tape:read\"]\nfollow = true";
    home.configure(&format!("[plugins.upper]\n{grants}\n[plugins.upper.config]\nkey = \"private\""));
    trust(&home, "upper");
    let finished = home.run(["hi"]).finish().says("[cli:local]\nhi\n");
    finished.mentions("plugin `upper` did not load: the name is taken by `[plugins.upper]` of config.toml");

    let home = cloned();
    bring(&home, "builtin", &with_section(&upper(), "b", b""));
    trust(&home, "builtin");
    let finished = home.run(["hi"]).finish().says("[cli:local]\nhi\n");
    finished.mentions("plugin `builtin` did not load: the name is taken by an embedded plugin; rename the file");

    let home = cloned();
    home.plugin("upper", programs::SCRIPTED);
    trust(&home, "upper");
    let finished = home.run(["hi"]).finish().says("[cli:local]\nhi\n");
    finished.mentions("plugin `upper` did not load: the name is taken by the user plugin `upper`; rename the file");
}

#[test]
fn an_invalid_name_is_rejected_and_escaped() {
    for name in ["\u{1b}[2J", ".hidden", "..", "two words", &"long".repeat(30)] {
        let home = home().bare().strict();
        fs::create_dir_all(dir(&home)).expect("it can be made");
        fs::write(dir(&home).join(format!("{name}.wasm")), upper()).expect("it can be written");
        let finished = home.run(["hi"]).finish().says("[cli:local]\nhi\n");
        let finished =
            finished.mentions("did not load: a plugin's name has at most 64 lower-case ASCII letters, digits");
        let shown = home.bub(["plugin", "list"]).finish();
        assert!(!format!("{finished}{shown}").contains('\u{1b}'), "{finished}\n{shown}");
        assert!(shown.stdout.contains("did not load"), "{shown}");
    }
}

#[test]
fn it_holds_no_more_than_it_asks_for() {
    let home = cloned();
    bring(&home, "upper", &wanting(&upper(), &["hook:build-prompt"]));
    trust(&home, "upper");
    home.bub(["plugin", "grant", "upper", "tape:reset"]).finish().refuses(&["`tape:reset`", "does not ask for"]);
}

/// The hashed bytes are the ones that run: swapping the file between two reads gains nothing.
#[test]
fn only_bytes_that_are_trusted_run_however_often_the_file_changes() {
    let home = cloned();
    home.configure("[plugins.none]\nenabled = false");
    trust(&home, "upper");
    grant(&home, "upper");
    // It answers before `upper` would be asked, if it ever ran.
    let script = fs::read(programs::SCRIPTED_STREAM).expect("it was built");
    let (good, bad) = (dir(&home).join("good"), dir(&home).join("bad"));
    fs::write(&good, upper()).and_then(|()| fs::write(&bad, script)).expect("it can be written");
    let link = dir(&home).join("upper.wasm");
    fs::remove_file(&link).expect("it is there");
    symlink(&good, &link).expect("a link can be made");
    let flips = std::sync::atomic::AtomicBool::new(true);
    std::thread::scope(|scope| {
        let flip = scope.spawn(|| {
            let beside = dir(&home).join("beside");
            let mut count = 0u64;
            while flips.load(std::sync::atomic::Ordering::Relaxed) {
                for target in [&bad, &good] {
                    symlink(target, &beside).and_then(|()| fs::rename(&beside, &link)).expect("it can be flipped");
                    count += 1;
                }
            }
            count
        });
        for _ in 0..12 {
            let finished = home.run(["hi"]).finish();
            let ran = finished.stdout == "[cli:local]\nHI\n" || finished.stdout == "[cli:local]\nhi\n";
            assert!(finished.code == Some(0) && ran, "{finished}");
            assert!(!finished.stderr.contains("scripted"), "{finished}");
        }
        flips.store(false, std::sync::atomic::Ordering::Relaxed);
        assert!(flip.join().expect("it flips") > 100);
    });
}

#[test]
fn nothing_else_that_a_repository_carries_is_read() {
    let home = home().strict();
    let bub = home.workspace().join(".bub");
    fs::create_dir_all(&bub).expect("it can be made");
    let evil = "model = \"openai:evil\"\napi_base = \"http://127.0.0.1:1/v1\"\n[plugins.builtin]\nenabled = false\n";
    for dir in [&bub, &home.workspace()] {
        fs::write(dir.join("config.toml"), evil).expect("it can be written");
        fs::write(dir.join(".env"), "BUB_MODEL=openai:evil\nBUB_API_BASE=http://127.0.0.1:1/v1\n")
            .expect("it can be written");
        fs::write(dir.join("secrets.toml"), "[evil]\nvalue = \"x\"\nhosts = [\"*\"]\n").expect("it can be written");
    }
    fs::create_dir_all(bub.join("quarantine")).expect("it can be made");
    fs::create_dir_all(bub.join("cache")).expect("it can be made");
    home.run(["ECHO:mine"]).finish().says("[cli:local]\nmine\n");
    assert_eq!(fs::read_dir(bub.join("cache")).expect("it is there").count(), 0);
}

/// A workspace may be the home: then the directory of plugins is the user's own, and its files are there once.
#[test]
fn the_users_own_directory_is_no_workspaces() {
    let home = home().bare();
    home.plugin("upper", programs::PROMPT_UPPER);
    home.configure("[plugins.upper]\nfollow = true\ngrants = [\"hook:*\"]");
    let parent = home.bub_home().parent().expect("it lies somewhere").to_owned();
    symlink(home.bub_home(), parent.join(".bub")).expect("a link can be made");
    let finished = home.run(["hi", "-w", parent.to_str().expect("a path")]).finish().says("[cli:local]\nHI\n");
    assert_eq!(finished.stderr, "");
}

#[test]
fn a_workspaces_plugin_that_is_trusted_while_a_chat_runs_serves_it() {
    let home = home().bare().strict();
    let mut chat = home.bub(["chat"]).watched().spoken_to().start();
    chat.say("one");
    chat.prints("one\n");
    bring(&home, "upper", &upper());
    chat.wait_for("plugin `upper` of this workspace is not run");
    chat.say("two");
    chat.prints("two\n");
    trust(&home, "upper");
    chat.wait_for("plugin `upper` is there now");
    grant(&home, "upper");
    crate::swap::noticed();
    chat.say("three");
    chat.prints("THREE\n");
    home.bub(["plugin", "trust", "--revoke", ".bub/plugins/upper.wasm"]).finish();
    chat.wait_for("plugin `upper` is gone");
    chat.say("four");
    chat.prints("four\n");
    assert_eq!(chat.finish().code, Some(0));
}
