//! Servers of the organisation that keeps the protocol, fetched from their registries. Run with `--ignored`.

use super::{result, turn};
use crate::home;
use bub_tests::Home;
use std::path::PathBuf;
use std::process::Command;

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mcp").join(name)
}

#[track_caller]
fn runs(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A home in which the answers of that server's tools are read without a question.
fn with_official(command: &str, arguments: &[&str]) -> Home {
    let home = home();
    let words = ["mcp", "add", "it", "--effect", "*=read", "--timeout", "120", "--", command];
    let added = home.bub(words.into_iter().chain(arguments.iter().copied())).finish();
    assert_eq!(added.code, Some(0), "{added}");
    home
}

#[test]
#[ignore = "fetches `mcp-server-time` from PyPI"]
fn the_server_for_times_of_pypi_is_used() {
    let environment = folder("time");
    runs(Command::new("python3").args(["-m", "venv"]).arg(&environment));
    runs(Command::new(environment.join("bin/pip")).args(["install", "--quiet", "mcp-server-time"]));
    let home = with_official(&environment.join("bin/mcp-server-time").to_string_lossy(), &[]);
    let (said, _) = result(&home, "mcp_it_get_current_time", r#"{"timezone":"Asia/Tokyo"}"#);
    assert!(said.contains("Asia/Tokyo") && said.contains("+09:00"), "{said}");
    let (said, _) = result(&home, "mcp_it_get_current_time", r#"{"timezone":"Nowhere/Else"}"#);
    assert!(said.contains("Nowhere/Else"), "{said}");
}

#[test]
#[ignore = "fetches `@modelcontextprotocol/server-everything` from npm"]
fn the_server_with_everything_of_npm_is_used() {
    let package = folder("everything");
    std::fs::create_dir_all(&package).expect("the folder can be made");
    runs(
        Command::new("npm")
            .args(["install", "--silent", "@modelcontextprotocol/server-everything"])
            .current_dir(&package),
    );
    let program = package.join("node_modules/.bin/mcp-server-everything");
    let home = with_official(&program.to_string_lossy(), &["stdio"]);
    assert!(result(&home, "mcp_it_echo", r#"{"message":"hello"}"#).0.contains("hello"));
    let (_, requests) = turn(&home, &[("mcp_it_read_resource", "{}"), ("mcp_it_get_prompt", "{}")], &[]);
    // The result of the turn before comes first.
    let listed = super::results(&requests);
    assert_eq!(listed.len(), 3, "{listed:?}");
    assert!(listed[1..].iter().all(|listed| listed.starts_with("- ")), "{listed:?}");
}
