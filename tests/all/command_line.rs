//! Files that are generated from the definition of the command line: completion scripts and manual pages.

use crate::home;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn completions_are_printed_for_each_shell_and_name_every_command_that_help_shows() {
    let home = home();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let printed = home.bub(["completions", shell]).finish();
        assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""), "{shell}: {printed}");
        for name in ["doctor", "completions", "man", "unquarantine", "--workspace"] {
            let name = if shell == "fish" { name.trim_start_matches('-') } else { name };
            assert!(printed.stdout.contains(name), "{shell} does not complete `{name}`");
        }
        assert!(!printed.stdout.contains("compile-plugin"), "{shell} completes a hidden command");
    }
    let refused = home.bub(["completions", "tcsh"]).finish();
    assert!(refused.code == Some(2) && refused.stderr.contains("bash, elvish, fish, powershell, zsh"), "{refused}");
}

#[test]
fn bash_completes_a_command_with_the_script() {
    let home = home();
    let script = home.bub(["completions", "bash"]).finish().stdout;
    let Ok(mut bash) = Command::new("bash").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        let _ = std::io::stderr().write_all(b"\nnot tested: there is no `bash` here\n");
        return;
    };
    let words =
        "COMP_WORDS=(bub-wasm plugin unq) COMP_CWORD=2\n_bub__wasm bub-wasm unq plugin\necho \"${COMPREPLY[@]}\"\n";
    let mut stdin = bash.stdin.take().expect("it is piped");
    stdin.write_all(format!("{script}\n{words}").as_bytes()).expect("bash reads");
    drop(stdin);
    let output = bash.wait_with_output().expect("bash ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "unquarantine\n");
}

#[test]
fn completions_and_manual_pages_need_no_home_and_no_configuration() {
    let home = home();
    home.configure("this is no TOML");
    let printed = home.bub(["completions", "bash"]).env("BUB_HOME", "/proc/no/home").finish();
    assert_eq!(printed.code, Some(0), "{printed}");
    home.bub(["man", "pages"]).finish().says("");
}

#[test]
fn man_writes_a_page_for_each_command_that_help_shows() {
    let home = home();
    home.bub(["man", "share/man/man1"]).finish().says("");
    let dir = home.workspace().join("share/man/man1");
    let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(read("bub-wasm.1").contains("bub\\-wasm\\-doctor(1)"));
    assert!(read("bub-wasm-run.1").contains("\\-\\-attach"));
    assert!(read("bub-wasm-plugin-unquarantine.1").contains("NAME"));
    let pages = fs::read_dir(&dir).expect("it is there").flatten();
    let names: Vec<String> = pages.map(|page| page.file_name().to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|name| name.contains("compile")), "{names:?}");
}

#[test]
fn man_reports_where_it_cannot_write() {
    let home = home();
    home.bub(["man", "/proc/no/pages"]).finish().refuses(&["cannot be written to `/proc/no/pages`"]);
}
