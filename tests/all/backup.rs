//! Backups of a home and its version, by the program.

use crate::home;
use bub_tests::{Home, Serve};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

fn beside(home: &Home, name: &str) -> PathBuf {
    home.bub_home().with_file_name(name)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The files of a directory of tapes, without journals: names and contents.
fn tapes(home: &Path) -> Vec<(String, Vec<u8>)> {
    let listed = fs::read_dir(home.join("tapes")).expect("tapes");
    let files = listed.map(|file| file.expect("a file").path()).filter(|path| path.is_file());
    let files = files.filter(|path| path.extension().is_none_or(|end| end != "turn"));
    let mut files: Vec<_> = files
        .map(|path| (text(path.file_name().map(Path::new).expect("a name")), fs::read(&path).expect("a file")))
        .collect();
    files.sort_unstable();
    files
}

#[test]
fn a_backup_under_a_running_serve_is_restored_with_every_tape_byte_for_byte() {
    let home = home();
    home.configure("selector = \"context-builder\"\n");
    let serve = Serve::start(home.bub(["serve", "--listen", "127.0.0.1:0"]), &home.bub_home());
    for number in 0..20 {
        serve.post(
            "/v1/turns",
            &json!({ "content": format!("ECHO:note {number}"), "session_id": format!("http:{}", number % 5) }),
        );
    }
    let added = home.run([",memory.add 'the boat is green'"]).finish();
    assert!(added.stdout.contains("added to long-term memory"), "{added}");
    let (file, back) = (beside(&home, "backup.tar.gz"), beside(&home, "restored"));
    let made = home.bub(["backup", "create", &text(&file)]).finish();
    assert_eq!(made.code, Some(0), "{made}");
    assert!(made.stdout.starts_with("wrote: ") && made.stdout.contains("without secrets"), "{made}");
    assert_eq!(tapes_of_backup(&home, &file), 7, "five sessions, the memory and that of `run`");
    assert_eq!(home.bub(["backup", "verify", &text(&file)]).finish().code, Some(0));
    let restored = home.bub(["--home", &text(&back), "backup", "restore", &text(&file)]).finish();
    assert_eq!(restored.code, Some(0), "{restored}");
    assert_eq!(tapes(&home.bub_home()), tapes(&back));
    assert_eq!(serve.end().code, Some(0));
    // The conversation and the memory go on there.
    let asked = home.bub(["--home", &text(&back), "run", ",memory.show", "--session", "http:1"]).finish();
    assert!(asked.stdout.contains("- long-term: 17 bytes") && asked.stderr.is_empty(), "{asked}");
    let verified = home.bub(["--home", &text(&back), "audit", "verify"]).finish();
    assert_eq!(verified.code, Some(0), "{verified}");
}

/// The tapes that `backup verify` counts.
fn tapes_of_backup(home: &Home, file: &Path) -> u64 {
    let verified = home.bub(["backup", "verify", &text(file), "--json"]).finish();
    let shown: serde_json::Value = serde_json::from_str(&verified.stdout).expect("it is JSON");
    shown["tapes"].as_u64().expect("a number")
}

#[test]
fn secrets_are_restored_by_their_passphrase_alone() {
    let home = home();
    home.bub(["secret", "set", "weather", "--host", "api.weather.example", "--value-stdin"])
        .input("hunter2hunter2")
        .finish();
    home.run(["ECHO:hello"]).finish();
    let (file, passphrase) = (beside(&home, "with-secrets.tar.gz"), beside(&home, "passphrase"));
    fs::write(&passphrase, "a long passphrase\n").expect("a file");
    let given = ["--secrets", "--passphrase-file", &text(&passphrase)];
    let made = home.bub(["backup", "create", &text(&file)].into_iter().chain(given)).finish();
    assert!(made.code == Some(0) && made.stdout.contains("with secrets"), "{made}");
    let back = beside(&home, "back-without");
    let restored = home.bub(["--home", &text(&back), "backup", "restore", &text(&file)]).finish();
    restored.mentions("the backup has secrets too: `--secrets` restores them");
    assert!(!back.join("secrets.toml").exists());
    let back = beside(&home, "back-with");
    let restored =
        home.bub(["--home", &text(&back), "backup", "restore", &text(&file)].into_iter().chain(given)).finish();
    assert_eq!(restored.code, Some(0), "{restored}");
    assert_eq!(fs::read(back.join("secrets.toml")).ok(), fs::read(home.bub_home().join("secrets.toml")).ok());
    home.bub(["backup", "create", &text(&beside(&home, "x")), "--secrets"])
        .finish()
        .mentions("there is no terminal to ask for the passphrase: give `--passphrase-file FILE`");
}

#[test]
fn a_home_of_a_newer_program_is_refused_by_every_command_and_taken_back_by_one() {
    let home = home();
    home.run(["ECHO:hello"]).finish();
    let version = home.bub_home().join("version");
    assert_eq!(fs::read_to_string(&version).expect("it is there"), "1\n");
    let before = tapes(&home.bub_home());
    fs::write(&version, "2\n").expect("a file");
    for arguments in [&["run", "x"][..], &["chat"], &["serve"], &["tape", "list"], &["doctor"], &["plugin", "list"]] {
        let refused = home.bub(arguments.iter().copied()).finish();
        assert_eq!(refused.code, Some(1), "{arguments:?}\n{refused}");
        refused.mentions("has version 2, and this program knows versions up to 1: update the program");
    }
    assert_eq!(tapes(&home.bub_home()), before);
    fs::write(&version, "1\n").expect("a file");
    let downgraded = home.bub(["home", "downgrade"]).finish();
    assert!(downgraded.stdout.contains("has version 0 now"), "{downgraded}");
    assert!(!version.exists());
    // As the program of version 0 left it; the next turn brings it forward again.
    let upgraded = home.run(["ECHO:hello"]).env("BUB_VERBOSE", "1").finish();
    upgraded.mentions("was brought from version 0 to 1; `bub-wasm home downgrade` takes it back");
    let shown = home.bub(["home"]).finish();
    assert!(shown.stdout.contains("has version 1; this program writes version 1"), "{shown}");
    fs::write(&version, "one").expect("a file");
    home.bub(["tape", "list"])
        .finish()
        .mentions("version` is damaged: write `1` into it if no newer program has used this home");
}
