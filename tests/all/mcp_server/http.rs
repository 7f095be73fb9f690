//! `/mcp` of `serve`: both revisions, behind the tokens, scopes, prefixes, origins and bounds of the API.

use super::sessions::page;
use super::{SESSION, hello, result};
use crate::serve::{serve, token_of};
use bub_tests::{Answer, Home, Said, Serve, Server, tape};
use serde_json::{Value, json};

const BOTH: &str = "application/json, text/event-stream";

fn desk() -> (Home, Server) {
    let home = super::desk(true);
    (home, Server::ruled(|_| Answer::text("good morning")))
}

fn request(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// A request in the revision without sessions, with that token and more headers.
fn modern(serve: &Serve<'_>, token: &str, method: &str, params: &Value, more: &[(&str, &str)]) -> Said {
    let mut params = params.clone();
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "test", "version": "1" });
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default();
    let mut ask = serve.strange("POST", "/mcp").token(token).header("accept", BOTH);
    ask = ask.header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
    if !name.is_empty() {
        ask = ask.header("mcp-name", name);
    }
    for (name, value) in more {
        ask = ask.header(name, value);
    }
    ask.json(&request(method, &params)).send()
}

/// The message that answers, in a stream of events or alone.
#[track_caller]
fn answered(said: &Said) -> Value {
    assert_eq!(said.status, 200, "{said:?}");
    if said.body.starts_with('{') {
        return said.json();
    }
    let data = said.body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let messages = data.filter(|data| !data.is_empty()).map(|data| serde_json::from_str::<Value>(data).expect("JSON"));
    messages.into_iter().find(|message| message["id"] == 1).unwrap_or_else(|| panic!("no answer: {said:?}"))
}

fn read_notes() -> Value {
    json!({ "name": "fs_read", "arguments": { "path": "notes.txt" } })
}

#[test]
fn a_request_without_sessions_calls_a_tool_and_reads_its_tape() {
    let (home, model) = desk();
    let serve = serve(&home, &model);
    let token = serve.token().to_owned();
    let found = answered(&modern(&serve, &token, "server/discover", &json!({}), &[]));
    assert_eq!(found["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "bub-wasm", "{found}");
    let listed = answered(&modern(&serve, &token, "tools/list", &json!({}), &[]));
    assert!(listed["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 10), "{listed}");
    let called = answered(&modern(&serve, &token, "tools/call", &read_notes(), &[]));
    assert!(result(&called).1.contains("two"), "{called}");
    let named = answered(&modern(&serve, &token, "tools/call", &read_notes(), &[("x-session-id", SESSION)]));
    assert!(result(&named).0, "{named}");
    for session in ["mcp:owner", SESSION] {
        let entries = tape::read(&home.tape_file(session));
        assert_eq!(entries.iter().filter(|entry| entry["kind"] == "tool_result").count(), 1, "{session}: {entries:?}");
        let uri = json!({ "uri": format!("bub://sessions/{session}") });
        let (read, _) = page(&answered(&modern(&serve, &token, "resources/read", &uri, &[])));
        assert_eq!(read.len(), entries.len());
    }
    let turn = json!({ "name": "run_turn", "arguments": { "message": "hello" }, "_meta": { "progressToken": "p" } });
    let said = modern(&serve, &token, "tools/call", &turn, &[]);
    assert_eq!(result(&answered(&said)), (true, "good morning".to_owned()));
    assert!(said.body.contains("notifications/progress"), "{said:?}");
    let listed = serve.get("/v1/sessions");
    assert!(listed.to_string().contains("mcp:owner"), "{listed}");
}

/// Begins a session of the protocol, and returns its id.
#[track_caller]
fn begin(serve: &Serve<'_>, token: &str) -> String {
    let ask = serve.strange("POST", "/mcp").token(token).header("accept", BOTH);
    let said = ask.json(&request("initialize", &hello("2025-06-18", &json!({})))).send();
    let begun = answered(&said);
    assert_eq!(begun["result"]["protocolVersion"], "2025-06-18", "{begun}");
    said.header("mcp-session-id").expect("a session").to_owned()
}

fn in_session(serve: &Serve<'_>, token: &str, session: &str, message: &Value) -> Said {
    let ask = serve.strange("POST", "/mcp").token(token).header("accept", BOTH);
    ask.header("mcp-session-id", session).header("mcp-protocol-version", "2025-06-18").json(message).send()
}

#[test]
fn a_session_of_the_protocol_belongs_to_its_token() {
    let (home, model) = desk();
    let other = token_of(&home, "other", "owner", "\"turns\", \"read\"", "");
    let serve = serve(&home, &model);
    let token = serve.token().to_owned();
    let session = begin(&serve, &token);
    let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(in_session(&serve, &token, &session, &begun).status, 202);
    let called = answered(&in_session(&serve, &token, &session, &request("tools/call", &read_notes())));
    assert!(result(&called).1.contains("two"), "{called}");
    let short: String = session.chars().take(8).collect();
    assert!(home.tape_file(&format!("mcp:{short}")).exists(), "its calls have a tape of their own");
    let call = request("tools/call", &read_notes());
    for (token, session) in [(&other, session.as_str()), (&token, "no-such-session")] {
        in_session(&serve, token, session, &call).refused(404, "this session has ended");
        let stream = serve.strange("GET", "/mcp").token(token).header("accept", "text/event-stream");
        stream.header("mcp-session-id", session).send().refused(404, "this session has ended");
        let end = serve.strange("DELETE", "/mcp").token(token).header("mcp-session-id", session).send();
        end.refused(404, "this session has ended");
    }
    let end = serve.strange("DELETE", "/mcp").token(&token).header("mcp-session-id", &session);
    assert_eq!(end.header("mcp-protocol-version", "2025-06-18").send().status, 202);
    let after = in_session(&serve, &token, &session, &call);
    assert_eq!(after.status, 404, "{after:?}");
}

#[test]
fn a_call_is_cancelled_in_its_session() {
    let (home, model) = desk();
    let serve = serve(&home, &model);
    let token = serve.token().to_owned();
    let session = begin(&serve, &token);
    let cmd = "echo $$ > leader; while :; do sleep 0.1; done";
    let long = json!({ "name": "bash", "arguments": { "cmd": cmd, "timeout_seconds": 600 } });
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": long });
    let ask = serve.strange("POST", "/mcp").token(&token).header("accept", BOTH);
    let _stream = ask.header("mcp-session-id", &session).json(&call).open();
    let leader = home.workspace().join("leader");
    super::until("the program", || std::fs::read_to_string(&leader).is_ok_and(|text| text.ends_with('\n')));
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    assert_eq!(in_session(&serve, &token, &session, &cancel).status, 202);
    let id = std::fs::read_to_string(&leader).expect("its number");
    super::until("the end of the program", || !std::path::Path::new("/proc").join(id.trim()).exists());
    let called = answered(&in_session(&serve, &token, &session, &request("tools/call", &read_notes())));
    assert!(result(&called).0, "{called}");
}

#[test]
fn a_client_that_leaves_cancels_its_call_where_there_is_no_session() {
    let (home, model) = desk();
    let serve = serve(&home, &model);
    let cmd = "echo $$ > leader; while :; do sleep 0.1; done";
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let long = json!({ "name": "bash", "arguments": { "cmd": cmd, "timeout_seconds": 600 }, "_meta": meta });
    let ask = serve.ask("POST", "/mcp").header("accept", BOTH).header("mcp-protocol-version", "2026-07-28");
    let ask = ask.header("mcp-method", "tools/call").header("mcp-name", "bash");
    let stream = ask.json(&request("tools/call", &long)).open();
    let leader = home.workspace().join("leader");
    super::until("the program", || std::fs::read_to_string(&leader).is_ok_and(|text| text.ends_with('\n')));
    drop(stream);
    let id = std::fs::read_to_string(&leader).expect("its number");
    super::until("the end of the program", || !std::path::Path::new("/proc").join(id.trim()).exists());
}

#[test]
fn scopes_hold() {
    let (home, model) = desk();
    let reads = token_of(&home, "reads", "owner", "\"read\"", "");
    let calls = token_of(&home, "calls", "owner", "\"turns\"", "");
    let serve = serve(&home, &model);
    for method in ["GET", "POST", "DELETE"] {
        let said = serve.strange(method, "/mcp").header("accept", BOTH).json(&request("tools/list", &json!({}))).send();
        said.refused(401, "a token is needed");
        let said = serve.strange(method, "/mcp").token("wrong").json(&request("tools/list", &json!({}))).send();
        said.refused(401, "a token is needed");
    }
    modern(&serve, &reads, "tools/call", &read_notes(), &[]).refused(403, "no scope `turns`");
    let turn = json!({ "name": "run_turn", "arguments": { "message": "hi" } });
    modern(&serve, &reads, "tools/call", &turn, &[]).refused(403, "no scope `turns`");
    let listed = answered(&modern(&serve, &reads, "tools/list", &json!({}), &[]));
    assert_eq!(listed["result"]["tools"], json!([]), "{listed}");
    assert!(answered(&modern(&serve, &reads, "resources/list", &json!({}), &[]))["result"]["resources"].is_array());
    for (method, params) in [("resources/list", json!({})), ("resources/read", json!({ "uri": "bub://sessions/a" }))] {
        modern(&serve, &calls, method, &params, &[]).refused(403, "no scope `read`");
    }
    assert!(result(&answered(&modern(&serve, &calls, "tools/call", &read_notes(), &[]))).0);
    assert!(model.requests().is_empty());
}

#[test]
fn a_token_stays_within_its_prefix() {
    let (home, model) = desk();
    let token = token_of(&home, "team", "owner", "\"turns\", \"read\"", "team/");
    let serve = serve(&home, &model);
    let owner = serve.token().to_owned();
    assert!(result(&answered(&modern(&serve, &owner, "tools/call", &read_notes(), &[]))).0);
    assert!(result(&answered(&modern(&serve, &token, "tools/call", &read_notes(), &[]))).0);
    assert!(home.tape_file("team/mcp:team").exists());
    let listed = answered(&modern(&serve, &token, "resources/list", &json!({}), &[]));
    let resources = listed["result"]["resources"].as_array().expect("a list");
    let uris: Vec<&str> = resources.iter().filter_map(|resource| resource["uri"].as_str()).collect();
    assert_eq!(uris, ["bub://sessions/team%2Fmcp:team"], "{listed}");
    let foreign =
        answered(&modern(&serve, &token, "resources/read", &json!({ "uri": "bub://sessions/mcp:owner" }), &[]));
    assert!(foreign["error"]["message"].as_str().is_some_and(|text| text.contains("reaches only")), "{foreign}");
    let turn = json!({ "name": "run_turn", "arguments": { "message": "hi", "session": "mcp:owner" } });
    let foreign = answered(&modern(&serve, &token, "tools/call", &turn, &[]));
    assert!(foreign["error"]["message"].as_str().is_some_and(|text| text.contains("reaches only")), "{foreign}");
    let named = answered(&modern(&serve, &token, "tools/call", &read_notes(), &[("x-session-id", "mcp:owner")]));
    assert!(named["error"]["message"].as_str().is_some_and(|text| text.contains("reaches only")), "{named}");
    assert!(model.requests().is_empty());
}

#[test]
fn tokens_of_others_may_only_read_what_is_listed() {
    let (home, model) = desk();
    let token = token_of(&home, "peer", "peer", "\"turns\"", "peer/");
    home.configure("[channels.http]\ntools = [\"fs.read\"]");
    let serve = serve(&home, &model);
    assert!(result(&answered(&modern(&serve, &token, "tools/call", &read_notes(), &[]))).0);
    let write = json!({ "name": "fs_write", "arguments": { "path": "new.txt", "content": "x" } });
    let (went_well, text) = result(&answered(&modern(&serve, &token, "tools/call", &write, &[])));
    assert!(!went_well && text.contains("which only the owner may do"), "{text}");
    assert!(!home.workspace().join("new.txt").exists());
}

#[test]
fn pages_of_other_origins_and_other_names_get_nowhere() {
    let (home, model) = desk();
    home.configure("[serve]\norigins = [\"https://desk.example\"]");
    let serve = serve(&home, &model);
    let call = request("tools/call", &read_notes());
    for (name, value, status) in
        [("origin", "https://evil.example", 403), ("sec-fetch-site", "cross-site", 403), ("host", "evil.example", 421)]
    {
        let said = serve.ask("POST", "/mcp").header("accept", BOTH).header(name, value).json(&call).send();
        assert_eq!(said.status, status, "{said:?}");
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded"] {
        let said = serve.ask("POST", "/mcp").header("content-type", kind).body(call.to_string()).send();
        said.refused(415, "application/json");
    }
    let asked = serve.strange("OPTIONS", "/mcp").header("origin", "https://desk.example");
    let asked = asked.header("access-control-request-method", "DELETE").send();
    assert_eq!(asked.header("access-control-allow-methods"), Some("GET,POST,DELETE"), "{asked:?}");
    let headers = asked.header("access-control-allow-headers").unwrap_or_default();
    assert!(headers.contains("mcp-session-id") && headers.contains("authorization"), "{headers}");
    let begun = serve.ask("POST", "/mcp").header("accept", BOTH).header("origin", "https://desk.example");
    let begun = begun.json(&request("initialize", &hello("2025-06-18", &json!({})))).send();
    assert_eq!(begun.header("access-control-expose-headers"), Some("mcp-session-id"), "{begun:?}");
}

#[test]
fn bodies_that_do_not_fit_are_refused() {
    let (home, model) = desk();
    let serve = serve(&home, &model);
    let post = |body: String| {
        let ask = serve.ask("POST", "/mcp").header("accept", BOTH).header("content-type", "application/json");
        ask.body(body).send()
    };
    post(format!("{{\"x\": \"{}\"}}", "x".repeat(5 << 20))).refused(413, "the body is longer than 4.2 MB");
    for body in ["", "{", "null", "hello"] {
        post(body.to_owned()).refused(400, "the body does not fit");
    }
    post(format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))).refused(400, "nested deeper than 64");
    for body in ["{}", "[]", "{\"method\": 1}"] {
        post(body.to_owned()).refused(400, "no message of JSON-RPC");
    }
    post(request("tools/list", &json!({})).to_string()).refused(400, "");
    let narrow =
        serve.ask("POST", "/mcp").header("accept", "application/json").json(&request("tools/list", &json!({})));
    narrow.send().refused(406, "accept");
    serve.ask("PUT", "/mcp").json(&json!({})).send().refused(405, "does not take this method");
    let unknown = answered(&modern(&serve, serve.token(), "tools/call", &json!({ "name": "no_such_tool" }), &[]));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[test]
fn quotas_are_charged() {
    let (home, model) = desk();
    home.configure("[quotas.peer]\nsessions = 1");
    let token = token_of(&home, "guest", "peer", "\"turns\"", "guest/");
    let serve = serve(&home, &model);
    let turn = |session: &str| json!({ "name": "run_turn", "arguments": { "message": "hi", "session": session } });
    assert!(result(&answered(&modern(&serve, &token, "tools/call", &turn("guest/one"), &[]))).0);
    let second = answered(&modern(&serve, &token, "tools/call", &turn("guest/two"), &[]));
    assert!(second["error"]["message"].as_str().is_some_and(|text| text.contains("quota `sessions`")), "{second}");
    let call = answered(&modern(&serve, &token, "tools/call", &read_notes(), &[]));
    assert!(call["error"]["message"].as_str().is_some_and(|text| text.contains("quota `sessions`")), "{call}");
}
