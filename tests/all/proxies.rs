//! Which requests to a model pass through a proxy of the environment, and where a key may go unencrypted.

use crate::home;
use bub_tests::listener::{Listener, response};
use bub_tests::{Answer, Home, Run, Server};

const KEY: &str = "sk-of-the-owner-0123456789";

/// A proxy that takes what it is sent, and answers as a model would.
fn proxy() -> Listener {
    let answer =
        r#"{"choices": [{"message": {"role": "assistant", "content": "by the proxy"}, "finish_reason": "stop"}]}"#;
    Listener::new(move |_| response(200, "content-type: application/json\r\n", answer))
}

/// A turn with a key, behind that proxy.
fn behind<'home>(home: &'home Home, proxy: &Listener, base: &str) -> Run<'home> {
    let run = home.run(["hello"]).env("BUB_MODEL", "openai:fake").env("BUB_API_BASE", base).env("BUB_API_KEY", KEY);
    let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    names.iter().fold(run, |run, name| run.env(name, proxy.base())).env("NO_PROXY", "").env("no_proxy", "")
}

#[test]
fn a_server_on_this_machine_is_reached_without_a_proxy() {
    let (server, proxy) = (Server::new([Answer::text("direct"), Answer::text("direct")]), proxy());
    for name in ["127.0.0.1", "localhost"] {
        let home = home();
        let base = server.base().replace("127.0.0.1", name);
        let ran = behind(&home, &proxy, &base).finish();
        assert!(ran.code == Some(0) && ran.stdout.contains("direct"), "{name}: {ran}");
    }
    assert_eq!(server.requests()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert!(proxy.heard().is_empty(), "{:?}", proxy.heard());
}

#[test]
fn a_private_address_is_reached_without_a_proxy() {
    let proxy = proxy();
    for host in ["10.255.255.1", "192.168.255.254:9", "[fd00::1]:9", "169.254.0.9:9"] {
        let home = home();
        let run = behind(&home, &proxy, &format!("http://{host}/v1")).env("BUB_INSECURE_HTTP", "true");
        // Nothing answers there, or something does: what matters is that the proxy is not asked.
        let ran = run.env("BUB_MODEL_TIMEOUT_SECONDS", "2").finish();
        assert_eq!(ran.code, Some(1), "{ran}");
        assert!(proxy.heard().is_empty(), "{host}: {:?}", proxy.heard());
    }
}

#[test]
fn a_key_is_sent_unencrypted_to_another_machine_only_if_the_user_allows_it() {
    let proxy = proxy();
    for base in ["http://model.example/v1", "http://198.51.100.7/v1"] {
        let home = home();
        let refused = behind(&home, &proxy, base).finish();
        assert_eq!(refused.code, Some(1), "{refused}");
        assert!(refused.stderr.contains("unencrypted"), "{refused}");
        let line = refused.stderr.lines().find(|line| line.contains("unencrypted")).unwrap_or_default();
        assert!(line.contains("`insecure_http = true` in config.toml") && !line.contains(KEY), "{line}");
        assert!(proxy.heard().is_empty(), "{:?}", proxy.heard());
    }
    let home = home();
    // A name that marks a header as secret marks a key.
    let header = r#"{"default_headers": {"x-api-key": "of-a-gateway"}}"#;
    let run = behind(&home, &proxy, "http://model.example/v1").env("BUB_API_KEY", "").env("BUB_CLIENT_ARGS", header);
    assert!(run.finish().stderr.contains("unencrypted"));
    assert!(proxy.heard().is_empty());
    home.configure("insecure_http = true");
    let allowed = behind(&home, &proxy, "http://model.example/v1").finish();
    assert!(allowed.stdout.contains("by the proxy"), "{allowed}");
    assert!(proxy.heard()[0].starts_with("POST http://model.example/v1/"), "{:?}", proxy.heard());
}

#[test]
fn without_a_key_plain_http_needs_no_permission_and_excepted_hosts_bypass_the_proxy() {
    let proxy = proxy();
    let home = home();
    let allowed = behind(&home, &proxy, "http://model.example/v1").env("BUB_API_KEY", "").finish();
    assert!(allowed.stdout.contains("by the proxy"), "{allowed}");
    let count = proxy.heard().len();
    let run = behind(&home, &proxy, "http://model.example/v1").env("BUB_API_KEY", "").env("NO_PROXY", "model.example");
    let excepted = run.env("no_proxy", "model.example").env("BUB_MODEL_TIMEOUT_SECONDS", "2").finish();
    assert_eq!(excepted.code, Some(1), "{excepted}");
    assert_eq!(proxy.heard().len(), count);
}

#[test]
fn https_goes_through_the_proxy_without_revealing_the_key() {
    let proxy = Listener::new(|_| response(502, "", ""));
    let home = home();
    let ran = behind(&home, &proxy, "https://model.example/v1").finish();
    assert_eq!(ran.code, Some(1), "{ran}");
    let heard = proxy.heard();
    assert!(heard.iter().all(|request| request.starts_with("CONNECT model.example:443") && !request.contains(KEY)));
    assert!(!heard.is_empty());
}

#[test]
fn doctor_shows_the_proxy_without_its_password_and_the_requests_through_it() {
    let (proxy, home) = (proxy(), home());
    let named = proxy.base().replace("http://", "http://someone:p%40ss@word@");
    let doctor = |base: &str| {
        let run = home.bub(["doctor", "--json"]).env("BUB_MODEL", "openai:fake").env("BUB_API_BASE", base);
        let run = run.env("BUB_API_KEY", KEY).env("HTTPS_PROXY", &named).env("HTTP_PROXY", &named).env("NO_PROXY", "");
        let said = run.finish().stdout;
        assert!(!said.contains("ss@word") && !said.contains("someone") && !said.contains(KEY), "{said}");
        let all: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
        let found = all["findings"].as_array().into_iter().flatten().find(|found| found["what"] == "proxy");
        found.expect("it is told")["text"].as_str().unwrap_or_default().to_owned()
    };
    let address = proxy.base().replace("http://", "");
    let passing = doctor("https://model.example/v1");
    assert!(passing.contains(&format!("HTTPS_PROXY is `http://***@{address}`")), "{passing}");
    assert!(passing.contains("requests of model `openai:fake` to `model.example` pass through"), "{passing}");
    let own = doctor("http://127.0.0.1:9/v1");
    assert!(own.ends_with("nothing passes through it"), "{own}");
}
