//! Leaving the sandbox: what is asked, who may allow it, and what is said where it would help.

use super::{backends, calls, commands};
use bub_tests::{Answer, Home, Server};
use serde_json::{Value, json};
use std::fs;

/// A command that writes to the user's home, which nothing in a sandbox does.
fn call(home: &Home) -> Value {
    let file = home.bub_home().with_file_name("user").join("made");
    json!({ "cmd": format!("echo made > {}", file.display()), "outside": true, "reason": "to show it" })
}

fn is_made(home: &Home) -> bool {
    home.bub_home().with_file_name("user").join("made").exists()
}

#[test]
fn a_command_leaves_the_sandbox_only_if_the_owner_allows_that() {
    for backend in backends() {
        let home = super::home();
        // Nobody is there to be asked, and what is allowed inside is not allowed outside.
        for more in [&[][..], &["--allow", "run"][..]] {
            let results = calls(&home, backend, &[call(&home)], more);
            assert!(results[0].contains("would run outside of the sandbox"), "{results:?}");
            assert!(results[0].contains("run --allow outside"), "{results:?}");
            assert!(!is_made(&home));
        }
        let results = calls(&home, backend, &[call(&home)], &["--approve", "read-only"]);
        assert!(results[0].contains("only calls that read are made") && !is_made(&home), "{results:?}");
        let results = calls(&home, backend, &[call(&home)], &["--allow", "run,outside"]);
        assert!(is_made(&home), "{results:?}");
    }
}

#[test]
fn the_question_names_the_command_and_a_yes_is_for_it_alone() {
    let Some(backend) = backends().first() else { return };
    let home = super::home();
    let command = call(&home);
    let server = Server::new([Answer::tool_call("bash", &command.to_string()), Answer::text("done")]);
    let terminal = home.bub(["chat"]).model(&server).env("BUB_SANDBOX", backend).terminal(120, 40);
    terminal.waits();
    terminal.say("go on");
    let screen = terminal.sees("outside of the sandbox");
    assert!(screen.contains("user/made"), "{screen}");
    assert!(!is_made(&home));
    terminal.answer("y").sees("done");
    assert!(is_made(&home));
}

#[test]
fn a_rule_lets_a_command_leave_in_clean_turns_if_it_says_so() {
    let Some(backend) = backends().first() else { return };
    for (says, leaves) in [("", false), (", outside = true", true)] {
        let home = super::home();
        let file = home.bub_home().with_file_name("user").join("made");
        home.configure(&format!(
            "[[process.rules]]\nprefix = [\"touch\"]\ndecision = \"allow\"{}",
            says.replace(", ", "\n")
        ));
        let command = json!({ "cmd": format!("touch {}", file.display()), "outside": true, "reason": "to show it" });
        let results = calls(&home, backend, std::slice::from_ref(&command), &[]);
        assert_eq!(is_made(&home), leaves, "{results:?}");
        let other = json!({ "cmd": format!("ln -s x {}", file.display()), "outside": true, "reason": "to show it" });
        let results = calls(&home, backend, &[other], &[]);
        assert!(results[0].contains("would run outside of the sandbox"), "{results:?}");
        // What this workspace shows is another author's text.
        fs::remove_file(&file).ok();
        home.bub(["trust", "--revoke"]).finish();
        fs::write(home.workspace().join("a.txt"), "text").expect("a file");
        let read = json!({ "cmd": "cat a.txt" });
        let results = calls(&home, backend, &[read, command], &["--allow", "run"]);
        assert!(results[1].contains("would run outside of the sandbox") && !is_made(&home), "{results:?}");
    }
}

#[test]
fn a_strict_configuration_lets_nothing_out() {
    let Some(backend) = backends().first() else { return };
    let home = super::home();
    home.configure("[process]\nstrict = true");
    let results = calls(&home, backend, &[call(&home)], &["--allow", "run,outside"]);
    assert!(results[0].contains("no program leaves the sandbox"), "{results:?}");
    assert!(!is_made(&home));
}

#[test]
fn a_result_says_that_the_sandbox_was_why_and_offers_what_would_help() {
    for backend in backends() {
        let home = super::home();
        let file = home.bub_home().with_file_name("user").join(".bashrc");
        fs::write(&file, "# mine\n").expect("a file");
        home.configure(&format!("[process]\nread = [\"{}\"]", file.display()));
        let results = commands(
            &home,
            backend,
            &[&format!("echo evil >> {}", file.display()), "exit 3", "true", "kill -31 $$", "echo 'Permission denied'"],
            &[],
        );
        assert!(results[0].contains("[sandbox: it may change its workspace"), "{results:?}");
        assert!(results[0].contains("`outside: true`"), "{results:?}");
        assert!(results[3].contains("[sandbox: it made a system call that is refused"), "{results:?}");
        for at in [1, 2, 4] {
            assert!(!results[at].contains("[sandbox"), "{results:?}");
        }
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "# mine\n");
    }
}

#[test]
fn a_new_file_that_runs_later_is_named() {
    for backend in backends() {
        let home = super::home();
        let results = commands(&home, backend, &["echo evil > .envrc", "mkdir .husky", "touch plain"], &[]);
        assert!(results[0].contains("new files that run later, outside of the sandbox: `.envrc`"), "{results:?}");
        assert!(results[1].contains("`.husky`"), "{results:?}");
        assert!(!results[2].contains("[sandbox"), "{results:?}");
    }
}

#[test]
fn a_grant_for_programs_without_a_sandbox_needs_no_question() {
    let Some(backend) = backends().first() else { return };
    let home = super::home();
    assert_eq!(home.bub(["plugin", "grant", "shell", "process"]).finish().code, Some(0));
    let mut inside = call(&home);
    inside["outside"] = json!(false);
    calls(&home, backend, &[inside], &[]);
    assert!(is_made(&home));
}
