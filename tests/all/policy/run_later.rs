//! Files that run later: to write one of them is `run`, whatever may be written.

use super::{done, with_deeds};
use crate::home;
use bub_tests::{Finished, Home, tape};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;

/// An untrusted workspace, whose `AGENTS.md` taints every turn.
fn untrusted() -> Home {
    let home = home();
    fs::write(home.workspace().join("AGENTS.md"), "obey me").expect("a file");
    home
}

fn write(path: &str) -> String {
    format!("TOOL:fs.write {}", json!({ "path": path, "content": "x" }))
}

/// One turn that writes all of these.
fn writes(home: &Home, paths: &[&str], more: &[&str]) -> Finished {
    let script = paths.iter().map(|path| write(path)).collect::<Vec<_>>().join(" ;; ");
    home.run([script.as_str()].into_iter().chain(more.iter().copied())).finish().answers()
}

fn said(home: &Home) -> String {
    format!("{:?}", tape::read(&home.tape_file("cli:local")))
}

const LATER: &[&str] = &[
    ".git/hooks/pre-commit",
    ".git/config",
    "./sub/../.git/info/attributes",
    ".GIT/hooks/post-merge",
    "vendor/lib/.git/config",
    "git.git/hooks/post-receive",
    ".husky/pre-push",
    ".envrc",
    "home/.bashrc",
    ".zshenv",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".idea/workspace.xml",
    "all.code-workspace",
    ".github/workflows/ci.yml",
    ".pre-commit-config.yaml",
    ".devcontainer/devcontainer.json",
    "hook.link",
    "dir.link/config",
    "dangling.link",
];

const ORDINARY: &[&str] = &["notes.txt", "src/hooks/use_state.ts", "git.md", "package.json", ".gitignore", "a.git.txt"];

/// Links as a repository brings them along.
fn linked(home: &Home) {
    let at = |name: &str| home.workspace().join(name);
    fs::create_dir_all(at(".git/hooks")).expect("a directory");
    fs::write(at(".git/hooks/real"), "").expect("a file");
    symlink(".git/hooks/real", at("hook.link")).expect("a link");
    symlink(".git", at("dir.link")).expect("a link");
    symlink(".git/hooks/pre-push", at("dangling.link")).expect("a link");
}

#[test]
fn writing_a_file_that_runs_later_needs_the_run_permission() {
    let home = untrusted();
    linked(&home);
    writes(&home, LATER, &["--allow", "write"]);
    let tape = said(&home);
    for path in LATER {
        assert!(tape.contains(&format!("`{path}` runs later")), "{path}: {tape}");
        let content = fs::read_to_string(home.workspace().join(path)).unwrap_or_default();
        assert_ne!(content, "x", "{path} was written");
    }
    assert!(tape.matches("`fs_write` would run, which needs the owner's word").count() >= LATER.len(), "{tape}");
    assert!(tape.contains("`run --allow run` gives it"), "{tape}");
    writes(&home, ORDINARY, &["--allow", "write"]);
    for path in ORDINARY {
        assert_eq!(fs::read_to_string(home.workspace().join(path)).ok().as_deref(), Some("x"), "{path}");
    }
}

#[test]
fn an_edit_of_a_file_that_runs_later_needs_run() {
    let home = untrusted();
    linked(&home);
    fs::write(home.workspace().join(".git/config"), "[core]\n").expect("a file");
    let edit = json!({ "path": "dir.link/../.git/config", "old": "[core]", "new": "[alias]" });
    home.run([format!("TOOL:fs.edit {edit}").as_str(), "--allow", "write"]).finish();
    assert_eq!(fs::read_to_string(home.workspace().join(".git/config")).ok().as_deref(), Some("[core]\n"));
    assert!(said(&home).contains("`fs_edit` would run"), "{}", said(&home));
}

#[test]
fn allowing_run_allows_files_that_run_later() {
    let home = untrusted();
    writes(&home, &[".git/hooks/pre-commit"], &["--allow", "run"]);
    assert!(home.workspace().join(".git/hooks/pre-commit").exists());
}

#[test]
fn an_untainted_owner_writes_files_that_run_later_without_approval() {
    let home = home();
    writes(&home, &[".git/hooks/pre-commit", ".envrc"], &[]);
    assert!(home.workspace().join(".git/hooks/pre-commit").exists() && home.workspace().join(".envrc").exists());
}

#[test]
fn the_approval_is_for_run_and_names_the_file_that_runs_later() {
    let home = untrusted();
    let chat = home.bub(["chat"]).terminal(200, 40);
    chat.sees("Trust this workspace? [y/N]");
    chat.answer("n").sees("It is not trusted");
    chat.waits();
    chat.say(&write(".git/hooks/pre-commit"));
    chat.until("the question", |screen| {
        // It is folded to the width of a page.
        let screen = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        screen.contains("Write `.git/hooks/pre-commit`?") && screen.contains("`.git/hooks/pre-commit` runs later")
    });
    assert!(!home.workspace().join(".git/hooks/pre-commit").exists());
}

#[test]
fn file_content_is_not_mistaken_for_a_path() {
    let home = untrusted();
    let arguments = json!({ "path": "list.txt", "content": ".git/hooks/pre-commit" });
    home.run([format!("TOOL:fs.write {arguments}").as_str(), "--allow", "write"]).finish();
    assert!(home.workspace().join("list.txt").exists(), "{}", said(&home));
}

#[test]
fn a_tool_of_any_plugin_that_may_write_files_is_judged_by_its_arguments() {
    for (grants, arguments, expected) in [
        (vec!["fs:<workspace>:rw"], json!({ "target": { "file": ".git/config" } }), 0),
        (vec!["fs:<workspace>:rw"], json!({ "files": ["a.txt", "b/.envrc"] }), 0),
        (vec!["fs:<workspace>:rw"], json!({ "files": { "b/.envrc": "x" } }), 0),
        (vec!["fs:<workspace>:rw"], json!({ "file": " .git/config\n" }), 0),
        (vec!["fs:<workspace>:rw"], json!({ "files": ["a.txt"] }), 1),
        // It cannot change a file, so its argument is none that runs.
        (vec!["fs:<workspace>:ro"], json!({ "files": ["a.txt", "b/.envrc"] }), 1),
    ] {
        let home = with_deeds();
        fs::write(home.workspace().join("AGENTS.md"), "obey me").expect("a file");
        home.configure(&format!("[plugins.deeds]\ngrants = {grants:?}"));
        let script = format!("TOOL:deeds.write {arguments}");
        let finished = home.run([script.as_str(), "--allow", "write"]).watched().finish();
        assert_eq!(done(&finished).len(), expected, "{grants:?} {arguments}: {finished}");
    }
}

#[test]
fn a_configuration_adds_files_that_run_later_in_its_workspaces() {
    let home = untrusted();
    home.configure("[policy]\nruns_later = [\"package.json\", \"Makefile\", \"ci/*.sh\"]");
    let paths = ["package.json", "sub/makefile", "ci/build.sh", "ci/readme.md"];
    writes(&home, &paths, &["--allow", "write"]);
    let written: Vec<_> = paths.into_iter().filter(|path| home.workspace().join(path).exists()).collect();
    assert_eq!(written, ["ci/readme.md"], "{}", said(&home));
}

#[test]
fn a_pattern_that_would_match_everything_or_nothing_is_refused_by_name() {
    for (pattern, reason) in [
        ("*", "would match every file"),
        ("", "would match every file"),
        ("a//b", "would match every file"),
        ("/etc/profile", "is not a path inside a workspace"),
        ("a\\\\b", "is not a path inside a workspace"),
    ] {
        let home = home();
        home.configure(&format!("[policy]\nruns_later = [\"{pattern}\"]"));
        home.run(["ECHO:hi"]).finish().refuses(&["policy.runs_later", reason]);
    }
}
