//! The effects of tools: the user's word, and that of the server.

use super::with_server;
use bub_tests::Home;

/// The effect of each tool, as `mcp check` says.
#[track_caller]
fn effects(home: &Home, expected: &[(&str, &str)]) {
    let checked = home.bub(["mcp", "check", "it"]).finish();
    for (tool, effect) in expected {
        let row = checked.stdout.lines().find(|line| line.trim_start().starts_with(&format!("mcp.it.{tool} ")));
        let found = row.and_then(|row| row.split_whitespace().nth(1));
        assert_eq!(found, Some(*effect), "{tool}: {checked}");
    }
}

#[test]
fn an_effect_is_the_users_word_and_otherwise_run() {
    effects(&with_server("good", ""), &[("echo", "run"), ("look", "run"), ("wipe", "run"), ("read_resource", "run")]);
    let named = with_server("good", "[mcp.it.effects]\necho = \"read\"\nwipe = \"write\"\nread_resource = \"read\"");
    effects(&named, &[("echo", "read"), ("look", "run"), ("wipe", "write"), ("read_resource", "read")]);
}

#[test]
fn the_word_of_a_server_makes_an_effect_greater_and_smaller_only_where_it_is_trusted() {
    let all = with_server("good", "[mcp.it.effects]\n\"*\" = \"write\"");
    effects(&all, &[("echo", "write"), ("look", "write"), ("wipe", "run")]);
    let trusted = with_server("good", "trust_annotations = true");
    effects(&trusted, &[("echo", "run"), ("look", "read"), ("wipe", "run")]);
    let both = with_server("good", "trust_annotations = true\n[mcp.it.effects]\nlook = \"send\"\n\"*\" = \"read\"");
    effects(&both, &[("echo", "read"), ("look", "send"), ("wipe", "run")]);
}
