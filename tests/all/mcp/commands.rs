//! `bub-wasm mcp`, and the table of config.toml.

use super::{accepted, config_of, configure, noted, offered, script, turn, with_server};
use crate::home;
use std::fs;

#[test]
fn a_server_is_added_listed_checked_and_removed_and_the_rest_of_the_file_stays() {
    let home = home().strict();
    let before = "# my settings\nmax_steps = 7 # few\n\n[policy]\n# careful\napprove = \"auto\"\n";
    let file = home.bub_home().join("config.toml");
    fs::write(&file, before).unwrap();
    let script = script();
    let words = [
        "mcp",
        "add",
        "it",
        "--effect",
        "echo=read",
        "--env",
        "A=b",
        "--timeout",
        "9",
        "--",
        "python3",
        &script,
        "good",
    ];
    let added = home.bub(words).finish();
    assert!(added.code == Some(0) && added.stdout.contains("these are accepted"), "{added}");
    assert!(added.stdout.contains("mcp.it.echo") && added.stdout.contains("test-server 1.0"), "{added}");
    let config = fs::read_to_string(&file).unwrap();
    assert!(config.starts_with(before), "{config}");
    let table = &config_of(&home)["mcp"]["it"];
    assert_eq!(table["effects"]["echo"].as_str(), Some("read"));
    assert_eq!((table["env"]["A"].as_str(), table["timeout_seconds"].as_integer()), (Some("b"), Some(9)));
    let again = home.bub(["mcp", "add", "it", "--", "true"]).finish();
    again.refuses(&["[mcp.it]", "mcp remove it"]);
    let listed = home.bub(["mcp", "list"]).finish();
    assert!(listed.stdout.starts_with("it ") && listed.stdout.contains("5 tools"), "{listed}");
    let listed = home.bub(["mcp", "list", "--json"]).finish();
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!((&listed["servers"][0]["state"], &listed["servers"][0]["tools"]), (&"accepted".into(), &5.into()));
    assert_eq!(home.bub(["mcp", "check"]).finish().code, Some(0));
    let removed = home.bub(["mcp", "remove", "it"]).finish();
    assert_eq!(removed.code, Some(0), "{removed}");
    assert_eq!(fs::read_to_string(&file).unwrap().trim_end(), before.trim_end());
    assert!(!home.bub_home().join("mcp/it.json").exists());
    home.bub(["mcp", "remove", "it"]).finish().refuses(&["[mcp.it]", "mcp list"]);
    assert!(home.bub(["mcp", "list"]).finish().stdout.contains("bub-wasm mcp add NAME"));
}

#[test]
fn tools_that_were_not_accepted_are_not_offered_and_a_line_says_so() {
    let home = home();
    let script = script();
    let added = home.bub(["mcp", "add", "it", "--no-check", "--", "python3", &script, "good"]).finish();
    assert!(added.stdout.contains("bub-wasm mcp check it --accept"), "{added}");
    let (finished, requests) = turn(&home, &[], &[]);
    assert!(finished.stderr.contains("not used before you have accepted them: `bub-wasm mcp check it`"), "{finished}");
    assert!(!offered(&requests[0]).iter().any(|name| name.starts_with("mcp_")), "{requests:?}");
    assert_eq!(home.bub(["mcp", "check", "it"]).finish().code, Some(1));
    assert_eq!(home.bub(["mcp", "check", "it", "--accept"]).finish().code, Some(0));
    let (finished, requests) = turn(&home, &[], &[]);
    assert!(offered(&requests[0]).contains(&"mcp_it_echo"), "{finished}");
}

#[test]
fn a_list_that_somebody_changed_is_not_used() {
    let home = with_server("good", "");
    let file = home.bub_home().join("mcp/it.json");
    let list = fs::read_to_string(&file).unwrap();
    fs::write(&file, list.replace("Only looks.", "Give it all keys.")).unwrap();
    let (finished, requests) = turn(&home, &[], &[]);
    assert!(finished.stderr.contains("is not the list that was accepted"), "{finished}");
    assert!(!offered(&requests[0]).iter().any(|name| name.starts_with("mcp_")));
    fs::remove_file(&file).unwrap();
    let (finished, _) = turn(&home, &[], &[]);
    assert!(finished.stderr.contains("is missing") && finished.stderr.contains("--accept"), "{finished}");
    assert!(noted(&home, "starts").is_empty(), "no server is asked for that");
}

#[test]
fn a_server_that_is_switched_off_has_no_tools() {
    let home = with_server("good", "enabled = false");
    let (_, requests) = turn(&home, &[], &[]);
    assert!(!offered(&requests[0]).iter().any(|name| name.starts_with("mcp_")));
    home.bub(["mcp", "check", "it"]).finish().refuses(&["enabled = false"]);
    assert!(home.bub(["mcp", "list"]).finish().stdout.contains("off"));
}

#[test]
fn what_cannot_be_a_server_is_refused_in_one_line() {
    let home = home().strict();
    home.bub(["mcp", "add", "it"]).finish().refuses(&["-- COMMAND", "--url URL"]);
    for (table, named) in [
        ("[mcp.it]\n", vec!["[mcp.it]", "neither `command` nor `url`"]),
        ("[mcp.it]\ncommand = \"a\"\nurl = \"https://a.example\"\n", vec!["`command` and `url`"]),
        ("[mcp.it]\ncommand = \"\"\n", vec!["`command` is empty"]),
        ("[mcp.it]\nurl = \"ftp://a.example\"\n", vec!["ftp://a.example"]),
        ("[mcp.it]\nurl = \"https://me:pass@a.example\"\n", vec!["without a user name"]),
        ("[mcp.it]\nurl = \"https://a.example\"\nargs = [\"a\"]\n", vec!["go with `command`"]),
        ("[mcp.it]\ncommand = \"a\"\n[mcp.it.headers]\na = \"b\"\n", vec!["`headers` go with `url`"]),
        ("[mcp.it]\ncommand = \"a\"\n[mcp.it.env]\nBUB_HOME = \"b\"\n", vec!["BUB_HOME"]),
        ("[mcp.it]\ncommand = \"a\"\n[mcp.it.env]\nA = \"{{secret:A B}}\"\n", vec!["env.A", "placeholder"]),
        ("[mcp.it]\ncommand = \"a\"\n[mcp.it.effects]\na = \"none\"\n", vec!["line 4", "none"]),
        ("[mcp.it]\ncommand = \"a\"\nprotocol = \"2020\"\n", vec!["2020", "2025-06-18"]),
        ("[mcp.it]\ncommand = \"a\"\ntimeout_seconds = 0\n", vec!["timeout_seconds"]),
        ("[mcp.it]\ncomand = \"a\"\n", vec!["comand", "did you mean `command`"]),
        ("[mcp.It_1]\ncommand = \"a\"\n", vec!["It_1", "lower-case"]),
    ] {
        fs::write(home.bub_home().join("config.toml"), table).unwrap();
        home.run(["hello"]).finish().refuses(&named);
    }
    fs::remove_file(home.bub_home().join("config.toml")).unwrap();
    for name in ["A", "a_b", "-a", "a234567890123456789012345", ""] {
        assert_eq!(home.bub(["mcp", "add", "--no-check", name, "--", "true"]).finish().code, Some(2), "{name}");
    }
    assert!(!home.bub_home().join("config.toml").exists(), "nothing was written");
}

#[test]
fn a_program_that_is_not_there_is_named_and_stays_added() {
    let home = home();
    let added = home.bub(["mcp", "add", "it", "--", "no-such-program-of-the-test"]).finish();
    assert_eq!(added.code, Some(1), "{added}");
    assert!(added.stderr.contains("there is no program `no-such-program-of-the-test`"), "{added}");
    assert!(added.stderr.contains("bub-wasm mcp check it --accept"), "{added}");
    assert!(config_of(&home)["mcp"]["it"].get("digest").is_none());
    let checked = home.bub(["mcp", "check"]).finish();
    assert!(checked.code == Some(1) && checked.stderr.contains("no-such-program-of-the-test"), "{checked}");
}

#[test]
fn a_reload_adds_the_tools_of_a_server_to_a_serve_that_runs() {
    use bub_tests::{Answer, Serve, Server};
    let home = home();
    accepted();
    let model = Server::ruled(|_| Answer::text("done"));
    let serve = Serve::start(home.bub(["serve", "--listen", "127.0.0.1:0"]).model(&model), &home.bub_home());
    let say = || serve.post("/v1/turns", &serde_json::json!({ "content": "hello", "session_id": "http:s" }));
    say();
    configure(&home, &format!("command = \"python3\"\nargs = [\"{}\"]\n", script()));
    serve.program().hang_up();
    let begun = std::time::Instant::now();
    loop {
        say();
        let last = model.requests().pop().unwrap().json();
        if offered(&last).contains(&"mcp_it_echo") {
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "{}", serve.program().told());
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

#[test]
fn doctor_says_what_is_wrong_with_a_server_without_starting_it() {
    let home = super::with_server("good", "");
    let well = home.bub(["doctor"]).finish();
    assert!(well.stdout.contains("ok    mcp server `it`: 5 tools accepted"), "{well}");
    assert_eq!(super::noted(&home, "starts"), [""; 0], "no server is started");
    for (table, said) in [
        ("command = \"no-such-program-\\u001b[2J\"", "wrong mcp server `other`: the program `no-such-program-"),
        ("command = \"/etc/passwd\"", "the program `/etc/passwd` was not found"),
        (
            "url = \"https://example.org/mcp\"\n[mcp.other.headers]\nAuthorization = \"Bearer {{secret:gone}}\"",
            "the secret `gone` does not exist; to set it: bub-wasm secret set gone",
        ),
        ("url = \"https://example.org/mcp\"", "note  mcp server `other`: none of its tools is accepted"),
        ("url = \"https://example.org/mcp\"\ndigest = \"00\"", "mcp/other.json` is missing; to accept its tools again"),
    ] {
        let home = super::with_server("good", &format!("[mcp.other]\n{table}"));
        let found = home.bub(["doctor"]).finish();
        assert!(found.stdout.contains(said) && !found.stdout.contains('\u{1b}'), "{said}: {found}");
        assert_eq!(found.code, Some(i32::from(!said.starts_with("note"))), "{found}");
    }
}
