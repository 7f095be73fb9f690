//! Variables of the environment that were set for other programs: those of providers, and Bub's.

use crate::home;
use bub_tests::{Answer, Finished, Home, Run, Server};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

const KEY: &str = "sk-of-the-provider-0123456789";

/// A turn with `openai:fake-model`, and nothing else said.
fn openai(home: &Home) -> Run<'_> {
    home.run(["hi"]).env("BUB_MODEL", "openai:fake-model")
}

/// The key that a turn shows the server.
#[track_caller]
fn key_of(run: impl FnOnce(&Server) -> Finished) -> Option<String> {
    let server = Server::new([Answer::text("hello")]);
    run(&server).says("[cli:local]\nhello\n");
    server.requests()[0].header("authorization").map(str::to_owned)
}

#[test]
fn a_providers_own_variables_are_read() {
    let home = home();
    for base in ["OPENAI_BASE_URL", "OPENAI_API_BASE", "BUB_API_BASE", "BUB_OPENAI_API_BASE"] {
        let key = key_of(|server| openai(&home).env("OPENAI_API_KEY", KEY).env(base, server.base()).finish());
        assert_eq!(key, Some(format!("Bearer {KEY}")), "{base}");
    }
    let server = Server::new([Answer::text("hello")]);
    let run = home.run(["hi"]).env("BUB_MODEL", "my.cloud:x").env("MY_CLOUD_API_KEY", KEY);
    run.env("MY_CLOUD_BASE_URL", server.base()).finish().says("[cli:local]\nhello\n");
    assert_eq!(server.requests()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    // Ollama's own is a host.
    let server = Server::new([Answer::text("hello")]);
    let host = server.base().replace("http://", "").replace("/v1", "");
    home.run(["hi"]).env("BUB_MODEL", "ollama:x").env("OLLAMA_HOST", host).finish().says("[cli:local]\nhello\n");
}

#[test]
fn anthropics_own_variables_are_read() {
    let home = home();
    let server = Server::ruled(|_| {
        let body = r#"{"error": {"type": "overloaded", "message": "no"}}"#;
        Answer::Whole(400, "application/json", body.to_owned())
    });
    let base = server.base().replace("/v1", "");
    let run = home.run(["hi"]).env("BUB_MODEL", "anthropic:x").env("ANTHROPIC_API_KEY", KEY);
    run.env("ANTHROPIC_BASE_URL", base).finish();
    let request = &server.requests()[0];
    assert_eq!((request.path.as_str(), request.header("x-api-key")), ("/v1/messages", Some(KEY)));
}

#[test]
fn a_variable_of_bub_overrides_a_providers_own() {
    let home = home();
    for name in ["BUB_API_KEY", "BUB_OPENAI_API_KEY"] {
        let key = key_of(|server| {
            let run = openai(&home).env("OPENAI_API_KEY", KEY).env(name, "sk-ours").env("BUB_API_BASE", server.base());
            run.env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1").finish()
        });
        assert_eq!(key.as_deref(), Some("Bearer sk-ours"), "{name}");
    }
    home.configure("model = \"openai:fake-model\"");
    let key = key_of(|server| {
        home.configure(&format!("api_base = \"{}\"", server.base()));
        let run = home.run(["hi"]).env("OPENAI_API_KEY", KEY);
        run.env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1").finish()
    });
    assert_eq!(key, Some(format!("Bearer {KEY}")), "the address of config.toml stands above the provider's own");
}

#[test]
fn a_secret_overrides_a_providers_own_variable() {
    let home = home();
    let kept =
        home.bub(["secret", "set", "openai", "--host", "127.0.0.1", "--value-stdin"]).input("sk-kept\n").finish();
    assert_eq!(kept.code, Some(0), "{kept}");
    let key = key_of(|server| openai(&home).env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", server.base()).finish());
    assert_eq!(key.as_deref(), Some("Bearer sk-kept"));
}

#[test]
fn a_providers_own_variable_can_be_in_the_file() {
    let home = home();
    let file = home.bub_home().join(".env");
    let key = key_of(|server| {
        fs::write(&file, format!("OPENAI_API_KEY={KEY}\nOPENAI_BASE_URL={}\n", server.base())).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        openai(&home).finish()
    });
    assert_eq!(key, Some(format!("Bearer {KEY}")));
}

#[test]
fn a_providers_own_key_is_shown_nowhere() {
    let home = home();
    // Not the key of the model that is asked: it is a key all the same.
    let server = Server::ruled(|_| Answer::text(&format!("your key is {KEY}, I think")));
    let finished = home.run(["hi"]).model(&server).env("ANTHROPIC_API_KEY", KEY).finish();
    assert!(finished.stdout.contains("your key is ***"), "{finished}");
    let server = Server::ruled(|_| Answer::refusal(&format!("the key {KEY} is wrong")));
    let finished = openai(&home).env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", server.base()).finish();
    assert!(finished.code == Some(1) && finished.stderr.contains("***"), "{finished}");
    assert!(!finished.to_string().contains(KEY), "{finished}");
    let tapes = fs::read_to_string(home.tape_file("cli:local")).unwrap();
    assert!(!tapes.contains(KEY), "{tapes}");
    let printed = home.run([",echo $OPENAI_API_KEY"]).env("OPENAI_API_KEY", KEY).finish();
    assert!(!printed.to_string().contains(KEY), "{printed}");
}

#[test]
fn malformed_values_get_one_line_without_the_value() {
    let home = home();
    let bad = "http://user:hunter2-hunter2@ not an address";
    let server = Server::new([]);
    let finished = openai(&home).env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", bad).env("BUB_MAX_STEPS", "1");
    let finished = finished.env("HTTPS_PROXY", server.base()).finish();
    assert!(finished.stderr.contains("`OPENAI_BASE_URL` is not an http address"), "{finished}");
    assert!(!finished.stderr.contains("hunter2"), "{finished}");
    let run = openai(&home).env("OPENAI_API_KEY", format!("{KEY}\u{7}x")).env("OPENAI_BASE_URL", server.base());
    let finished = run.finish();
    assert!(finished.stderr.contains("characters that are invalid in a header"), "{finished}");
    assert!(!finished.stderr.contains(KEY), "{finished}");
    let finished = home.run(["hi"]).env("BUB_API_KEY", OsStr::from_bytes(b"sk-\xff-hunter2")).finish();
    finished.refuses(&["environment variable `BUB_API_KEY` is not UTF-8"]);
    for (name, value, says) in [
        ("BUB_DEBOUNCE_SECONDS", "soon", "`soon` is not a number of seconds"),
        ("BUB_MAX_WAIT_SECONDS", "-1", "is not a number of seconds"),
        ("BUB_ACTIVE_TIME_WINDOW", "inf", "is not a number of seconds"),
        ("BUB_STREAM_OUTPUT", "perhaps", "neither `true` nor `false`"),
        ("BUB_ENABLED_CHANNELS", "[1, {}]", "not a list"),
        ("BUB_TELEGRAM_ALLOW_USERS", "1 2", "not a list"),
        ("BUB_TELEGRAM_ALLOW_CHATS", "[1", "not a list"),
    ] {
        home.run(["hi"]).env(name, value).finish().refuses(&[&format!("`{name}`"), says]);
    }
}

#[test]
fn a_providers_own_key_does_not_cross_a_network_unencrypted() {
    let home = home();
    // An address of documentation, where nothing is.
    let run = openai(&home).env("OPENAI_API_KEY", KEY).env("BUB_API_BASE", "http://192.0.2.1:9/v1");
    let finished = run.env("BUB_MODEL_TIMEOUT_SECONDS", "0.2").finish();
    // A server of one's own that wants no key is asked without one, as before.
    assert!(!finished.stderr.contains("unencrypted"), "{finished}");
    // A key that was given to this program is refused there.
    let run = openai(&home).env("BUB_API_KEY", KEY).env("BUB_API_BASE", "http://192.0.2.1:9/v1");
    let finished = run.env("BUB_MODEL_TIMEOUT_SECONDS", "0.2").finish();
    assert!(finished.stderr.contains("unencrypted"), "{finished}");
}

#[test]
fn a_session_may_choose_a_model_of_a_provider_whose_key_is_a_secret() {
    let home = home();
    home.bub(["secret", "set", "groq", "--host", "127.0.0.1", "--value-stdin"]).input("gsk-kept\n").finish();
    let server = Server::new([Answer::text("hello")]);
    home.run([",model groq:some"]).env("GROQ_BASE_URL", server.base()).finish();
    home.run(["hi"]).env("GROQ_BASE_URL", server.base()).finish().says("[cli:local]\nhello\n");
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer gsk-kept"));
}

/// Bub's settings that nothing here reads.
fn from_bub<'home>(home: &'home Home, arguments: &[&str]) -> Run<'home> {
    fs::write(home.bub_home().join("config.yml"), "model: x\napi_key: hunter2\n").unwrap();
    let run = home.bub(arguments.iter().copied()).env("BUB_PROJECT", "hunter2").env("BUB_TELEGRAM_PROXY", "hunter2");
    run.env("BUB_API_FORMAT", "hunter2").env("BUB_MODLE", "hunter2").env("BUB_FEISHU_APP", "hunter2")
}

#[test]
fn unread_variables_are_named_by_run_serve_and_doctor() {
    let home = home();
    for arguments in [&["run", "hello"][..], &["serve", "--check"], &["doctor"], &["chat"]] {
        let finished = from_bub(&home, arguments).finish();
        assert_eq!(finished.code, Some(0), "{finished}");
        let said = finished.to_string();
        for (name, advice) in [
            ("BUB_PROJECT", "bub-wasm plugin add"),
            ("BUB_TELEGRAM_PROXY", "plugins use no proxy"),
            ("BUB_API_FORMAT", "anthropic:MODEL"),
            ("BUB_MODLE", "did you mean `BUB_MODEL`"),
            ("BUB_FEISHU_APP", "no setting has that name"),
            ("config.yml", "config.toml"),
        ] {
            let line = said.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}\n{said}"));
            assert!(line.contains("is not read") && line.contains(advice), "{line}");
        }
        assert!(!said.contains("hunter2"), "{said}");
    }
    // Without findings there is no output.
    let home = crate::home();
    assert_eq!(home.run(["hello"]).env("BUB_FORMAT", "bub").finish().stderr, "");
}

#[test]
fn bubs_variables_of_channels_hold_here() {
    let home = home();
    let run = home.bub(["doctor", "--config", "--json"]).env("BUB_ENABLED_CHANNELS", "telegram, !poster").finish();
    let keys: Value = serde_json::from_str(&run.stdout).unwrap();
    let row = keys["keys"].as_array().into_iter().flatten().find(|row| row["key"] == "serve.enabled_channels");
    assert_eq!(row.unwrap()["now"], serde_json::json!(["telegram", "!poster"]), "{run}");
    let listed = home.bub(["secret", "list"]).env("BUB_TELEGRAM_TOKEN", "123:hunter2-hunter2").finish();
    let line = listed.stdout.lines().next().unwrap_or_default().to_owned();
    for word in ["telegram-token", "BUB_TELEGRAM_TOKEN", "api.telegram.org"] {
        assert!(line.contains(word), "{listed}");
    }
    assert!(!listed.to_string().contains("hunter2"), "{listed}");
    // It is redacted as any secret is.
    let looked = home.bub(["doctor"]).env("BUB_MODEL", "mine:123:hunter2-hunter2");
    let looked = looked.env("BUB_TELEGRAM_TOKEN", "123:hunter2-hunter2").finish();
    assert!(looked.stdout.contains("model `mine:***`") && !looked.stdout.contains("hunter2"), "{looked}");
}

#[test]
fn bubs_commands_are_answered_with_their_counterparts() {
    let home = home();
    for (command, counterpart) in [
        ("gateway", "bub-wasm serve"),
        ("install", "bub-wasm plugin add"),
        ("uninstall", "bub-wasm plugin remove"),
        ("update", "plugin add"),
        ("onboard", "bub-wasm doctor"),
        ("login", "bub-wasm secret set"),
    ] {
        home.bub([command, "--anything", "x"]).finish().refuses(&[command, counterpart]);
    }
}
