//! Secrets are filled in behind the check, and taken out of what comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bub_egress::{EgressClient, Error, Outgoing};
use reqwest::header::HeaderValue;

use super::server::{Server, Step};
use super::{client, gate_to, get, ok, text, url};

const KEY: &str = "sk-very-secret";

/// Puts the key into the header `x-key` and, in the path, where `KEY` stands.
fn fill(outgoing: &mut Outgoing) -> Result<Vec<Vec<u8>>, Error> {
    let path = outgoing.url.path().replace("KEY", KEY);
    outgoing.url.set_path(&path);
    outgoing.headers.insert("x-key", HeaderValue::from_static(KEY));
    Ok(vec![KEY.as_bytes().to_vec()])
}

#[tokio::test]
async fn a_key_reaches_the_host_and_does_not_come_back() {
    let server = Server::start(|request| {
        assert!(request.contains(KEY));
        let half = KEY.len() / 2;
        let head = format!(
            "HTTP/1.1 200 X\r\nx-echo: a {KEY} b\r\nx-{KEY}: 1\r\nlocation: /bot{KEY}/\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        let pieces = [format!("got {}", &KEY[..half]), format!("{} and {KEY}{KEY}", &KEY[half..])];
        let pause = Step::Wait(std::time::Duration::from_millis(50));
        let mut steps = vec![Step::send(&head)];
        for piece in pieces {
            steps.push(Step::send(&format!("{:x}\r\n{piece}\r\n", piece.len())));
            steps.push(pause.clone());
        }
        steps.push(Step::send("0\r\n\r\n"));
        steps
    })
    .await;
    let client = gate_to(&server).with_rewrite(fill);
    let response = client.send(get(&url(&server, "/botKEY/me"))).await.expect("it answers");
    let seen = server.requests().concat();
    assert!(seen.starts_with(&format!("get /bot{KEY}/me http/1.1")), "{seen}");
    assert!(seen.contains(&format!("x-key: {KEY}")), "{seen}");
    assert_eq!(response.headers["x-echo"], "a *** b");
    assert_eq!(response.headers["location"], "/bot***/");
    assert!(!format!("{:?}", response.headers).contains(KEY), "{:?}", response.headers);
    assert_eq!(text(response).await.as_deref(), Ok("got *** and ******"));
}

#[tokio::test]
async fn an_answer_whose_length_changes_does_not_say_it() {
    let server = Server::start(|_| ok("etag: a\r\n", KEY)).await;
    let response = gate_to(&server).with_rewrite(fill).send(get(&url(&server, "/"))).await.expect("it answers");
    assert!(!response.headers.contains_key("content-length"));
    assert_eq!(text(response).await.as_deref(), Ok("***"));
}

#[tokio::test]
async fn a_secret_cannot_hide_in_an_answer_that_is_compressed_or_in_parts() {
    let server = Server::start(|_| ok("content-encoding: gzip\r\n", "zip")).await;
    let ask = |client: EgressClient| {
        let mut request = get(&url(&server, "/"));
        request.headers.insert("accept-encoding", HeaderValue::from_static("gzip"));
        request.headers.insert("range", HeaderValue::from_static("bytes=0-3"));
        async move { client.send(request).await }
    };
    let error = ask(gate_to(&server).with_rewrite(fill)).await.expect_err("it cannot be searched");
    assert!(matches!(&error, Error::Failed { reason, .. } if reason.contains("compressed")), "{error:?}");
    let seen = server.requests().concat();
    assert!(seen.contains("accept-encoding: identity") && !seen.contains("gzip") && !seen.contains("range"), "{seen}");
    let nothing = |_: &mut Outgoing| Ok(Vec::new());
    ask(gate_to(&server).with_rewrite(nothing)).await.expect("without a secret all is as the guest wants it");
    let seen = server.requests().pop().expect("it arrived");
    assert!(seen.contains("accept-encoding: gzip") && seen.contains("range: bytes=0-3"), "{seen}");
}

#[tokio::test]
async fn nothing_is_filled_in_for_a_host_that_is_not_granted() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let count = move |_: &mut Outgoing| {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(Vec::new())
    };
    let client = client(&["*"]).with_rewrite(count);
    for url in ["http://evil.test/", "https://127.0.0.1/", "https://localhost/"] {
        client.send(get(url)).await.expect_err(url);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_request_is_never_rewritten_to_another_host() {
    let server = Server::start(|_| ok("", "reached")).await;
    let port = server.port();
    for other in [
        "https://inner.test/".to_owned(),
        format!("http://127.0.0.1:{port}/"),
        format!("http://inner.test.:{port}/"),
        format!("http://me@inner.test:{port}/"),
    ] {
        let other: reqwest::Url = other.parse().expect("it is a URL");
        let rewrite = move |outgoing: &mut Outgoing| {
            outgoing.url = other.clone();
            Ok(Vec::new())
        };
        let error = gate_to(&server).with_rewrite(rewrite).send(get(&url(&server, "/?key=abc"))).await;
        let wanted = format!("a request to `http://inner.test:{port}` was rewritten to another host");
        assert_eq!(error.expect_err("it goes elsewhere").to_string(), wanted);
    }
    let refuse = |_: &mut Outgoing| Err(Error::Refused("secret `bot` is not for this host".to_owned()));
    let error = gate_to(&server).with_rewrite(refuse).send(get(&url(&server, "/"))).await.expect_err("it is refused");
    assert_eq!(error.to_string(), "secret `bot` is not for this host");
    assert_eq!(server.connections(), 0);
}
