//! `plugin dev`: a project that is built, loaded, watched and mended while another process uses it.

use crate::home;
use bub_tests::{Home, Started, programs};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// A home with the project of a plugin `p`. Its build copies the component whose path stands in `source.txt`, and fails
/// where there is none.
fn project() -> Home {
    let home = home().bare().strict();
    let dir = home.workspace().join("p");
    fs::create_dir_all(&dir).expect("it can be made");
    let file = "name = \"p\"\nlanguage = \"c\"\nbuild = \"sh build.sh\"\ntest = \"true\"\nartifact = \"p.wasm\"\nfixtures = \"fixtures\"\n\n[needs]\nsh = \"install a shell\"\n";
    fs::write(dir.join("bub-plugin.toml"), file).expect("it can be written");
    fs::write(dir.join("build.sh"), "cp \"$(cat source.txt)\" p.wasm\n").expect("it can be written");
    source(&home, programs::PROMPT_UPPER);
    let answers = "build-prompt = \"from the script\"";
    home.configure(&format!("[plugins.p.config]\nname = \"p\"\n[plugins.p.config.answers]\n{answers}"));
    home
}

/// Saves the one source file.
fn source(home: &Home, component: &str) {
    fs::write(home.workspace().join("p/source.txt"), component).expect("it can be written");
}

fn develop(home: &Home) -> Started<'_> {
    let dev = home.bub(["plugin", "dev", "p", "--yes"]).spoken_to().start();
    dev.prints("a message that you type here is a turn");
    dev
}

/// Asserts the output of a turn of another process.
#[track_caller]
fn answers(home: &Home, text: &str) {
    let ended = home.bub(["run", "one"]).finish();
    assert!(ended.code == Some(0) && ended.stdout.ends_with(text), "{ended}");
}

fn chat(home: &Home) -> Started<'_> {
    home.bub(["chat"]).watched().spoken_to().start()
}

/// Waits until the chat has loaded that many new versions.
#[track_caller]
fn serves(chat: &Started, versions: usize) {
    until(|| chat.told().matches("plugin `p` serves in a new version").count() >= versions);
}

#[track_caller]
fn until(holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it did not happen within a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_edit_a_build_error_a_fault_and_a_fix_are_seen_while_a_chat_runs() {
    let home = project();
    let dev = develop(&home);
    let mut chat = chat(&home);
    chat.say("one");
    chat.prints("ONE\n");
    dev.prints("call    build-prompt: ");

    source(&home, programs::SCRIPTED);
    serves(&chat, 1);
    chat.say("two");
    chat.prints("from the script\n");
    dev.prints("log     info: ");

    source(&home, "/nowhere/missing.wasm");
    dev.prints("exit status: 1; the build before stays loaded\n");
    // The compiler's own words.
    dev.prints("/nowhere/missing.wasm");
    chat.say("three");
    chat.prints("from the script\nfrom the script\n");

    source(&home, programs::FAULT_PANIC);
    serves(&chat, 2);
    chat.say("four");
    dev.prints("fault   build-prompt: ");
    assert!(dev.printed().contains("fault_panic.rs:"), "the guest's file and line: {}", dev.printed());

    source(&home, programs::PROMPT_UPPER);
    serves(&chat, 3);
    chat.say("five");
    chat.prints("FIVE\n");

    assert_eq!(chat.finish().code, Some(0));
    dev.interrupt();
    let ended = dev.finish();
    assert_eq!(ended.code, Some(0), "{ended}");
    assert!(ended.stdout.contains("plugin remove p"), "{ended}");
}

#[test]
fn a_typed_message_is_a_turn_of_the_plugins_own_session() {
    let home = project();
    let mut dev = develop(&home);
    dev.say("hello");
    dev.prints("HELLO\n");
    dev.prints("session `dev:p`\n");
    // The second turn begins when the first is complete.
    dev.say("again");
    dev.prints("AGAIN\n");
    dev.interrupt();
    assert_eq!(dev.finish().code, Some(0));
}

#[test]
fn a_build_that_does_not_load_leaves_the_one_before() {
    let home = project();
    let dev = develop(&home);
    let junk = home.workspace().join("junk.txt");
    fs::write(&junk, "this is no component \x1b[31m").expect("it can be written");
    source(&home, junk.to_str().expect("UTF-8"));
    dev.prints("and not loaded; the build before stays loaded\n");
    answers(&home, "ONE\n");
    source(&home, &home.workspace().join("p/build.sh").display().to_string());
    // The same mistake again is shown again.
    until(|| dev.printed().matches("and not loaded").count() == 2);
    assert!(!dev.printed().contains('\x1b'), "{}", dev.printed());
    dev.terminate();
    assert_eq!(dev.finish().code, Some(0));
}

#[test]
fn two_of_them_do_not_share_a_plugin() {
    let home = project();
    let dev = develop(&home);
    let second = home.bub(["plugin", "dev", "p", "--yes"]).finish();
    assert_eq!(second.code, Some(1), "{second}");
    assert!(second.stderr.contains("another process listens to its calls"), "{second}");
    dev.interrupt();
    assert_eq!(dev.finish().code, Some(0));
    assert!(!home.bub_home().join("dev/p.jsonl").exists(), "the log is removed");
}

#[test]
fn calls_are_logged_only_while_it_listens() {
    let home = project();
    let dev = develop(&home);
    // As after a crash: the log stays, without a listener.
    dev.kill();
    let log = home.bub_home().join("dev/p.jsonl");
    let before = fs::read(&log).expect("the log stays");
    answers(&home, "ONE\n");
    assert_eq!(fs::read(&log).expect("the log stays"), before);
    // A link in its place is not followed.
    let target = home.workspace().join("precious");
    fs::write(&target, "precious").expect("it can be written");
    fs::remove_file(&log).and_then(|()| std::os::unix::fs::symlink(&target, &log)).expect("it can be replaced");
    home.bub(["plugin", "dev", "p", "--yes"]).finish().fails("the calls of plugin `p` cannot be shown");
    assert_eq!(fs::read_to_string(&target).expect("it stays"), "precious");
}

#[test]
fn a_folder_that_is_no_project_is_refused() {
    let home = home().bare();
    home.bub(["plugin", "dev", "nothing"]).finish().refuses(&["`nothing/bub-plugin.toml`", "plugin new"]);
    let dir = home.workspace().join("q");
    fs::create_dir(&dir).expect("it can be made");
    write(
        &dir,
        "name = \"q\"\nlanguage = \"c\"\nbuild = \"no-such-compiler x\"\ntest = \"true\"\nartifact = \"q.wasm\"\nfixtures = \"fixtures\"\n\n[needs]\nno-such-compiler = \"install `no-such-compiler` from its site\"\n",
    );
    home.bub(["plugin", "dev", "q"]).finish().refuses(&["`no-such-compiler`", "from its site"]);
}

fn write(dir: &Path, project: &str) {
    fs::write(dir.join("bub-plugin.toml"), project).expect("it can be written");
}
