//! The environment variables that programs get from `bub-wasm`, or can read through the system.

use crate::home;
use bub_tests::Home;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

/// A user without rights, on every system of the tests.
const NOBODY: u32 = 65_534;

/// Keys of other programs that are common in the environments of developers.
const KEYS: [(&str, &str); 5] = [
    ("DATABASE_URL", "postgres://me:k-database@db/x"),
    ("PGPASSWORD", "k-postgres"),
    ("GH_PAT", "k-github"),
    ("AWS_SECRET_ACCESS_KEY", "k-aws"),
    ("BUB_OPENAI_API_KEY", "k-openai"),
];

fn shell(home: &Home, script: &str) -> String {
    let command = format!(",bash cmd='{script}'");
    let run = KEYS.iter().fold(home.run([command.as_str()]), |run, (name, value)| run.env(name, value));
    let run =
        run.env("LC_ALL", "C").env("NVM_DIR", "/opt/nvm").env("SCHEMA_OF_MINE", "mine").env("CARGO_HOME", "/cargo");
    let finished = run.finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    finished.stdout
}

#[test]
fn a_program_gets_the_variables_that_it_needs_and_no_key() {
    let home = home();
    let printed = shell(&home, "env");
    for (name, value) in KEYS {
        assert!(!printed.contains(name) && !printed.contains(value), "{printed}");
    }
    for kept in ["LC_ALL=C", "NVM_DIR=/opt/nvm", "CARGO_HOME=/cargo", "PATH=", "HOME="] {
        assert!(printed.contains(kept), "`{kept}` is missing\n{printed}");
    }
    assert!(!printed.contains("SCHEMA_OF_MINE"), "{printed}");

    home.configure("[process]\nenv = [\"SCHEMA_OF_MINE\", \"PG*\"]");
    let printed = shell(&home, "env");
    assert!(printed.contains("SCHEMA_OF_MINE=mine") && printed.contains("PGPASSWORD=k-postgres"), "{printed}");
    assert!(!printed.contains("k-openai") && !printed.contains("k-database"), "{printed}");

    home.configure("[process]\nenv = [\"BUB_API_KEY\"]");
    home.run(["hi"]).finish().refuses(&["`process.env` of config.toml: `BUB_API_KEY` is a variable of bub-wasm"]);
}

#[test]
fn the_environment_that_the_system_shows_of_the_program_holds_no_key() {
    let home = home();
    // Root may read it; another user may not even that.
    let printed = shell(&home, "tr \"\\\\0\" \"\\\\n\" < /proc/$PPID/environ || echo refused");
    assert!(printed.contains("PATH=") || printed.contains("refused"), "{printed}");
    for (_, value) in KEYS {
        assert!(!printed.contains(value), "{printed}");
    }
    let printed = shell(&home, "grep -i core /proc/$PPID/limits");
    let words: Vec<&str> = printed.split_whitespace().collect();
    assert!(words.windows(2).any(|pair| pair == ["size", "0"]), "{printed}");
}

#[test]
fn a_key_of_the_environment_is_used_although_it_is_blanked() {
    let home = home();
    let server = bub_tests::Server::new([bub_tests::Answer::text("hello")]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer sk-fake"));
}

/// A program of the same user looks into this process by its environment, its memory and its open files.
#[test]
fn a_program_of_the_same_user_cannot_look_into_the_process() {
    let home = home().bare();
    for name in ["shell", "builtin", "offline"] {
        home.configure(&format!("[plugins.{name}]\nenabled = true"));
    }
    let root = home.bub_home().with_file_name("");
    let cache = root.join("cache");
    fs::create_dir(&cache).expect("it can be made");
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o700)).expect("it is ours");
    home.run(["hi"]).env("BUB_CACHE", &cache).finish();
    let mut all = vec![root];
    while let Some(path) = all.pop() {
        if path.is_dir() {
            all.extend(fs::read_dir(&path).expect("it can be listed").flatten().map(|entry| entry.path()));
        }
        if chown(&path, Some(NOBODY), Some(NOBODY)).is_err() {
            println!("skipped: only root can become another user");
            return;
        }
    }
    let as_nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let may_run = Command::new("setpriv").args(as_nobody).args([env!("CARGO_BIN_EXE_bub-wasm"), "--version"]).output();
    if !may_run.is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no `setpriv`, or the program cannot be reached by another user");
        return;
    }
    let script = "for f in environ mem maps fd/0; do cat /proc/$PPID/$f > /dev/null 2>&1 && echo read $f; done; id -u; echo done";
    let command = format!(",bash cmd='{script}'");
    let run = home.run([command.as_str()]).env("BUB_CACHE", &cache).env("BUB_API_KEY", "k-own");
    let finished = run.under("exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$0\" \"$@\"").finish();
    assert!(finished.stdout.contains("65534\ndone"), "{finished}");
    assert!(!finished.stdout.contains("read "), "{finished}");
}
