//! Which versions of the contracts are served.

use crate::home;
use bub_runtime::guest::SERVED;
use bub_tests::{Answer, Home, Server, programs};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Everything that a world of these files exports, with its version.
fn exported(file: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let package = text.lines().find_map(|line| line.strip_prefix("package ")).expect("a file begins with its package");
    let (package, version) = package.trim_end_matches(';').split_once('@').expect("a package has a version");
    let exports = text.lines().filter_map(|line| line.trim().strip_prefix("export ")?.strip_suffix(';'));
    // `export manifest;` is of the package itself.
    exports.map(|name| if name.contains('@') { name.into() } else { format!("{package}/{name}@{version}") }).collect()
}

#[test]
fn the_served_interfaces_match_the_worlds() {
    let served: BTreeSet<String> = SERVED.iter().map(|(interface, version)| format!("{interface}@{version}")).collect();
    let mut said = exported("worlds.wit");
    said.extend(exported("trial/hooks.wit"));
    assert_eq!(served, said);
    let guide =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit/README.md")).expect("it is there");
    for version in SERVED.iter().map(|(_, version)| version) {
        assert!(
            guide.lines().any(|line| line.starts_with(&format!("| {version}"))),
            "{version} has no row in its guide"
        );
    }
}

/// A home with the plugin that was built for 0.1.0 once and for all, and the grants that its manifest wants.
fn frozen() -> Home {
    let home = home().strict();
    home.plugin("frozen", programs::FROZEN);
    let granted = home.bub(["plugin", "grant", "frozen"]).finish();
    assert_eq!(granted.code, Some(0), "{granted}");
    home
}

#[test]
fn a_plugin_of_0_1_0_is_called_for_every_hook_that_it_implements() {
    let home = frozen();
    let listed = home.bub(["plugin", "list"]).finish();
    assert!(!listed.stdout.contains("did not load"), "{listed}");
    let server = Server::new([Answer::text("brr")]);
    home.run(["frozen hello"]).model(&server).finish().says("[cli:local]\nbrr\n");
    let request = &server.requests()[0];
    assert_eq!(request.last_content(), "HELLO");
    assert!(request.messages()[0]["content"].as_str().is_some_and(|text| text.contains("It is cold.")), "{request:?}");
    home.bub(["frozen", "indeed"]).finish().says("cold indeed\n");
    // Its selector hands over the message, and its provider counts the system prompt too.
    home.run(["hello"]).env("BUB_MODEL", "frozen:any").finish().says("[cli:local]\ncold, after 4 messages\n");
}

#[test]
fn a_plugin_of_0_1_0_reaches_every_import() {
    let home = frozen();
    let reached = home.run([",frozen.reach"]).finish();
    assert_eq!(reached.code, Some(0), "{reached}");
    let answered = reached.stdout.lines().last().and_then(|line| line.split(' ').next()?.parse::<u32>().ok());
    // The others are refused what it was not granted, or find nothing: secrets, a file, the tape as it was.
    assert_eq!(answered, Some(43), "{reached}");
}

#[test]
pub(crate) fn prompt_trial_adds_to_prompts_of_the_other_version() {
    let home = home();
    home.plugin("a_upper", programs::PROMPT_UPPER).plugin("b_trial", programs::PROMPT_TRIAL);
    let prompt_of = |said: &str| {
        let server = Server::new([Answer::text("hello")]);
        home.run([said]).model(&server).finish().says("[cli:local]\nhello\n");
        server.requests()[0].last_content()
    };
    assert_eq!(prompt_of("hi"), "HI, says cli");
    assert_eq!(prompt_of("unsigned hi"), "UNSIGNED HI");
    // The one that is asked later keeps it from being asked, as ever.
    home.plugin("c_upper", programs::PROMPT_UPPER);
    assert_eq!(prompt_of("hi"), "HI");
    // Without the others it gets what the builtin makes.
    home.remove_plugin("a_upper");
    home.remove_plugin("c_upper");
    let prompt = prompt_of("hi");
    assert!(prompt.starts_with("sender_id=human|channel=$cli|") && prompt.ends_with("\nhi, says cli"), "{prompt}");
}
