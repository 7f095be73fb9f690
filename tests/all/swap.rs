//! Plugins that come, change and go while the program runs.

use crate::home;
use bub_tests::component::{live_ranges, with_idle_module, with_section};
use bub_tests::{Home, Started, programs};
use std::fs;
use std::path::PathBuf;

/// A home without a model: a chat repeats its input unless the plugin `p` changes it.
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

/// The path of `p`.
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
fn a_plugin_is_added_changed_and_removed_while_a_chat_runs() {
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
    // Mended, it serves, and its error is cleared.
    replace(&home, &scripted());
    chat.wait_for("plugin `p` serves in a new version");
    chat.say("three");
    chat.prints("from the script\n");
    assert_eq!(chat.finish().code, Some(0));
}

/// A second plugin must not take a tool from the first; the version before, which did not want to, serves on.
#[test]
fn a_version_with_a_taken_name_leaves_the_previous_one_active() {
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
fn a_new_plugin_without_grants_is_announced_with_the_command() {
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
    // The grants were for the earlier bytes.
    let other = with_section(&upper(), "other", b"");
    fs::write(home.bub_home().join("plugins/upper.wasm"), other).expect("it can be written");
    chat.wait_for("plugin `upper` is not asked: its grants are not for these bytes");
    chat.say("four");
    chat.prints("four\n");
    assert_eq!(chat.finish().code, Some(0));
}

/// Puts a link there, in the place of whatever is there.
fn link(target: impl AsRef<std::path::Path>, at: &std::path::Path) {
    let beside = at.with_extension("link");
    std::os::unix::fs::symlink(target, &beside).and_then(|()| fs::rename(&beside, at)).expect("it can be made");
}

/// Puts these bytes there, all at once, as a compiler does.
fn build(bytes: &[u8], at: &std::path::Path) {
    let beside = at.with_extension("building");
    fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, at)).expect("it can be written");
}

#[test]
fn a_link_to_a_build_serves_each_build() {
    let home = quiet();
    // Not a name that is a plugin's.
    let build_dir = home.workspace().join("target/release");
    fs::create_dir_all(&build_dir).expect("it can be made");
    let built = build_dir.join("upper.out");
    build(&upper(), &built);
    link(&built, &file(&home));
    let mut chat = chat(&home);
    chat.say("one");
    chat.prints("ONE\n");
    build(&scripted(), &built);
    chat.wait_for("plugin `p` serves in a new version");
    chat.say("two");
    chat.prints("from the script\n");
    // A clean build directory: what served goes on until there is a build again.
    fs::remove_dir_all(home.workspace().join("target")).expect("it is there");
    chat.wait_for("which is not there: mend the link, or remove it; the version before it serves on");
    fs::create_dir_all(&build_dir).expect("it can be made");
    build(&with_section(&upper(), "other", b""), &built);
    chat.say("three");
    chat.wait_for("plugin `p` serves in a new version: ");
    noticed();
    chat.say("four");
    chat.prints("FOUR\n");
    assert_eq!(chat.finish().code, Some(0));
}

#[test]
fn links_on_the_way_to_a_plugin_are_followed_when_they_are_turned() {
    let home = quiet();
    let work = home.workspace();
    for (dir, bytes) in [("v1", upper()), ("v2", scripted())] {
        fs::create_dir(work.join(dir)).expect("it can be made");
        fs::write(work.join(dir).join("p.component"), bytes).expect("it can be written");
    }
    let current = work.join("current");
    link("v1", &current);
    // By way of a second link, and of `..`.
    link("current/../current/p.component", &work.join("second"));
    link(work.join("second"), &file(&home));
    let mut chat = chat(&home);
    chat.say("one");
    chat.prints("ONE\n");
    link("v2", &current);
    chat.wait_for("plugin `p` serves in a new version");
    chat.say("two");
    chat.prints("from the script\n");
    assert_eq!(chat.finish().code, Some(0));
}

#[test]
fn a_link_that_leads_nowhere_or_back_to_itself_is_one_line_and_can_be_removed() {
    for (target, why) in [
        ("nowhere.wasm", "it is a link to `nowhere.wasm`, which is not there: mend the link, or remove it"),
        ("p.wasm", "it is a link to `p.wasm`, which leads back to itself: mend the link, or remove it"),
    ] {
        let home = home().strict();
        std::os::unix::fs::symlink(target, file(&home)).expect("it can be made");
        let finished = home.run(["ECHO:all the same"]).finish().says("[cli:local]\nall the same\n");
        let lines: Vec<&str> = finished.stderr.lines().filter(|line| line.contains("`p`")).collect();
        assert_eq!(lines, [format!(" WARN plugin `p` did not load: {why}")], "{finished}");
        crate::plugins::lists_as_failed(&home, "p", why);
        crate::plugin_add::does(&home, ["remove", "p"]);
        assert!(file(&home).symlink_metadata().is_err());
    }
}
