//! Workspaces and homes in unusual places, and what programs have of their own.

use super::{backends, commands};
use bub_tests::Home;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

#[test]
fn programs_have_a_home_and_a_tmp_of_the_session_that_end_with_it() {
    for backend in backends() {
        let home = super::home();
        let results = commands(
            &home,
            backend,
            &["echo one > /tmp/x; echo two > ~/.cache-of-mine", "cat /tmp/x ~/.cache-of-mine"],
            &[],
        );
        assert_eq!(results[1], "one\ntwo", "{backend}");
        assert!(!Path::new("/tmp/x").exists());
        assert!(!user(&home).join(".cache-of-mine").exists());
    }
}

fn user(home: &Home) -> std::path::PathBuf {
    home.bub_home().with_file_name("user")
}

#[test]
fn listed_places_are_readable_or_writable_and_no_others() {
    for backend in backends() {
        let home = super::home();
        for name in ["shown", "open", "other"] {
            fs::create_dir(user(&home).join(name)).expect("a directory");
            fs::write(user(&home).join(name).join("f"), name).expect("a file");
        }
        home.configure("[process]\nread = [\"~/shown\"]\nwrite = [\"~/open\"]");
        let results = commands(
            &home,
            backend,
            &["cat ~/shown/f ~/open/f", "cat ~/other/f", "echo x > ~/shown/f", "echo changed > ~/open/f"],
            &[],
        );
        assert_eq!(results[0], "shownopen", "{backend}");
        assert!(results[1].contains("No such file") || results[1].contains("denied"), "{results:?}");
        assert!(results[2].contains("[sandbox"), "{results:?}");
        assert_eq!(fs::read_to_string(user(&home).join("open/f")).expect("a file"), "changed\n");
        assert_eq!(fs::read_to_string(user(&home).join("shown/f")).expect("a file"), "shown");
    }
}

/// The workspace of the command is `at`, and `$BUB_HOME` stays.
fn in_workspace(home: &Home, at: &Path, backend: &str, cmd: &str) -> String {
    let cmd = format!(",bash cmd={}", serde_json::json!(cmd));
    let run = home.bub(["--workspace", at.to_str().expect("text"), "run", &cmd]);
    let finished = run.env("BUB_SANDBOX", backend).finish();
    format!("{}{}", finished.stdout, finished.stderr)
}

#[test]
fn a_workspace_that_is_the_home_still_hides_its_secrets() {
    for backend in backends() {
        let home = super::home();
        let user = user(&home);
        fs::create_dir(user.join(".ssh")).expect("a directory");
        fs::write(user.join(".ssh/id"), "k-secret").expect("a file");
        fs::write(user.join(".bashrc"), "# mine\n").expect("a file");
        fs::write(user.join("plain"), "plain").expect("a file");
        let said = in_workspace(&home, &user, backend, "cat plain; cat .ssh/id; echo evil >> .bashrc; echo new > made");
        assert!(said.contains("plain") && !said.contains("k-secret"), "{backend}: {said}");
        assert_eq!(fs::read_to_string(user.join(".bashrc")).expect("a file"), "# mine\n");
        assert!(user.join("made").exists(), "{said}");
        let doctor = home.bub(["--workspace", user.to_str().expect("text"), "doctor"]).env("BUB_SANDBOX", backend);
        assert!(doctor.finish().stdout.contains("is your home"), "{backend}");
    }
}

#[test]
fn a_workspace_with_the_programs_own_home_in_it_does_not_show_it() {
    for backend in backends() {
        let home = super::home();
        fs::write(home.bub_home().join(".env"), "BUB_X_API_KEY=k-secret\n").expect("a file");
        let root = home.bub_home().parent().expect("a parent").to_owned();
        let said = in_workspace(
            &home,
            &root,
            backend,
            "cat home/.env; ls home; touch home/x; cat home/config.toml; touch made",
        );
        assert!(!said.contains("k-secret"), "{backend}: {said}");
        assert!(root.join("made").exists(), "{said}");
        assert!(!home.bub_home().join("x").exists(), "{said}");
    }
}

#[test]
fn a_workspace_within_the_programs_own_home_works_and_shows_nothing_around_it() {
    for backend in backends() {
        let home = super::home();
        fs::write(home.bub_home().join(".env"), "BUB_X_API_KEY=k-secret\n").expect("a file");
        let inside = home.bub_home().join("work");
        fs::create_dir(&inside).expect("a directory");
        let said = in_workspace(&home, &inside, backend, "cat ../.env; touch made");
        assert!(!said.contains("k-secret") && inside.join("made").exists(), "{backend}: {said}");
    }
}

#[test]
fn a_workspace_behind_a_link_is_where_the_link_leads() {
    for backend in backends() {
        let home = super::home();
        let link = user(&home).join("link");
        symlink(home.workspace(), &link).expect("a link");
        in_workspace(&home, &link, backend, "touch made");
        assert!(home.workspace().join("made").exists(), "{backend}");
    }
}

#[test]
fn the_whole_file_system_is_no_workspace_for_a_sandbox() {
    for backend in backends() {
        let home = super::home();
        let said = in_workspace(&home, Path::new("/"), backend, "touch /tmp/bub-of-root-made");
        assert!(said.contains("no sandbox can hold a program whose workspace is `/`"), "{backend}: {said}");
        assert!(!Path::new("/tmp/bub-of-root-made").exists());
    }
}

#[test]
fn a_missing_home_hinders_nothing() {
    for backend in backends() {
        let home = super::home();
        let run = home.run([",bash cmd=\"echo $((6*7))\""]).env("HOME", "/nonexistent/of/tests");
        let finished = run.env("BUB_SANDBOX", backend).finish();
        assert!(finished.stdout.contains("42"), "{backend}: {finished}");
        assert!(!Path::new("/nonexistent").exists(), "{backend} made it");
    }
}

#[test]
fn nothing_of_a_session_is_left_when_the_program_ends() {
    let Some(backend) = backends().first() else { return };
    let home = super::home();
    let run = home.run([",bash cmd=\"stat -c %d:%i /tmp\""]).env("BUB_SANDBOX", backend);
    let temporary = user(&home);
    let finished = run.env("TMPDIR", &temporary).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    let left: Vec<_> =
        fs::read_dir(&temporary).expect("a directory").flatten().map(|entry| entry.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_deadline_ends_all_that_a_command_has_started() {
    for backend in backends() {
        let home = super::home();
        let cmd = "trap 'echo asked; exit 0' TERM; setsid sleep 600.0775 & sleep 600.0776 & wait";
        let arguments = [serde_json::json!({ "cmd": cmd, "timeout_seconds": 1 })];
        let results = super::calls(&home, backend, &arguments, &[]);
        // It is asked to end first, as without a sandbox.
        assert!(results[0].contains("timed out after 1 seconds") && results[0].contains("asked"), "{results:?}");
        let processes = fs::read_dir("/proc").expect("there are processes").flatten();
        let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
        let is_left = |line: &Vec<u8>| line.starts_with(b"sleep\x00600.0775") || line.starts_with(b"sleep\x00600.0776");
        let left = lines.filter(is_left).count();
        assert_eq!(left, 0, "{backend}");
    }
}
