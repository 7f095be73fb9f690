//! `plugin new`: projects of all kinds in Rust, each built, tested, checked, added and used in a turn.

use crate::{home, plugin_kinds};
use bub_tests::{Home, Run};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One compiler at a time: all projects are built in one folder, and another would wait for its lock.
pub(crate) fn compiling() -> MutexGuard<'static, ()> {
    static COMPILING: Mutex<()> = Mutex::new(());
    COMPILING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where all projects are built: in the folder of the guests, whose macros they share.
pub(crate) fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("guests")
}

/// Variables of the environment that cargo needs.
fn toolchain() -> Vec<(&'static str, OsString)> {
    let home = std::env::home_dir().unwrap_or_default();
    let or = |name: &'static str, folder: &str| {
        (name, std::env::var_os(name).unwrap_or_else(|| home.join(folder).into_os_string()))
    };
    let mut all = vec![or("CARGO_HOME", ".cargo"), or("RUSTUP_HOME", ".rustup")];
    all.extend(std::env::var_os("RUSTUP_TOOLCHAIN").map(|toolchain| ("RUSTUP_TOOLCHAIN", toolchain)));
    all.push(("CARGO_TARGET_DIR", target().into_os_string()));
    all
}

fn with_toolchain(run: Run<'_>) -> Run<'_> {
    toolchain().into_iter().fold(run, |run, (name, value)| run.env(name, value))
}

/// Builds the project as the next command will, without its limit of time.
fn build_ahead(dir: &Path) {
    // Builds stay in the target folder, and no test reads their debug information.
    let config = dir.parent().expect("a project is in a workspace").join(".cargo");
    fs::create_dir_all(&config).expect("the workspace can be written");
    // What projects and the guests depend on has the settings that it has there, and in the test programs: it is compiled once.
    let settings = [
        "[profile.dev]\ndebug = false\nincremental = false\nstrip = true\ncodegen-units = 1\n",
        "[profile.dev.build-override]\nstrip = true\ncodegen-units = 1\n",
        "[profile.release]\nstrip = true\n[profile.release.build-override]\ncodegen-units = 1\n",
    ];
    fs::write(config.join("config.toml"), settings.concat()).expect("as well");
    for arguments in [&["build", "--release", "--target", "wasm32-wasip2"][..], &["test", "--no-run"]] {
        let mut cargo = Command::new("cargo");
        cargo.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).envs(toolchain());
        let built = cargo.args(arguments).current_dir(dir).output().expect("cargo runs");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    }
}

/// A project of that kind, made, tested, added and checked. Returns the home in whose workspace it is.
fn project(kind: &str) -> (Home, String) {
    let name = format!("new-{kind}");
    let home = home().strict();
    let made = home.bub(["plugin", "new", &name, "--lang", "rust", "--kind", kind]).finish();
    assert_eq!(made.code, Some(0), "{made}");
    for command in [format!("cd {name}"), "cargo build --release --target wasm32-wasip2".into(), "plugin test".into()] {
        assert!(made.stdout.contains(&command), "{made}");
    }
    let compiling = compiling();
    build_ahead(&home.workspace().join(&name));
    let tested = with_toolchain(home.bub(["plugin", "test", &name])).finish();
    assert!(tested.code == Some(0) && tested.stdout.ends_with(&format!("plugin `{name}` passes\n")), "{tested}");
    drop(compiling);
    let artifact = target().join(format!("wasm32-wasip2/release/new_{kind}.wasm"));
    let added = home.bub(["plugin", "add", artifact.to_str().expect("UTF-8"), "--yes"]).finish();
    // Its name is that of the project, and not the one that cargo gives files.
    assert!(added.code == Some(0) && added.stdout.contains(&format!("plugin `{name}` is there now")), "{added}");
    let checked = home.bub(["plugin", "check", &name]).finish();
    assert_eq!(checked.code, Some(0), "{checked}");
    (home, name)
}

#[test]
fn a_new_tool_counts_for_the_model() {
    let (home, _) = project("tool");
    plugin_kinds::counts(&home, "new_tool_count");
}

#[test]
fn a_new_prompt_plugin_adds_its_rules_to_the_system_prompt() {
    let (home, _) = project("prompt");
    plugin_kinds::adds_rules(&home);
}

#[test]
fn a_new_selector_leaves_out_entries_older_than_its_turns() {
    let (home, name) = project("selector");
    plugin_kinds::selects_the_last_exchange(&home, &name);
}

#[test]
fn a_new_gate_denies_a_blocked_command() {
    let (home, _) = project("gate");
    plugin_kinds::denies_blocked_commands(&home);
}

#[test]
fn a_new_provider_answers_as_a_model() {
    let (home, name) = project("provider");
    plugin_kinds::answers_as_a_model(&home, &name);
}

#[test]
fn a_new_store_keeps_the_conversation_in_the_workspace() {
    let (home, name) = project("store");
    plugin_kinds::keeps_the_conversation(&home, &name);
}

#[test]
fn a_new_channel_takes_a_message_and_posts_the_answer() {
    let (home, name) = project("channel");
    plugin_kinds::takes_a_message_and_posts_the_answer(home, &name);
}

#[test]
fn a_folder_that_is_not_empty_stays_as_it_is() {
    let home = home();
    let dir = home.workspace().join("mine");
    fs::create_dir(&dir).expect("a directory");
    let new = || home.bub(["plugin", "new", "mine", "--lang", "rust", "--kind", "tool"]).finish();
    fs::write(dir.join("notes.txt"), "mine").expect("a file");
    new().refuses(&["`mine` is there and is not empty; nothing was changed"]);
    assert_eq!(fs::read_dir(&dir).expect("it is there").count(), 1);
    fs::remove_file(dir.join("notes.txt")).expect("it is there");
    assert_eq!(new().code, Some(0));
    assert!(dir.join("Cargo.toml").is_file());
    fs::remove_dir_all(&dir).expect("it is there");
    fs::write(&dir, "a file").expect("a file");
    new().refuses(&["`mine` is there and is not a directory"]);
}

#[test]
fn nothing_is_left_of_a_project_that_cannot_be_written() {
    let home = home();
    let new = home.bub(["plugin", "new", "mine", "--lang", "rust", "--kind", "tool"]);
    // No file may be larger than a few KiB.
    new.under("trap '' XFSZ; ulimit -f 16").finish().refuses(&["cannot be written; nothing was kept"]);
    assert_eq!(fs::read_dir(home.workspace()).expect("it is there").count(), 0);
}

#[test]
fn without_a_terminal_missing_options_are_listed_with_their_choices() {
    let home = home();
    let new = |arguments: &[&str]| home.bub(["plugin", "new"].into_iter().chain(arguments.iter().copied())).finish();
    new(&["mine"]).refuses(&[
        "--lang and --kind must be given",
        "rust",
        "tool|prompt|selector|gate|channel|provider|store",
    ]);
    new(&["mine", "--lang", "rust"]).refuses(&["so --kind must be given"]);
    for (lang, kind, naming) in [("cobol", "tool", "rust"), ("rust", "toll", "tool")] {
        let refused = new(&["mine", "--lang", lang, "--kind", kind]);
        assert!(refused.code == Some(2) && refused.stderr.contains(naming), "{refused}");
    }
    assert_eq!(fs::read_dir(home.workspace()).expect("it is there").count(), 0);
}

#[test]
fn a_name_that_no_plugin_or_crate_can_have_is_refused() {
    let home = home();
    for (name, what) in [
        ("Mine", "`M` (U+004D) is none of them"),
        ("a/b", "`/` (U+002F) is none of them"),
        ("..", "`.` (U+002E) is none of them"),
        ("a\u{1b}[31m", "U+001B is none of them"),
        ("spill", "the name is reserved"),
        ("2fast", "begins with a letter"),
        ("bub-guest", "cannot be named `bub-guest`"),
    ] {
        home.bub(["plugin", "new", name, "--lang", "rust", "--kind", "tool"]).finish().refuses(&[what]);
    }
    assert_eq!(fs::read_dir(home.workspace()).expect("it is there").count(), 0);
}

#[test]
fn on_a_terminal_the_language_and_the_kind_are_asked_for() {
    let home = home();
    let terminal = home.bub(["plugin", "new", "mine"]).in_shell(80, 24);
    terminal.sees("Language, by name or number:");
    terminal.answer("rust");
    terminal.sees("Kind, by name or number:");
    terminal.answer("9");
    terminal.sees("`9` is none of them");
    terminal.answer("4");
    terminal.sees("made `mine`, a gate in Rust");
    assert!(home.workspace().join("mine/src/lib.rs").is_file());
}

#[test]
fn all_languages_have_all_kinds_and_no_placeholder_is_left() {
    let home = home();
    let languages =
        fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guests/templates")).expect("templates");
    for language in languages.map(|entry| entry.expect("an entry")).filter(|entry| entry.path().is_dir()) {
        let language = language.file_name().into_string().expect("UTF-8");
        for kind in ["tool", "prompt", "selector", "gate", "channel", "provider", "store"] {
            let name = format!("{language}-{kind}");
            let made = home.bub(["plugin", "new", &name, "--lang", &language, "--kind", kind]).finish();
            assert_eq!(made.code, Some(0), "{made}");
            let dir = home.workspace().join(&name);
            for file in
                ["README.md", "bub-plugin.toml", "config.example.toml", ".gitignore", ".github/workflows/ci.yml"]
            {
                assert!(dir.join(file).is_file(), "{name} has no {file}");
            }
            no_placeholder(&dir);
        }
    }
}

fn no_placeholder(dir: &Path) {
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            no_placeholder(&path);
        } else if let Ok(text) = fs::read_to_string(&path) {
            for mark in ["{{name", "{{kind}}", "{{version}}"] {
                assert!(!text.contains(mark), "{} has {mark}", path.display());
            }
        }
    }
}
