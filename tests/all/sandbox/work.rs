//! Work that has to succeed in a sandbox.

use super::{backends, commands, has};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The toolchains of whoever runs the tests, whose home is another one than that of the test.
fn toolchains() -> Option<(PathBuf, PathBuf)> {
    let of = |variable: &str, name: &str| {
        let found = std::env::var_os(variable).map(PathBuf::from);
        found.or_else(|| Some(std::env::home_dir()?.join(name))).filter(|path| path.is_dir())
    };
    Some((of("CARGO_HOME", ".cargo")?, of("RUSTUP_HOME", ".rustup")?))
}

#[test]
fn cargo_builds_in_a_sandbox() {
    let Some((cargo, rustup)) = toolchains().filter(|_| has("cargo")) else {
        println!("skipped: there is no toolchain of rustup");
        return;
    };
    for backend in backends() {
        let home = super::home();
        fs::create_dir(home.workspace().join("src")).expect("a directory");
        fs::write(home.workspace().join("Cargo.toml"), "[package]\nname = \"tiny\"\nedition = \"2024\"\n")
            .expect("a file");
        fs::write(home.workspace().join("src/main.rs"), "fn main() { println!(\"tiny works\"); }\n").expect("a file");
        home.configure(&format!("[process]\nread = [\"{}/bin\", \"{}\"]", cargo.display(), rustup.display()));
        let build = format!(
            "export RUSTUP_HOME={} CARGO_NET_OFFLINE=true; {}/bin/cargo run -q --offline",
            rustup.display(),
            cargo.display()
        );
        let results = commands(&home, backend, &[&build], &[]);
        assert_eq!(results[0], "tiny works", "{backend}");
    }
}

/// Runs git outside of any sandbox, with the configuration of that home.
#[track_caller]
fn git(directory: &Path, home: &Path, arguments: &[&str]) {
    let done = Command::new("git").args(arguments).current_dir(directory).env("HOME", home).output();
    assert!(done.as_ref().is_ok_and(|done| done.status.success()), "git {arguments:?}: {done:?}");
}

#[test]
fn git_commits_and_pushes_in_a_sandbox() {
    if !has("git") {
        println!("skipped: there is no git");
        return;
    }
    for backend in backends() {
        let home = super::home();
        let user = home.bub_home().with_file_name("user");
        fs::write(user.join(".gitconfig"), "[user]\nname = Me\nemail = me@example.com\n[init]\ndefaultBranch = main\n")
            .expect("a file");
        let git = |arguments: &[&str]| git(&home.workspace(), &user, arguments);
        git(&["init", "-q"]);
        git(&["init", "-q", "--bare", "bare.git"]);
        git(&["remote", "add", "origin", "./bare.git"]);
        let results = commands(
            &home,
            backend,
            &[
                "echo text > file && git add file && git commit -qm 'a change' && git log --format='%an: %s'",
                "git push -q origin HEAD:main && git -C bare.git log --format=%s main",
                "git switch -qc branch && git commit -q --allow-empty -m second && git rev-list --count HEAD",
            ],
            &[],
        );
        assert_eq!(results, ["Me: a change", "a change", "2"], "{backend}");
    }
}

#[test]
fn git_commits_in_a_linked_work_tree() {
    if !has("git") {
        println!("skipped: there is no git");
        return;
    }
    for backend in backends() {
        let home = super::home();
        let user = home.bub_home().with_file_name("user");
        fs::write(user.join(".gitconfig"), "[user]\nname = Me\nemail = me@example.com\n").expect("a file");
        let main = home.bub_home().with_file_name("main");
        let git = |arguments: &[&str]| git(&main, &user, arguments);
        fs::create_dir(&main).expect("a directory");
        git(&["init", "-q"]);
        git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        fs::remove_dir(home.workspace()).expect("it is empty");
        git(&["worktree", "add", "-q", home.workspace().to_str().expect("text")]);
        let results = commands(
            &home,
            backend,
            &["git commit -q --allow-empty -m second && git rev-list --count HEAD", "git config core.fsmonitor ./evil"],
            &[],
        );
        assert_eq!(results[0], "2", "{backend}");
        assert!(results[1].contains("[sandbox"), "{backend}: {results:?}");
        // A stranger's file that names another directory opens nothing.
        let home = super::home();
        let other = home.bub_home().with_file_name("user").join("secret");
        fs::create_dir(&other).expect("a directory");
        fs::write(other.join("key"), "k-secret").expect("a file");
        fs::write(home.workspace().join(".git"), format!("gitdir: {}\n", other.display())).expect("a file");
        let results = commands(&home, backend, &[&format!("cat {}/key", other.display())], &[]);
        assert!(!results[0].contains("k-secret"), "{backend}: {results:?}");
    }
}

#[test]
fn scripts_of_common_kinds_run_in_a_sandbox() {
    for backend in backends() {
        let home = super::home();
        let results = commands(
            &home,
            backend,
            &[
                "set -o pipefail; seq 100 | sort -rn | head -1",
                "python3 -c 'print(6*7)' 2>/dev/null || echo 42",
                "mkfifo p && (echo through > p & cat p) && rm p",
                "f=$(mktemp) && echo kept > $f && cat $f",
                "cat < <(echo substituted)",
                "command -v ls >/dev/null && date +%Y >/dev/null && echo fine",
                "(exec -a named sleep 0.01) && echo forked",
            ],
            &[],
        );
        assert_eq!(results, ["100", "42", "through", "kept", "substituted", "fine", "forked"], "{backend}");
    }
}

/// A program that runs on is found by its id, and ends when it is told to.
#[test]
fn a_program_in_the_background_goes_on_in_its_sandbox() {
    for backend in backends() {
        let home = super::home();
        let arguments = [
            serde_json::json!({ "cmd": "echo begun > started; sleep 600.0778", "background": true }),
            serde_json::json!({ "cmd": "for i in $(seq 100); do test -e started && cat started && break; sleep 0.05; done" }),
        ];
        let results = super::calls(&home, backend, &arguments, &[]);
        assert!(results[0].starts_with("started: bash-"), "{results:?}");
        assert_eq!(results[1], "begun", "{backend}");
    }
}
