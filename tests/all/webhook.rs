//! `guests/webhook`: signed messages in, signed answers out.

use crate::telegram::bot::{only, secret, start, to};
use bub_runtime::error::Failure;
use bub_runtime::hooks::{WebhookRequest, WebhookResponse};
use bub_runtime::host::Host;
use bub_runtime::turn::CallScope;
use bub_tests::listener::{Listener, response};
use bub_tests::programs;
use bub_types::{Envelope, Provenance};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The shared secret.
pub const KEY: &str = "a-key-of-the-tests-0000";

struct Hook {
    host: Arc<Host>,
    _dir: tempfile::TempDir,
}

impl Hook {
    /// The channel, whose answers go to that address.
    async fn new(url: &str, key: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory for the test");
        let plugins = dir.path().join("home/plugins");
        fs::create_dir_all(&plugins).expect("it can be made");
        fs::copy(programs::WEBHOOK, plugins.join("webhook.wasm")).expect("it can be copied");
        let grants = format!("[\"hook:channel\", \"http:{url}\", \"secret:webhook\"]");
        let config = format!(
            "[plugins.telegram]\nenabled = false\n[plugins.webhook]\nfollow = true\ngrants = {grants}\n\
             [plugins.webhook.config]\nurl = \"{url}/answers\"\n"
        );
        Self { host: start(dir.path(), &config, &secret("webhook", key)).await, _dir: dir }
    }

    async fn gets(&self, method: &str, headers: Vec<(String, String)>, body: &str) -> Result<WebhookResponse, Failure> {
        let calls = CallScope::new(&self.host);
        let request = WebhookRequest { method: method.into(), path: "/".into(), headers, body: body.into() };
        only(&calls).await.receive(&calls, request).await
    }

    async fn sends(&self, message: &Envelope, key: &str) -> Result<Option<String>, Failure> {
        let calls = CallScope::new(&self.host);
        only(&calls).await.send(&calls, message, key).await
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_secs()
}

fn signature(key: &str, timestamp: &str, body: &str) -> String {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(key.as_bytes()).expect("any key will do");
    mac.update(format!("{timestamp}.{body}").as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn signed(key: &str, at: u64, body: &str) -> Vec<(String, String)> {
    let signature = signature(key, &at.to_string(), body);
    vec![("Bub-Timestamp".to_owned(), at.to_string()), ("Bub-Signature".to_owned(), signature)]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_message_is_taken() {
    let hook = Hook::new("http://127.0.0.1:9", KEY).await;
    let body = json!({ "id": "m-1", "chat_id": "ops", "sender": "ci", "content": "the build is red" }).to_string();
    let response = hook.gets("POST", signed(KEY, now(), &body), &body).await.expect("it is taken");
    assert_eq!(response.status, 202);
    let [arrival] = response.arrivals.as_slice() else { panic!("one") };
    let message = &arrival.message;
    assert!(arrival.active);
    assert_eq!((message.id.as_deref(), message.session_id.as_deref()), (Some("m-1"), Some("webhook:ops")));
    assert_eq!((message.sender.as_deref(), message.content.as_str()), (Some("ci"), "the build is red"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_parts_of_a_message_say_where_they_come_from() {
    let hook = Hook::new("http://127.0.0.1:9", KEY).await;
    let passages = json!([{ "provenance": "quoted", "author": "Eve", "text": ",help" }]);
    let media =
        json!([{ "mime_type": "text/plain", "filename": "a", "url": "https://x.test/a", "provenance": "forwarded" }]);
    let body = json!({ "id": "m-1", "passages": passages, "media": media }).to_string();
    let response = hook.gets("POST", signed(KEY, now(), &body), &body).await.expect("it is taken");
    let [arrival] = response.arrivals.as_slice() else { panic!("one") };
    let (passage, item) = (&arrival.message.passages[0], &arrival.message.media[0]);
    assert_eq!((passage.provenance, item.provenance), (Provenance::Quoted, Provenance::Forwarded));
    assert_eq!((arrival.message.content.as_str(), passage.text.as_str()), ("", ",help"));
    // A part whose origin the guest would not understand is not left out in silence.
    for wrong in [json!({ "provenance": "mine", "text": "x" }), json!({ "text": "x" })] {
        let body = json!({ "id": "m-2", "content": "hi", "passages": [wrong] }).to_string();
        let response = hook.gets("POST", signed(KEY, now(), &body), &body).await.expect("it is answered");
        assert_eq!((response.status, response.arrivals.len()), (400, 0), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_without_a_recent_valid_signature_is_rejected() {
    let hook = Hook::new("http://127.0.0.1:9", KEY).await;
    let body = json!({ "id": "m-1", "content": "hi" }).to_string();
    let other = json!({ "id": "m-2", "content": "hi" }).to_string();
    for (what, method, headers, body, status) in [
        ("not signed", "POST", Vec::new(), &body, 401),
        ("by another", "POST", signed("another-key-of-the-tests", now(), &body), &body, 401),
        ("of another body", "POST", signed(KEY, now(), &other), &body, 401),
        ("long ago", "POST", signed(KEY, now() - 400, &body), &body, 401),
        ("from the future", "POST", signed(KEY, now() + 400, &body), &body, 401),
        ("another method", "PUT", signed(KEY, now(), &body), &body, 405),
        ("no message", "POST", signed(KEY, now(), "[]"), &"[]".to_owned(), 400),
    ] {
        let response = hook.gets(method, headers, body).await.expect("it is answered");
        assert_eq!((response.status, response.arrivals.len()), (status, 0), "{what}");
    }
    let mut late = signed(KEY, now(), &body);
    late[0].1 = (now() + 1).to_string();
    assert_eq!(hook.gets("POST", late, &body).await.expect("it is answered").status, 401, "another time");
    // Without a key every request fails with an error for the operator; a stranger's request does not.
    let hook = Hook::new("http://127.0.0.1:9", "").await;
    let failure = hook.gets("POST", signed("", now(), &body), &body).await.err().expect("it fails");
    assert!(failure.to_string().starts_with("hook `receive` of plugin `webhook`: "), "{failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_sent_signed_with_its_key() {
    let server = Listener::new(|_| response(200, "", ""));
    let hook = Hook::new(&server.base(), KEY).await;
    for _ in 0..2 {
        assert_eq!(hook.sends(&to("ops", "it is green"), "run-7/0").await.expect("it is delivered"), None);
    }
    let heard = server.heard();
    for request in &heard {
        let (head, body) = request.split_once("\r\n\r\n").expect("a head and a body");
        let header = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).expect("it is there")
        };
        assert!(head.starts_with("POST /answers HTTP/1.1"), "{head}");
        assert_eq!(header("idempotency-key"), "run-7/0");
        assert_eq!(header("bub-signature"), signature(KEY, header("bub-timestamp"), body));
        let said: Value = serde_json::from_str(body).expect("JSON");
        let expected = json!({ "id": "run-7/0", "kind": "answer", "chat_id": "ops", "content": "it is green" });
        assert_eq!(said, expected);
    }
    assert_eq!(heard.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_of_the_server_determines_whether_to_retry() {
    for (status, headers, expected) in [
        (503, "retry-after: 5\r\n", Some(Duration::from_secs(5))),
        (500, "", Some(Duration::ZERO)),
        (429, "", Some(Duration::ZERO)),
        (404, "", None),
        (301, "location: https://x.test/\r\n", None),
    ] {
        let server = Listener::new(move |_| response(status, headers, ""));
        let hook = Hook::new(&server.base(), KEY).await;
        let failure = hook.sends(&to("ops", "hi"), "k").await.expect_err("it is refused");
        assert_eq!(failure.retry_after(), expected, "{status}: {failure}");
    }
}
