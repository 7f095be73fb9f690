//! Signed heads at another `bub-wasm`.

use super::{SESSION, audit, is_whole};
use crate::home;
use crate::serve::{echo, serve, token_of};
use bub_tests::listener::Listener;
use bub_tests::{Home, Serve};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// The list of the witness for that token.
fn list(witness: &Home, name: &str) -> String {
    fs::read_to_string(witness.bub_home().join("witness").join(format!("{name}.jsonl"))).unwrap_or_default()
}

/// Has the home's heads witnessed there, and returns the address.
fn witnessed_by(home: &Home, base: &str, token: &str) -> String {
    let url = format!("{base}/v1/witness");
    home.configure(&format!(
        "[audit]\nwitness = \"{url}\"\n[audit.witness_headers]\nauthorization = \"Bearer {{{{secret:witness}}}}\""
    ));
    let secrets = home.bub_home().join("secrets.toml");
    fs::write(&secrets, format!("[witness]\nvalue = \"{token}\"\nhosts = [\"127.0.0.1\"]\n")).expect("a file");
    fs::set_permissions(&secrets, fs::Permissions::from_mode(0o600)).expect("its rights can be set");
    url
}

fn heads(home: &Home) -> String {
    fs::read_to_string(home.bub_home().join("audit/heads.jsonl")).expect("heads")
}

fn base(serve: &Serve<'_>) -> String {
    serve.base().to_owned()
}

#[test]
fn a_serve_witnesses_the_heads_of_another_home_and_knows_the_end_that_was_cut_off_there() {
    let (witness, own, model) = (home(), home(), echo());
    let token = token_of(&witness, "own", "anonymous", "\"witness\"", "");
    let serve = serve(&witness, &model);
    let about = serve.strange("GET", "/v1/me").token(&token).send();
    assert_eq!(about.ok()["scopes"], serde_json::json!(["witness"]));
    let url = witnessed_by(&own, &base(&serve), &token);
    own.run(["one"]).finish().answers();
    assert_eq!(list(&witness, "own"), heads(&own));
    let tapes: Vec<_> = fs::read_dir(own.tapes_dir()).expect("tapes").flatten().map(|file| file.path()).collect();
    let files = tapes.into_iter().filter(|path| path.is_file()).chain([own.bub_home().join("audit/heads.jsonl")]);
    let before: Vec<_> = files.map(|path| (path.clone(), fs::read(path).expect("a file"))).collect();
    own.run(["two"]).finish().answers();
    let whole = audit(&own, &["verify", "--witness", &url, SESSION]);
    assert_eq!(whole.code, Some(0), "{whole}");
    assert!(whole.stdout.contains("; witnessed at record "), "{whole}");
    let witnessed = list(&witness, "own");
    assert_eq!(witnessed, heads(&own));
    // The home goes back to its state of before, signatures included.
    for (path, bytes) in &before {
        fs::write(path, bytes).expect("it can be written");
    }
    for file in fs::read_dir(own.tapes_dir()).expect("tapes").flatten() {
        let is_new = file.path().is_file() && !before.iter().any(|(path, _)| *path == file.path());
        if is_new {
            fs::remove_file(file.path()).expect("it can be removed");
        }
    }
    is_whole(&own);
    let found = audit(&own, &["verify", "--witness", &url, SESSION]);
    assert_eq!(found.code, Some(1), "{found}");
    assert!(found.stdout.contains("of the witness and what followed was cut off"), "{found}");
    // Another history is signed, and the witness keeps the first one.
    own.run(["three"]).finish().answers();
    own.run(["four"]).finish().answers();
    let doctor = own.bub(["doctor"]).finish();
    assert!(doctor.stdout.contains("it answers `409 Conflict`"), "{doctor}");
    assert_eq!(list(&witness, "own"), witnessed);
}

#[test]
fn a_witness_takes_heads_alone_from_those_who_may_and_each_once() {
    let (witness, own, model) = (home(), home(), echo());
    let token = token_of(&witness, "own", "anonymous", "\"witness\"", "");
    let turns = token_of(&witness, "speaker", "anonymous", "\"turns\", \"read\"", "");
    let serve = serve(&witness, &model);
    own.run(["one"]).finish().answers();
    own.run(["two"]).finish().answers();
    own.run(["three"]).finish().answers();
    let heads = heads(&own);
    let send = |token: &str, body: &str| {
        let asked = serve.ask("POST", "/v1/witness").token(token).header("content-type", "application/x-ndjson");
        asked.body(body).send()
    };
    send(&turns, &heads).refused(403, "`witness`");
    serve.ask("GET", "/v1/witness").token(&turns).send().refused(403, "`witness`");
    let lines: Vec<&str> = heads.split_inclusive('\n').collect();
    assert!(lines.len() > 2, "{heads}");
    for wrong in [
        "",
        "\n",
        "hello\n",
        "{\"head\": 1, \"sig\": \"\"}\n",
        &lines[1..].concat().replacen("\"seq\":", "\"sec\":", 1),
    ] {
        send(&token, wrong).refused(400, "is no signed head that names the line before it");
    }
    send(&token, &[lines[0], lines[2]].concat()).refused(400, "line 2 is no signed head");
    let added = |said: Value| said["added"].as_u64();
    assert_eq!(added(send(&token, lines[0]).ok()), Some(1));
    send(&token, lines[2]).refused(409, "goes on differently");
    // Of what it has already nothing is added, as after an answer that was lost.
    assert_eq!(added(send(&token, &lines[..2].concat()).ok()), Some(1));
    assert_eq!(added(send(&token, lines[0]).ok()), Some(0));
    assert_eq!(added(send(&token, &heads).ok()), Some(lines.len() as u64 - 2));
    assert_eq!(list(&witness, "own"), heads);
    let behind = format!("/v1/witness?from={}", lines[0].len());
    let read = serve.ask("GET", &behind).token(&token).send();
    assert_eq!((read.status, &*read.body), (200, &*lines[1..].concat()));
    assert_eq!(read.header("bub-witness-bytes"), Some(&*heads.len().to_string()));
    let read = serve.ask("GET", "/v1/witness?from=18446744073709551615").token(&token).send();
    assert!(read.status == 200 && read.body.is_empty(), "{read:?}");
}

/// What `audit verify` says of a witness that answers so.
#[track_caller]
fn of_answer(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static, code: i32, with: &str) {
    let own = home();
    own.run(["one"]).finish().answers();
    let heads = heads(&own);
    let listener = Listener::new(move |_| answer(&heads));
    let url = witnessed_by(&own, &listener.base(), "a-token-that-is-long-enough");
    let found = audit(&own, &["verify", "--witness", &url]);
    assert_eq!(found.code, Some(code), "{found}");
    assert!(found.stdout.contains(with) || found.stderr.contains(with), "{with}: {found}");
}

fn answered(headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{headers}\r\n{body}").into_bytes()
}

#[test]
fn a_witness_that_lies_or_is_away_or_answers_too_much_is_named() {
    let whole = |heads: &str| answered(&format!("content-length: {}\r\n", heads.len()), heads);
    of_answer(move |heads| whole(heads), 0, "; witnessed at record ");
    of_answer(move |_| whole("an invented line\n"), 1, "no key of this home has signed it");
    of_answer(move |heads| whole(&heads.replace("\"seq\":", "\"seq\": ")), 1, "no key of this home has signed it");
    of_answer(|_| answered("content-length: 10000000000\r\n", "{"), 1, "it answers more than 64 MiB");
    of_answer(
        |_| b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_vec(),
        1,
        "302 Found",
    );
    of_answer(|_| Vec::new(), 1, "cannot be read");
    // A list that grows with each part is not followed without end: it is asked for again behind what it has.
    of_answer(|_| answered("bub-witness-bytes: 99999999\r\ncontent-length: 0\r\n", ""), 0, "not witnessed");
    let slow = |_: &str| {
        std::thread::sleep(Duration::from_secs(12));
        Vec::new()
    };
    of_answer(slow, 1, "it does not answer within 10 s");
}

#[test]
fn an_address_that_the_configuration_does_not_name_gets_no_request() {
    let own = home();
    own.run(["one"]).finish().answers();
    let listener = Listener::new(|_| "");
    let other = format!("{}/v1/witness", listener.base());
    audit(&own, &["verify", "--witness", &other]).fails("is not the `witness` in `[audit]` of config.toml");
    assert!(listener.heard().is_empty());
}
