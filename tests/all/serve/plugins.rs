//! Plugins that are installed, granted and taken back over HTTP; usage and the log.

use super::{echo, serve, token};
use crate::plugin_add::{described, inspected, sha256};
use bub_tests::{Said, Serve, programs};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

fn manifest(version: &str) -> Value {
    json!({
        "version": version,
        "about": "Says all in capitals.",
        "wants": [{ "grant": "hook:build-prompt", "why": "to hear it" }, { "grant": "tape:read", "why": "to read it" }],
    })
}

fn inspect(serve: &Serve<'_>, name: &str, bytes: &[u8]) -> Said {
    let path = format!("/v1/plugins/inspect?name={name}");
    serve.ask("POST", &path).header("content-type", "application/wasm").body(bytes).send()
}

fn change(serve: &Serve<'_>, what: &str, body: &Value) -> Said {
    serve.ask("POST", &format!("/v1/plugins/{what}")).json(body).send()
}

fn says(serve: &Serve<'_>, content: &str) -> Value {
    serve.post("/v1/turns", &json!({ "content": content }))["model_output"].clone()
}

#[test]
fn a_plugin_is_inspected_added_granted_revoked_and_rolled_back() {
    let (home, model) = (crate::home().strict(), echo());
    let serve = serve(&home, &model);
    let first = described(programs::PROMPT_UPPER, &manifest("1.0.0"));
    let shown = inspect(&serve, "upper", &first).ok();
    assert_eq!((shown["digest"].as_str(), &shown["before"]), (Some(sha256(&first).as_str()), &Value::Null));
    assert_eq!(shown["candidate"]["wants"][0]["why"], "to hear it");
    assert!(shown["candidate"]["wants"][0]["means"].as_str().is_some_and(|means| !means.is_empty()), "{shown}");
    assert!(!home.bub_home().join("plugins/upper.wasm").exists(), "it was only looked at");

    let digest = sha256(&first);
    change(&serve, "upper/add", &json!({ "digest": "0".repeat(64) })).refused(404, "was inspected");
    change(&serve, "upper/add", &json!({ "digest": digest, "grants": ["process"] })).refused(400, "does not ask for");
    change(&serve, "upper/add", &json!({ "digest": digest, "grants": ["tape:read"] })).ok();
    assert_eq!(fs::read(home.bub_home().join("plugins/upper.wasm")).unwrap(), first);
    assert_eq!(inspected(&home, "upper")["grants"], json!(["tape:read"]));
    assert_eq!(says(&serve, "hi"), "you said: hi");

    change(&serve, "upper/grant", &json!({ "grants": ["hook:build-prompt"] })).ok();
    assert_eq!(says(&serve, "hi"), "you said: HI");
    let listed = serve.get("/v1/plugins");
    let upper = listed["plugins"].as_array().unwrap().iter().find(|plugin| plugin["name"] == "upper").unwrap();
    assert_eq!(upper["stats"]["build-prompt"]["calls"], 1, "{upper}");

    let second = described(programs::PROMPT_UPPER, &manifest("2.0.0"));
    let shown = inspect(&serve, "upper", &second).ok();
    assert_eq!(shown["before"]["version"], "1.0.0");
    change(&serve, "upper/add", &json!({ "digest": sha256(&second), "grants": [] })).ok();
    assert_eq!(says(&serve, "hi"), "you said: hi", "other bytes hold what they were given");
    let back = change(&serve, "upper/rollback", &json!({})).ok();
    assert_eq!((&back["version"], &back["grants"]), (&json!("1.0.0"), &json!(["hook:build-prompt", "tape:read"])));
    assert_eq!(says(&serve, "hi"), "you said: HI");

    change(&serve, "upper/revoke", &json!({ "grants": ["hook:build-prompt"] })).ok();
    assert_eq!(says(&serve, "hi"), "you said: hi");
    change(&serve, "upper/revoke", &json!({ "grants": ["hook:build-prompt"] })).refused(400, "was not given");
    change(&serve, "upper/unquarantine", &json!({})).refused(409, "not in quarantine");
}

#[test]
fn the_quarantine_by_an_advisory_is_lifted_over_http_and_the_plugin_runs_again() {
    let (home, model) = (crate::home().strict(), echo());
    let serve = serve(&home, &model);
    let bytes = described(programs::PROMPT_UPPER, &manifest("1.0.0"));
    inspect(&serve, "upper", &bytes).ok();
    change(&serve, "upper/add", &json!({ "digest": sha256(&bytes), "grants": ["hook:build-prompt"] })).ok();
    assert_eq!(says(&serve, "hi"), "you said: HI");

    let listed = json!({ "database_specific": { "digests": [format!("sha256:{}", sha256(&bytes))] } });
    let advisory = json!([{ "id": "BUB-1", "summary": "<script>\u{1b}[31m\u{202e}", "affected": [listed] }]);
    fs::write(home.bub_home().join("advisories.json"), advisory.to_string()).unwrap();
    home.configure("[trust]\nadvisories = \"advisories.json\"");
    assert_eq!(home.bub(["plugin", "audit"]).finish().code, Some(1));
    let end = Instant::now() + Duration::from_secs(30);
    while says(&serve, "hi") != "you said: hi" {
        assert!(Instant::now() < end, "what an advisory lists still runs");
    }
    let failed = serve.get("/v1/plugins")["failed"].to_string();
    assert!(failed.contains("advisory `BUB-1`") && !failed.contains('\u{1b}') && !failed.contains("u001b"), "{failed}");

    let lifted = change(&serve, "upper/unquarantine", &json!({})).ok();
    assert_eq!((&lifted["name"], &lifted["grants"]), (&json!("upper"), &json!(["hook:build-prompt"])));
    assert_eq!(says(&serve, "hi"), "you said: HI");
    change(&serve, "upper/unquarantine", &json!({})).refused(409, "not in quarantine");
    change(&serve, "uper/unquarantine", &json!({})).refused(404, "no plugin `uper` is loaded");
}

#[test]
fn what_is_no_plugin_or_not_permitted_changes_nothing() {
    let (home, model) = (crate::home().strict(), echo());
    let reader = token(&home, "reader", "\"read\", \"turns\"", "");
    let serve = serve(&home, &model);
    let upper = fs::read(programs::PROMPT_UPPER).unwrap();
    inspect(&serve, "noise", b"no wasm").refused(400, "");
    inspect(&serve, "..%2Fevil", &upper).refused(400, "is not a name for a plugin");
    inspect(&serve, "shell%1b", &upper).refused(400, "is not a name for a plugin");
    for path in ["inspect?name=a", "a/add", "a/grant", "a/revoke", "a/rollback", "a/unquarantine"] {
        let said = serve.strange("POST", &format!("/v1/plugins/{path}")).token(&reader);
        said.json(&json!({ "grants": ["x"], "digest": "y" })).send().refused(403, "scope `admin`");
    }
    change(&serve, "none/grant", &json!({ "grants": [] })).refused(404, "no plugin `none` is loaded");
    change(&serve, "none/rollback", &json!({})).refused(404, "no earlier version");
    // A page of another site cannot send a component without being asked for.
    let plain =
        serve.ask("POST", "/v1/plugins/inspect?name=a").header("content-type", "text/plain").body(upper.clone());
    plain.send().refused(415, "application/json");
    assert_eq!(fs::read_dir(home.bub_home().join("plugins")).unwrap().count(), 0);
}

#[test]
fn usage_is_that_of_the_command_line_and_for_tokens_that_reach_all_sessions() {
    let (home, model) = (crate::home(), echo());
    let narrow = token(&home, "narrow", "\"read\"", "http:a");
    let serve = serve(&home, &model);
    says(&serve, "hello");
    let usage = serve.get("/v1/usage?days=2");
    assert_eq!((&usage["total"]["calls"], &usage["days"][0]["calls"]), (&json!(1), &json!(1)), "{usage}");
    assert_eq!(usage["sessions"][0]["session"], "http:default");
    let printed = home.bub(["usage", "--days", "2", "--json"]).finish().stdout;
    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), usage);
    serve.strange("GET", "/v1/usage").token(&narrow).send().refused(403, "does not reach all sessions");
    serve.ask("GET", "/v1/usage?days=0").send().refused(400, "`days`");
}

#[test]
fn the_log_is_streamed_with_its_newest_lines_to_the_owner_alone() {
    let (home, model) = (crate::home(), echo());
    let narrow = token(&home, "narrow", "\"admin\"", "http:a");
    let serve = serve(&home, &model);
    serve.strange("GET", "/v1/log").token(&narrow).send().refused(403, "does not reach all sessions");
    let before = fs::read_to_string(home.bub_home().join("config.toml")).unwrap();
    fs::write(home.bub_home().join("config.toml"), format!("{before}\nno = \"key\u{1b}[2J\"\n")).unwrap();
    let mut log = crate::streams::Stream::read(serve.ask("GET", "/v1/log"));
    loop {
        let line = log.until("line").data;
        let message = line["message"].as_str().unwrap();
        assert!(!message.contains(['\u{1b}', '\n']), "{line}");
        if message.contains("the previous configuration stays active") {
            assert_eq!(line["level"], "warn");
            assert!(line["at"].is_string() && line["target"].is_string());
            return;
        }
    }
}

#[test]
fn a_model_with_a_price_has_a_cost_in_the_report() {
    let (home, model) = (crate::home(), echo());
    home.configure("[prices]\ncurrency = \"EUR\"\n[prices.models.\"openai:fake-model\"]\nprompt = 1_000_000\ncompletion = 2_000_000\n");
    let serve = serve(&home, &model);
    says(&serve, "hello");
    let usage = serve.get("/v1/usage");
    let total = &usage["total"];
    let count = |key: &str| total[key].as_f64().unwrap();
    let cost = count("prompt_tokens") + 2.0 * count("completion_tokens");
    assert_eq!((&usage["currency"], total["cost"].as_f64()), (&json!("EUR"), Some(cost)), "{usage}");
    assert_eq!((&usage["rows"][0]["cost"], &usage["days"][0]["cost"]), (&total["cost"], &total["cost"]));
    for (config, naming) in [
        ("[prices]\ncurrency = \"euros\"", "`euros` is no code of a currency"),
        ("[prices.models.gpt]\nprompt = 1\ncompletion = 1", "[prices.models.\"gpt\"]"),
        ("[prices.models.\"a:b\"]\nprompt = -1\ncompletion = 1", "a price is a number from 0"),
    ] {
        let home = crate::home();
        home.configure(config);
        let finished = home.bub(["usage"]).finish();
        assert_eq!(finished.code, Some(1), "{finished}");
        assert!(finished.stderr.contains(naming) && finished.stderr.lines().count() == 1, "{finished}");
    }
}

#[test]
fn an_event_names_plugins_that_change() {
    let (home, model) = (crate::home(), echo());
    let serve = serve(&home, &model);
    let mut events = crate::streams::Stream::read(serve.ask("GET", "/v1/events"));
    home.plugin("upper", programs::PROMPT_UPPER);
    assert_eq!(events.until("plugins-changed").data["plugins"], json!(["upper"]));
    fs::remove_file(home.bub_home().join("plugins/upper.wasm")).unwrap();
    assert_eq!(events.until("plugins-changed").data["plugins"], json!(["upper"]));
}

#[test]
fn a_plugin_that_is_added_at_one_worker_is_that_of_all() {
    let Some(workers) = crate::cluster::Workers::new(2, "") else { return };
    let serves = [workers.offline(0), workers.offline(1)];
    let component = described(programs::PROMPT_UPPER, &manifest("1.0.0"));
    let digest = inspect(&serves[0], "upper", &component).ok()["digest"].clone();
    let grants = json!(["hook:build-prompt"]);
    change(&serves[0], "upper/add", &json!({ "digest": digest, "grants": grants })).ok();
    let of = |serve: &Serve<'_>| {
        let plugins = serve.get("/v1/plugins")["plugins"].as_array().cloned().unwrap_or_default();
        plugins.into_iter().find(|plugin| plugin["name"] == "upper")
    };
    let eventually = |what: &str, is_so: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < Duration::from_secs(60), "not within a minute: {what}");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    let holds =
        |serve: &Serve<'_>, grant: &str| of(serve).is_some_and(|upper| upper["grants"].to_string().contains(grant));
    eventually("the plugin is at the other worker", &|| holds(&serves[1], "hook:build-prompt"));
    assert!(says(&serves[1], "hello").to_string().contains("HELLO"));
    // And the other way round.
    change(&serves[1], "upper/grant", &json!({ "grants": ["tape:read"] })).ok();
    eventually("the grant is at the first worker", &|| holds(&serves[0], "tape:read"));
    change(&serves[1], "upper/revoke", &json!({ "grants": ["hook:build-prompt", "tape:read"] })).ok();
    eventually("it is revoked there", &|| !holds(&serves[0], "hook:build-prompt"));
}
