//! Logins to servers by OAuth. The browser is Python's `urllib`, which follows redirects as a browser does.

use super::{Web, config_of, configure, kept, noted, result, script, secret};
use crate::home;
use bub_tests::{Finished, Home};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

/// A home with a server over HTTP that refuses requests without a login. Tokens are valid for so many seconds.
fn with_logins(habit: &str, seconds: u32) -> (Home, Web) {
    let home = home();
    let web = Web::with(&home, &["--logins", &seconds.to_string(), habit]);
    configure(&home, &format!("url = \"{}\"", web.base));
    (home, web)
}

fn browse(address: &str) -> String {
    let code = "import sys, urllib.request, urllib.error\ntry:\n    print(urllib.request.urlopen(sys.argv[1]).read().decode())\nexcept urllib.error.HTTPError as error:\n    print(error.code, error.read().decode())";
    let output = Command::new("python3").args(["-c", code, address]).output().expect("Python starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Logs in, with a browser that opens the address.
fn log_in(home: &Home, more: &[&str]) -> Finished {
    let program = home.bub(["mcp", "login", "it"].into_iter().chain(more.iter().copied())).start();
    program.prints("code_challenge_method=S256");
    let printed = program.printed();
    let address = printed.lines().find(|line| line.starts_with("http")).expect("the address");
    let page = browse(address);
    assert!(page.contains("You can close this page"), "{page}");
    program.finish()
}

#[test]
fn after_a_login_in_a_browser_the_tools_of_a_server_are_used() {
    let (home, _web) = with_logins("good", 3600);
    let (said, _) = result(&home, "mcp_it_echo", r#"{"say":"hello"}"#);
    assert!(said.contains("log in with `bub-wasm mcp login`"), "{said}");
    let finished = log_in(&home, &[]);
    assert!(finished.code == Some(0) && finished.stdout.contains("the token is the secret `mcp-it`"), "{finished}");
    assert_eq!(result(&home, "mcp_it_echo", r#"{"say":"hello"}"#).0, "echo: hello");
    assert_eq!(config_of(&home)["mcp"]["it"]["headers"]["Authorization"].as_str(), Some("Bearer {{secret:mcp-it}}"));
    let listed = home.bub(["secret", "list"]).finish();
    assert!(listed.stdout.contains("mcp-it") && listed.stdout.contains("127.0.0.1"), "{listed}");
    let client: serde_json::Value = serde_json::from_str(&noted(&home, "clients")[0]).unwrap();
    assert_eq!(client["client_name"], "bub-wasm");
    // Only the two files of the login hold a token, and no other user can read them.
    let issued = noted(&home, "issued");
    let tokens: Vec<&str> = issued[0].split(' ').collect();
    for file in ["it.token", "it.login.json"] {
        let path = home.bub_home().join("mcp").join(file);
        assert!(fs::read_to_string(&path).unwrap().contains(tokens[0]), "{file}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::remove_file(&path).unwrap();
    }
    let kept = kept(&home);
    assert!(tokens.iter().all(|token| !kept.contains(token)), "{kept}");
}

#[test]
fn a_token_that_ends_is_renewed_and_a_login_that_ends_says_so() {
    let (home, _web) = with_logins("good", 2);
    assert_eq!(log_in(&home, &[]).code, Some(0));
    std::thread::sleep(Duration::from_millis(2100));
    assert_eq!(result(&home, "mcp_it_echo", r#"{"say":"1"}"#).0, "echo: 1");
    assert!(noted(&home, "tokens").len() >= 2, "{:?}", noted(&home, "tokens"));
    let grants = noted(&home, "tokens");
    assert!(grants[1..].iter().all(|grant| grant == "refresh_token"), "{grants:?}");
    let (home, _web) = with_logins("login-ends", 1);
    assert_eq!(log_in(&home, &[]).code, Some(0));
    std::thread::sleep(Duration::from_millis(1100));
    let (said, _) = result(&home, "mcp_it_echo", r#"{"say":"1"}"#);
    assert!(said.contains("the login has ended; to log in again: bub-wasm mcp login it"), "{said}");
}

#[test]
fn calls_of_several_processes_renew_one_login_without_losing_it() {
    let (home, _web) = with_logins("good", 2);
    assert_eq!(log_in(&home, &[]).code, Some(0));
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(2100));
        std::thread::scope(|scope| {
            let call = || home.run([",mcp.it.echo say=1"]).finish();
            let calls: Vec<_> = (0..3).map(|_| scope.spawn(call)).collect();
            for call in calls {
                call.join().expect("a call ends").says("[cli:local]\necho: 1\n");
            }
        });
    }
}

#[test]
fn a_logout_and_a_removal_take_the_token_away() {
    let (home, _web) = with_logins("good", 3600);
    assert_eq!(log_in(&home, &[]).code, Some(0));
    let out = home.bub(["mcp", "logout", "it"]).finish();
    assert!(out.code == Some(0) && out.stdout.contains("is removed here"), "{out}");
    assert!(!home.bub_home().join("mcp/it.token").exists());
    assert!(config_of(&home)["mcp"]["it"].get("headers").is_none_or(|headers| headers.get("Authorization").is_none()));
    home.bub(["mcp", "logout", "it"]).finish().refuses(&["there is no login to server `it`"]);
    assert_eq!(log_in(&home, &[]).code, Some(0));
    assert_eq!(home.bub(["mcp", "remove", "it"]).finish().code, Some(0));
    assert!(!home.bub_home().join("mcp/it.token").exists() && !home.bub_home().join("mcp/it.login.json").exists());
    assert!(!home.bub(["secret", "list"]).finish().stdout.contains("mcp-it"));
}

#[test]
fn a_client_that_was_registered_by_hand_has_an_id_and_a_secret() {
    let (home, _web) = with_logins("login-by-hand", 3600);
    let refused = home.bub(["mcp", "login", "it"]).finish();
    refused.refuses(&["no login to server `it`"]);
    secret(&home, "client", "s3cret-of-the-client", &[]);
    let finished = log_in(&home, &["--client-id", "known", "--client-secret", "client", "--scope", "tools"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(result(&home, "mcp_it_echo", r#"{"say":"hello"}"#).0, "echo: hello");
}

#[test]
fn a_server_with_bad_habits_gets_no_login_and_the_user_one_line() {
    for (habit, said) in [
        ("login-no-pkce", "no login to server `it`"),
        ("login-private", "no login to server `it`"),
        ("login-plain", "no login to server `it`"),
        ("login-flood", "no login to server `it`"),
        ("login-html", "no login to server `it`"),
    ] {
        let (home, _web) = with_logins(habit, 3600);
        home.bub(["mcp", "login", "it"]).finish().refuses(&[said]);
        assert!(!home.bub_home().join("mcp/it.token").exists(), "{habit}");
    }
    for habit in ["login-denied", "login-other-issuer"] {
        let (home, _web) = with_logins(habit, 3600);
        let finished = log_in(&home, &[]);
        assert_eq!(finished.code, Some(1), "{habit}: {finished}");
        assert!(finished.stderr.contains("no login to server `it`"), "{finished}");
        assert!(!finished.stderr.contains('\u{1b}') && finished.stderr.len() < 1200, "{finished}");
        assert!(!home.bub_home().join("mcp/it.token").exists());
    }
}

#[test]
fn a_program_a_taken_name_and_a_taken_port_are_refused_before_anything_is_asked() {
    let (home, _web) = with_logins("good", 3600);
    secret(&home, "mcp-it", "my-own-secret", &[]);
    home.bub(["mcp", "login", "it"]).finish().refuses(&["there is a secret `mcp-it` already"]);
    home.bub(["secret", "remove", "mcp-it"]).finish();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    home.bub(["mcp", "login", "it", "--port", &port]).finish().refuses(&["port `", "of 127.0.0.1"]);
    home.bub(["mcp", "login", "other"]).finish().refuses(&["there is no server `[mcp.other]`"]);
    let program = home;
    program.configure(&format!("[mcp.prog]\ncommand = \"python3\"\nargs = [{:?}]", script()));
    program.bub(["mcp", "login", "prog"]).finish().refuses(&["is a program, which has no login"]);
}
