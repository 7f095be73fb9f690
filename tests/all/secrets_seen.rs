//! A planted key is looked for everywhere: in what is printed, logged, written down, and in what a guest can see.

use crate::home;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bub_tests::listener::{Listener, response};
use bub_tests::{Answer, Finished, Home, Run, Server, programs};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// With everything in it that some spelling escapes.
const KEY: &str = "pl4nted\"key\\with/all+of=it";

/// The spellings in which the key could come back.
fn spellings() -> [String; 12] {
    let json = serde_json::Value::from(KEY).to_string();
    let percent: String = KEY
        .bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { (byte as char).to_string() } else { format!("%{byte:02X}") })
        .collect();
    let json = json.trim_matches('"').to_owned();
    let each = |spell: fn(u8) -> String| KEY.bytes().map(spell).collect::<String>();
    [
        KEY.to_owned(),
        json.replace('/', "\\/"),
        json,
        KEY.to_uppercase(),
        KEY.chars().rev().collect(),
        each(|byte| format!("{byte:02x}")),
        each(|byte| format!("{byte:02X}")),
        each(|byte| format!("\\u{byte:04x}")),
        each(|byte| format!("&#{byte};")),
        each(|byte| format!("&#x{byte:x};")),
        percent,
        STANDARD.encode(KEY),
    ]
}

#[track_caller]
fn is_not_in(place: &str, text: &str) {
    for spelling in spellings() {
        let at = text.find(&spelling);
        let around =
            at.map(|at| text.get(at.saturating_sub(200)..).unwrap_or(text).chars().take(400).collect::<String>());
        assert!(at.is_none(), "the key is in {place}, as `{spelling}`: {around:?}");
    }
}

/// In nothing that was said, and in no file but those that the user wrote it into.
#[track_caller]
fn is_nowhere(home: &Home, finished: &Finished) {
    is_not_in("stdout", &finished.stdout);
    is_not_in("stderr", &finished.stderr);
    // A guest's log line is JSON inside JSON, which parsing once would unescape.
    for seen in finished.saw() {
        is_not_in("what a guest saw", &format!("{seen}"));
        is_not_in("what a guest saw", seen["try"]["ok"].as_str().unwrap_or_default());
        is_not_in("what a guest saw", seen["try"]["message"].as_str().unwrap_or_default());
    }
    is_in_no_file(&home.bub_home());
    is_in_no_file(&home.workspace());
}

#[track_caller]
fn is_in_no_file(dir: &Path) {
    for entry in fs::read_dir(dir).expect("it can be listed").flatten() {
        let path = entry.path();
        if path.is_dir() {
            is_in_no_file(&path);
        } else if !matches!(entry.file_name().to_str(), Some(".env" | "secrets.toml")) {
            is_not_in(&path.display().to_string(), &String::from_utf8_lossy(&fs::read(&path).expect("it is ours")));
        }
    }
}

/// `$BUB_HOME/secrets.toml`, closed to others.
fn keep(home: &Home, name: &str, hosts: &str) {
    let file = home.bub_home().join("secrets.toml");
    let value = toml::Value::from(KEY);
    fs::write(&file, format!("[{name}]\nvalue = {value}\nhosts = {hosts}\n")).expect("the home can be written");
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).expect("it is ours");
}

/// As loud as it gets, with compiled code where it can be looked at.
fn loud<'home>(home: &'home Home, run: Run<'home>) -> Run<'home> {
    run.env("BUB_VERBOSE", "2").env("RUST_LOG", "trace").env("BUB_CACHE", home.bub_home().join("cache"))
}

/// An error of a server, with that body.
fn error(status: u16, body: String) -> Answer {
    Answer::Whole(status, "application/json", body)
}

/// Errors that repeat the key as it is, and as JSON holds it.
fn echoes() -> Vec<Answer> {
    let [plain, slashed, json, ..] = spellings();
    vec![
        error(400, format!("{{\"error\": {{\"message\": \"bad key {json}\", \"type\": \"auth\"}}}}")),
        error(401, format!("{{\"error\": {{\"message\": \"bad key {slashed}\"}}}}")),
        error(403, format!("{{\"error\": \"Bearer {json}\"}}")),
        error(404, format!("<html><h1>{plain}</h1></html>")),
        error(422, format!("not json: {plain}")),
        error(500, format!("{{\"error\": {{\"message\": \"failed with {json}\"}}}}")),
        error(500, format!("failed with {plain}")),
    ]
}

/// A turn whose model answers with each of these errors, whatever is asked again: the key is nowhere.
#[track_caller]
fn a_model_that_fails_with(echoes: Vec<Answer>, prepare: impl Fn(&Home), key: impl for<'a> Fn(Run<'a>) -> Run<'a>) {
    let home = home();
    prepare(&home);
    for echo in echoes {
        let server = Server::new(std::iter::repeat_n(echo.clone(), 10));
        let run = home.run(["hi"]).env("BUB_MODEL", "openai:fake-model").env("BUB_API_BASE", server.base());
        let finished = loud(&home, key(run)).finish();
        assert_eq!(finished.code, Some(1), "{finished}");
        let request = &server.requests()[0];
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()), "the key is in use");
        is_nowhere(&home, &finished);
    }
}

#[track_caller]
fn a_model_that_echoes(prepare: impl Fn(&Home), key: impl for<'a> Fn(Run<'a>) -> Run<'a>) {
    a_model_that_fails_with(echoes(), prepare, key);
}

#[test]
fn a_models_key_of_the_environment_is_nowhere_even_when_the_server_repeats_it() {
    a_model_that_echoes(|_| {}, |run| run.env("BUB_API_KEY", KEY));
}

#[test]
fn a_models_key_of_its_provider_is_nowhere_even_when_the_server_repeats_it() {
    a_model_that_echoes(|_| {}, |run| run.env("BUB_OPENAI_API_KEY", KEY));
}

#[test]
fn a_models_key_of_the_file_of_variables_is_nowhere_even_when_the_server_repeats_it() {
    let file = |home: &Home| {
        fs::write(home.bub_home().join(".env"), format!("BUB_API_KEY='{KEY}'\n")).expect("the home can be written");
    };
    a_model_that_echoes(file, |run| run);
}

#[test]
fn a_models_key_that_is_a_secret_is_nowhere_even_when_the_server_repeats_it() {
    a_model_that_echoes(|home| keep(home, "openai", "[\"127.0.0.1\"]"), |run| run);
}

#[test]
fn a_models_key_that_the_server_encodes_is_nowhere() {
    let [_, slashed, json, .., percent, base64] = spellings();
    let others = spellings()[3..10].join(" ");
    let echoes = vec![
        // As JSON, in what is none.
        error(400, format!("cut off: {{\"key\": \"{json}\"")),
        error(400, format!("cut off: {{\"key\": \"{slashed}\"")),
        error(400, format!("{{\"error\": {{\"message\": \"see /?key={percent}\"}}}}")),
        error(403, format!("{{\"error\": {{\"message\": \"Basic {base64}\"}}}}")),
        error(422, others),
    ];
    a_model_that_fails_with(echoes, |_| {}, |run| run.env("BUB_API_KEY", KEY));
}

/// The model's text can hold the key only if the server sends it.
#[test]
fn a_models_key_that_the_server_streams_is_not_on_the_tape() {
    let home = home();
    let server = Server::new([Answer::text(&format!("your key is {KEY}, is it not"))]);
    let run = home.run(["hi"]).env("BUB_MODEL", "openai:fake-model").env("BUB_API_BASE", server.base());
    let finished = run.env("BUB_API_KEY", KEY).finish();
    is_nowhere(&home, &finished);
}

/// `trier`, which uses the secret `door` toward `echo` and says all that it can see.
fn with_dump(echo: &Listener) -> Home {
    let home = home();
    let grants = format!(
        "[\"secret:door\", \"http:{}\", \"agent\", \"tape:read\", \"tape:append\", \"model:*\", \"tools:*\", \"process\"]",
        echo.base()
    );
    home.configure(&format!("[plugins.trier]\ngrants = {grants}"));
    let url = format!("{}/path?query", echo.base());
    home.configure(&format!(
        "[plugins.trier.config]\necho = \"{url}\"\ntries = [\"secret:door\", \"dump\", \"process\"]"
    ));
    home.configure("[plugins.trier.config]\ncommand = \"env\"");
    home.plugin("trier", programs::TRIER);
    home
}

/// The guest's secret comes back in this answer, and appears in no output.
#[track_caller]
fn an_answer_that_echoes(answer: impl Fn(&str) -> String + Send + Sync + 'static) {
    let echo = Listener::new(answer);
    let home = with_dump(&echo);
    keep(&home, "door", "[\"127.0.0.1\"]");
    let run = home.run(["hi"]).env("BUB_API_KEY", KEY).env("BUB_SECRET_OTHER", format!("{KEY}-other"));
    let finished = loud(&home, run).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    let heard = echo.heard();
    assert_eq!(heard.len(), 1, "{heard:?}\n{finished}");
    assert!(heard[0].contains(&format!("Bearer {KEY}")), "the secret is in use: {heard:?}");
    let body = heard[0].split_once("\r\n\r\n").map_or("", |(_, body)| body);
    assert!(body.contains("{{secret:door}}") && !body.contains(KEY), "a body is left as it is: {body}");
    let tried = finished.saw_hook("run-model");
    assert_eq!(tried.len(), 3, "{finished}");
    assert!(tried.iter().all(|tried| tried["try"]["ok"].is_string()), "{finished}");
    assert!(finished.stderr.contains("dumped: view: "), "a selector looked as well\n{finished}");
    let seen = tried[0]["try"]["ok"].as_str().unwrap_or_default();
    assert!(seen.contains("***"), "the response was redacted: {seen}");
    is_nowhere(&home, &finished);
}

#[test]
fn a_secret_echoed_in_headers_and_body_is_redacted() {
    an_answer_that_echoes(|request| response(200, &format!("x-echo: {KEY}\r\nx-{}: 1\r\n", "plain"), request));
}

#[test]
fn a_secret_echoed_as_json_is_redacted() {
    an_answer_that_echoes(|request| {
        let [_, slashed, json, ..] = spellings();
        let body = serde_json::json!({ "request": request }).to_string();
        response(200, "content-type: application/json\r\n", &format!("{body} {slashed} {json}"))
    });
}

#[test]
fn a_secret_echoed_with_an_encoding_is_redacted() {
    an_answer_that_echoes(|_| {
        let [.., percent, base64] = spellings();
        response(200, &format!("location: /?key={percent}\r\n"), &format!("{percent} {base64}"))
    });
}

#[test]
fn a_secret_echoed_in_hexadecimal_references_escapes_or_reversed_is_redacted() {
    an_answer_that_echoes(|_| {
        let all = spellings();
        response(200, &format!("x-echo: {}\r\nx-case: {}\r\n", all[5], all[3]), &all[3..].join(" "))
    });
}

#[test]
fn a_secret_echoed_in_an_error_page_is_redacted() {
    an_answer_that_echoes(|request| {
        response(500, "content-type: text/html\r\n", &format!("<h1>{KEY}</h1><pre>{request}</pre>"))
    });
}

#[test]
fn a_secret_echoed_in_chunks_is_redacted() {
    an_answer_that_echoes(|_| {
        let (head, tail) = KEY.split_at(9);
        let chunks = format!("{:x}\r\n{head}\r\n{:x}\r\n{tail}\r\n0\r\n\r\n", head.len(), tail.len());
        format!("HTTP/1.1 200 fine\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n{chunks}")
    });
}

#[test]
fn a_secret_is_not_sent_to_other_hosts() {
    let echo = Listener::new(|request| response(200, "", request));
    let home = with_dump(&echo);
    keep(&home, "door", "[\"example.com\"]");
    let finished = loud(&home, home.run(["hi"])).finish();
    assert!(echo.heard().iter().all(|request| !request.contains(KEY)), "{:?}\n{finished}", echo.heard());
    assert!(echo.heard().is_empty(), "a packet was sent: {:?}\n{finished}", echo.heard());
    is_nowhere(&home, &finished);
}

#[test]
fn a_secret_that_was_not_granted_sends_no_packet() {
    let echo = Listener::new(|request| response(200, "", request));
    let home = with_dump(&echo);
    keep(&home, "door", "[\"127.0.0.1\"]");
    home.configure(&format!("[plugins.trier]\ngrants = [\"http:{}\"]", echo.base()));
    let finished = loud(&home, home.run(["hi"])).finish();
    assert!(echo.heard().is_empty(), "a packet was sent: {:?}\n{finished}", echo.heard());
    let refused = &finished.saw_hook("run-model")[0]["try"];
    assert_eq!(refused["kind"], "Denied", "{refused}\n{finished}");
    is_nowhere(&home, &finished);
}
