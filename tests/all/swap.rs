//! Plugins that come, change and go while the program runs.

use crate::home;
use bub_tests::component::{live_ranges, with_idle_module, with_section};
use bub_tests::{Home, Started, programs};
use std::fs;
use std::path::PathBuf;

/// A home in which nobody answers: a chat says back what it is told, unless the plugin `p` makes something else of it.
fn quiet() -> Home {
    let home = home().bare();
    let answers = "build-prompt = \"from the script\"";
    home.configure(&format!(
        "[plugins.p]\nfollow = true\ngrants = [\"hook:*\"]\n[plugins.p.config]\nname = \"p\"\n[plugins.p.config.answers]\n{answers}"
    ));
    home
}

fn chat(home: &Home) -> Started<'_> {
    home.bub(["chat"]).watched().spoken_to().start()
}

/// Waits until the program has looked at the configuration again, which it does at most every 50 milliseconds.
pub(crate) fn noticed() {
    std::thread::sleep(std::time::Duration::from_millis(200));
}

/// Where `p` lies.
fn file(home: &Home) -> PathBuf {
    home.bub_home().join("plugins/p.wasm")
}

/// Puts other bytes under the name of `p`, all at once.
fn replace(home: &Home, bytes: &[u8]) {
    let beside = home.bub_home().join("plugins/p.wasm.part");
    fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, file(home))).expect("it can be written");
}

fn upper() -> Vec<u8> {
    fs::read(programs::PROMPT_UPPER).expect("it was built")
}

fn scripted() -> Vec<u8> {
    fs::read(programs::SCRIPTED).expect("it was built")
}

#[test]
fn a_plugin_comes_changes_and_goes_while_a_chat_runs() {
    let home = quiet();
    let mut chat = chat(&home);
    chat.say("one");
    chat.prints("one\n");
    replace(&home, &upper());
    chat.wait_for("plugin `p` is there now");
    chat.say("two");
    chat.prints("TWO\n");
    replace(&home, &scripted());
    chat.wait_for("plugin `p` serves in a new version");
    chat.say("three");
    chat.prints("from the script\n");
    fs::remove_file(file(&home)).expect("it is there");
    chat.wait_for("plugin `p` is gone");
    chat.say("four");
    chat.prints("four\n");
    assert_eq!(chat.finish().code, Some(0));
}

#[test]
fn a_directory_that_comes_later_is_found() {
    let home = quiet().strict();
    fs::remove_dir(home.bub_home().join("plugins")).expect("it is empty");
    let mut chat = chat(&home);
    chat.say("one");
    chat.prints("one\n");
    fs::create_dir(home.bub_home().join("plugins")).expect("it can be made");
    replace(&home, &upper());
    chat.wait_for("plugin `p` is there now");
    chat.say("two");
    chat.prints("TWO\n");
    assert_eq!(chat.finish().code, Some(0));
}

#[test]
fn a_version_that_does_not_load_leaves_the_one_before_it_serving() {
    let home = quiet();
    replace(&home, &upper());
    let mut chat = chat(&home);
    chat.say("one");
    chat.prints("ONE\n");
    replace(&home, b"no component at all");
    chat.wait_for("plugin `p` did not load: it does not compile: ");
    assert!(chat.has_said("; the version before it serves on"));
    chat.say("two");
    chat.prints("TWO\n");
    // Mended, it serves, and what is wrong with it is forgotten.
    replace(&home, &scripted());
    chat.wait_for("plugin `p` serves in a new version");
    chat.say("three");
    chat.prints("from the script\n");
    assert_eq!(chat.finish().code, Some(0));
}

/// A second plugin must not take a tool from the first; the version before, which did not want to, serves on.
#[test]
fn a_version_that_takes_what_is_taken_leaves_the_one_before_it_serving() {
    let home = quiet();
    home.plugin("first", programs::COMMANDER);
    replace(&home, &upper());
    let mut chat = chat(&home);
    chat.say("one");
    chat.prints("ONE\n");
    replace(&home, &fs::read(programs::COMMANDER).expect("it was built"));
    chat.wait_for("is there already, in plugin `first`; the version before it serves on");
    chat.say("two");
    chat.prints("TWO\n");
    assert_eq!(chat.finish().code, Some(0));
}

#[test]
fn a_file_that_is_copied_slowly_waits_until_it_is_whole() {
    let home = quiet();
    let mut chat = chat(&home);
    chat.say("begin");
    chat.prints("begin\n");
    let bytes = upper();
    let (first, second) = bytes.split_at(bytes.len() / 2);
    fs::write(file(&home), first).expect("it can be written");
    // Time enough to look at it, and more than once.
    for word in ["one", "two", "three"] {
        std::thread::sleep(std::time::Duration::from_millis(200));
        chat.say(word);
        chat.prints(&format!("{word}\n"));
    }
    let mut whole = fs::OpenOptions::new().append(true).open(file(&home)).expect("it is there");
    std::io::Write::write_all(&mut whole, second).expect("it can be written");
    drop(whole);
    chat.wait_for("plugin `p` is there now");
    chat.say("four");
    chat.prints("FOUR\n");
    let finished = chat.finish();
    assert!(!finished.stderr.contains("did not load"), "half of it was looked at\n{finished}");
}

/// Its hooks behind the model are asked too, though another version serves by then.
#[test]
fn a_turn_ends_with_the_plugins_that_it_began_with() {
    let home = quiet();
    home.configure("[plugins.p.config.answers]\nrun-model = { wait = 6_000 }");
    replace(&home, &scripted());
    let mut chat = chat(&home);
    chat.say("one");
    chat.wait_for("\"hook\":\"run-model\"");
    replace(&home, &upper());
    chat.wait_for("plugin `p` serves in a new version");
    assert!(!chat.has_said("\"hook\":\"save-state\""), "the turn was over too soon to show anything");
    chat.prints("from the script\n");
    chat.say("two");
    chat.prints("TWO\n");
    let finished = chat.finish();
    assert_eq!(finished.asked("save-state"), ["p"], "{finished}");
}

#[test]
fn turns_go_on_while_a_plugin_is_compiled() {
    let home = quiet();
    home.configure("[plugins.bomb.limits]\ncompile_seconds = 8");
    let mut chat = chat(&home);
    chat.say("begin");
    chat.prints("begin\n");
    // Bytes of their own: those that broke the bound in an earlier run are remembered, and not tried again.
    let own = std::process::id().to_le_bytes();
    let bomb = with_section(&with_idle_module(&upper(), &live_ranges(6_000)), "own", &own);
    fs::write(home.bub_home().join("plugins/bomb.wasm"), bomb).expect("it can be written");
    // Time enough for the compiler to begin.
    std::thread::sleep(std::time::Duration::from_millis(700));
    for word in ["one", "two", "three"] {
        chat.say(word);
        chat.prints(&format!("{word}\n"));
    }
    assert!(!chat.has_said("plugin `bomb` did not load"), "it was too soon over to show anything");
    chat.wait_for("plugin `bomb` did not load: it does not compile: it takes longer than 8 s");
    assert_eq!(chat.finish().code, Some(0));
}

#[test]
fn what_is_dropped_in_without_grants_is_announced_with_the_command_that_gives_them() {
    let home = home().bare().strict();
    let mut chat = chat(&home);
    chat.say("one");
    chat.prints("one\n");
    home.plugin("upper", programs::PROMPT_UPPER);
    chat.wait_for("plugin `upper` is not asked; to let it answer: bub-wasm plugin grant upper hook:build-prompt");
    chat.say("two");
    chat.prints("two\n");
    home.bub(["plugin", "grant", "upper"]).finish().says("plugin `upper` may now: hook:build-prompt\n");
    noticed();
    chat.say("three");
    chat.prints("THREE\n");
    // What was granted was granted to those bytes.
    let other = with_section(&upper(), "other", b"");
    fs::write(home.bub_home().join("plugins/upper.wasm"), other).expect("it can be written");
    chat.wait_for("plugin `upper` is not asked: its grants are not for these bytes");
    chat.say("four");
    chat.prints("four\n");
    assert_eq!(chat.finish().code, Some(0));
}
