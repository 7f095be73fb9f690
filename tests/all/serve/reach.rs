//! Authorization: scopes, and the sessions that a token reaches.

use super::{echo, say, serve, token};
use crate::home;
use serde_json::{Value, json};

#[test]
fn without_the_right_token_nothing_is_answered() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let paths = ["/metrics", "/v1/models", "/v1/sessions", "/v1/tapes", "/v1/plugins", "/v1/hooks", "/v1/events"];
    for path in paths.into_iter().chain(["/v1/tapes/a__b/entries", "/v1/tapes/a__b/query", "/v1/sessions/a/context"]) {
        serve.strange("GET", path).send().refused(401, "a token is needed");
        let short = &serve.token()[..serve.token().len() - 1];
        for token in ["", "x", short, &format!("{}x", serve.token())] {
            serve.strange("GET", path).token(token).send().refused(401, "a token is needed");
        }
        let said = serve.strange("GET", path).header("authorization", "Basic b3duZXI6").send();
        assert_eq!(said.refused(401, "a token is needed").header("www-authenticate"), Some("Bearer"));
    }
    let said = serve.strange("POST", "/v1/turns").json(&json!({ "content": "hi" })).send();
    said.refused(401, "a token is needed");
    assert!(model.requests().is_empty());
}

#[test]
fn a_token_is_limited_to_its_scopes() {
    let (home, model) = (home(), echo());
    let speaker = token(&home, "speaker", "\"turns\"", "");
    let reader = token(&home, "reader", "\"read\"", "");
    let serve = serve(&home, &model);
    say(&serve, "http:a", "hello");
    let turn = json!({ "content": "hi", "session_id": "http:a" });
    let completion = json!({ "messages": [{ "role": "user", "content": "hi" }] });
    assert_eq!(serve.ask("POST", "/v1/turns").token(&speaker).json(&turn).send().status, 200);
    assert_eq!(serve.ask("POST", "/v1/chat/completions").token(&speaker).json(&completion).send().status, 200);
    serve.ask("POST", "/v1/turns").token(&reader).json(&turn).send().refused(403, "`turns`");
    serve.ask("POST", "/v1/chat/completions").token(&reader).json(&completion).send().refused(403, "`turns`");
    let paths = ["/v1/sessions", "/v1/sessions/http:a/entries", "/v1/tapes", "/v1/plugins", "/v1/hooks", "/metrics"];
    for path in paths.into_iter().chain(["/v1/tapes/a__b/query"]) {
        assert_eq!(serve.ask("GET", path).token(&reader).send().status, 200, "{path}");
        serve.ask("GET", path).token(&speaker).send().refused(403, "`read`");
    }
    serve.ask("GET", "/v1/events").token(&speaker).send().refused(403, "`read`");
    let write = serve.ask("POST", "/v1/tapes/a__b/entries").header("content-type", "application/jsonl");
    write.token(&reader).body("{\"key\":null,\"batches\":0}\n").send().refused(403, "`admin`");
}

#[test]
fn a_message_is_a_command_only_with_an_admin_token() {
    let (home, model) = (home(), echo());
    let speaker = token(&home, "speaker", "\"turns\"", "");
    let serve = serve(&home, &model);
    let command = json!({ "content": ",help", "session_id": "http:a" });
    let said = serve.ask("POST", "/v1/turns").token(&speaker).json(&command).send().ok();
    assert_eq!(said["model_output"], "you said: ,help", "it is a message like any other");
    let said = serve.post("/v1/turns", &command);
    assert!(said["model_output"].as_str().unwrap().contains(",help"), "{said}");
    assert_eq!(model.requests().len(), 1, "and a command asks no model");
}

#[test]
fn a_token_reaches_the_sessions_of_its_prefix_and_their_tapes_alone() {
    let (home, model) = (home(), echo());
    let ada = token(&home, "ada", "\"turns\", \"read\"", "ada/");
    let admin = token(&home, "boss", "\"admin\"", "ada/");
    let serve = serve(&home, &model);
    say(&serve, "ada/one", "hello");
    say(&serve, "bob/one", "a secret of bob");
    let tape = |session: &str| home.tape_file(session).file_stem().unwrap().to_str().unwrap().to_owned();
    let (own, other) = (tape("ada/one"), tape("bob/one"));
    for token in [&ada, &admin] {
        let get = |path: &str| serve.ask("GET", path).token(token).send();
        let listed = get("/v1/sessions").ok();
        let ids: Vec<&Value> = listed["sessions"].as_array().unwrap().iter().map(|row| &row["session_id"]).collect();
        assert_eq!(ids, ["ada/one"]);
        assert_eq!(get("/v1/sessions/ada%2Fone/entries").status, 200);
        assert_eq!(get(&format!("/v1/tapes/{own}/entries")).status, 200);
        assert_eq!(get(&format!("/v1/tapes/{own}__sidecar__notes/entries")).status, 200);
        assert_eq!(get(&format!("/v1/tapes/{own}/query?texts=%5B%22hello%22%5D")).status, 200);
        for what in ["/query", "/query?texts=%5B%22secret%22%5D&newest_first=true"] {
            let theirs = get(&format!("/v1/tapes/{other}{what}"));
            theirs.refused(403, "does not reach this tape");
            let missing = get(&format!("/v1/tapes/0123456789abcdef__0123456789abcdef{what}"));
            assert_eq!(missing.body, theirs.body, "a missing tape is reported as another's");
            get(&format!("/v1/tapes/{other}__sidecar__notes{what}")).refused(403, "does not reach this tape");
        }
        for what in ["", "/entries", "/anchors", "/context", "/search?q=secret"] {
            get(&format!("/v1/sessions/bob%2Fone{what}")).refused(403, "begin with `ada/`");
            let theirs = get(&format!("/v1/tapes/{other}{what}"));
            theirs.refused(403, "does not reach this tape");
            let missing = get(&format!("/v1/tapes/0123456789abcdef__0123456789abcdef{what}"));
            assert_eq!(missing.body, theirs.body, "a missing tape is reported as another's");
        }
        for what in ["newest?phase=true", "sidecars", "archive-name"] {
            get(&format!("/v1/tapes/{other}/{what}")).refused(403, "does not reach this tape");
        }
        get(&format!("/v1/tapes/{other}__sidecar__notes/entries")).refused(403, "does not reach this tape");
        get("/v1/tapes").refused(403, "`/v1/sessions` lists them");
    }
    let write = |token: &str, tape: &str| {
        let ask = serve.ask("POST", &format!("/v1/tapes/{tape}/entries")).header("content-type", "application/jsonl");
        ask.token(token).body("{\"key\":null,\"batches\":0}\n").send()
    };
    write(&admin, &other).refused(403, "does not reach this tape");
    assert_eq!(write(&admin, &own).status, 200);
    let completion = json!({ "messages": [{ "role": "user", "content": "hi" }], "user": "x" });
    let path = "/v1/chat/completions";
    let said = serve.ask("POST", path).token(&ada).json(&completion).send();
    assert_eq!(said.header("x-session-id"), Some("ada/http:x"));
    let named = serve.ask("POST", path).token(&ada).header("x-session-id", "bob/one").json(&completion).send();
    named.refused(403, "begin with `ada/`");
    let passing = json!({ "messages": [{ "role": "user", "content": "hi" }] });
    assert_eq!(serve.ask("POST", path).token(&ada).json(&passing).send().status, 200);
}

/// A token of that principal, which reaches every session.
fn token_of(home: &bub_tests::Home, principal: &str) -> String {
    let token = token(home, principal, "\"turns\", \"read\"", "");
    let file = home.bub_home().join("config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, own) = text.rsplit_once("principal = \"owner\"").expect("the last table is this token's");
    std::fs::write(file, format!("{before}principal = \"{principal}\"{own}")).unwrap();
    token
}

/// A session without a colon is no session of the terminal: whose request it is says the token.
#[test]
fn a_preview_over_http_is_that_of_the_tokens_principal_in_any_session() {
    let (home, model) = (home(), echo());
    let saved = home.run([",memory.save content='the safe is behind the clock'"]).finish();
    assert_eq!(saved.code, Some(0), "{saved}");
    let [anonymous, peer] = ["anonymous", "peer"].map(|principal| token_of(&home, principal));
    let serve = serve(&home, &model);
    for session in ["plain", "http:a", "cli:local"] {
        say(&serve, session, "hello");
        let path = format!("/v1/sessions/{session}/context?prompt=hi");
        let tape = home.tape_file(session).file_stem().unwrap().to_str().unwrap().to_owned();
        for path in [path, format!("/v1/tapes/{tape}/context?prompt=hi")] {
            let shown = |token: &str| serve.ask("GET", &path).token(token).send().ok().to_string();
            assert!(shown(serve.token()).contains("behind the clock"), "the owner is shown it: {path}");
            assert!(shown(&peer).contains("behind the clock"), "a peer is shown it: {path}");
            assert!(!shown(&anonymous).contains("behind the clock"), "a stranger is not: {path}");
        }
    }
    // Input from the terminal is the owner's.
    let shown = home.bub(["tape", "context", "--session", "plain"]).finish();
    assert!(shown.stdout.contains("behind the clock"), "{shown}");
}

#[test]
fn an_anonymous_token_reads_no_tape_that_a_workspace_shares() {
    let (home, model) = (home(), echo());
    home.run([",memory.save content='the safe is behind the clock'"]).finish();
    let [anonymous, peer] = ["anonymous", "peer"].map(|principal| token_of(&home, principal));
    let serve = serve(&home, &model);
    let tape = home.tape_file("").file_stem().unwrap().to_str().unwrap().to_owned();
    for what in ["", "/entries", "/anchors", "/search?q=clock", "/context", "/newest?kind=event", "/query"] {
        let path = format!("/v1/tapes/{tape}{what}");
        serve.ask("GET", &path).token(&anonymous).send().refused(403, "does not reach this tape");
    }
    for token in [serve.token(), &peer] {
        let read = serve.ask("GET", &format!("/v1/tapes/{tape}/search?q=clock")).token(token).send().ok();
        assert!(read.to_string().contains("behind the clock"), "{read}");
    }
}
