//! Responses, and limits on their size.

use std::time::Duration;

use bub_egress::{Error, Limits};
use futures_util::StreamExt;

use super::server::{Server, Step};
use super::{gate_to, get, limited, ok, text, url};

const CHUNKED: &str = "HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n";

#[tokio::test]
async fn an_answer_comes_back_unchanged_without_connection_headers() {
    let server = Server::start(|_| {
        let head = "HTTP/1.1 404 X\r\nset-cookie: a\r\nset-cookie: b\r\nconnection: x-hop\r\nx-hop: gone\r\n\
                    keep-alive: timeout=5\r\nproxy-authenticate: gone\r\ncontent-length: 4\r\n\r\nnone";
        vec![Step::send(head)]
    })
    .await;
    let response = gate_to(&server).send(get(&url(&server, "/"))).await.expect("it answers");
    assert_eq!(response.status, 404);
    let headers: Vec<(&str, &[u8])> =
        response.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let wanted: [(&str, &[u8]); 3] = [("set-cookie", b"a"), ("set-cookie", b"b"), ("content-length", b"4")];
    assert_eq!(headers, wanted);
    assert_eq!(text(response).await.as_deref(), Ok("none"));
}

#[tokio::test]
async fn a_body_arrives_while_it_is_sent() {
    let server = Server::start(|_| {
        let first = format!("{CHUNKED}5\r\nfirst\r\n");
        vec![Step::send(&first), Step::Wait(Duration::from_secs(60))]
    })
    .await;
    let mut response = gate_to(&server).send(get(&url(&server, "/"))).await.expect("it answers");
    let chunk = response.body.next().await.expect("there is one").expect("it is good");
    assert_eq!(chunk, "first");
}

#[tokio::test]
async fn an_answer_with_a_declared_length_beyond_the_limit_is_not_read() {
    let server = Server::start(|_| ok("", "hello")).await;
    let client = limited(&server, Limits { answer: 4, ..Limits::default() });
    let error = client.send(get(&url(&server, "/"))).await.expect_err("it is too long");
    assert_eq!(error, Error::TooLarge { part: "answer", limit: 4 });
}

#[tokio::test]
async fn an_answer_without_end_is_cut_at_the_limit() {
    let server = Server::start(|_| {
        let piece = format!("1000\r\n{}\r\n", "a".repeat(4096));
        let pieces = std::iter::repeat_n(Step::send(&piece), 1000);
        [Step::send(CHUNKED)].into_iter().chain(pieces).collect()
    })
    .await;
    let client = limited(&server, Limits { answer: 100_000, ..Limits::default() });
    let mut response = client.send(get(&url(&server, "/"))).await.expect("it answers");
    let mut bytes = 0;
    let error = loop {
        match response.body.next().await.expect("it does not end quietly") {
            Ok(chunk) => bytes += chunk.len(),
            Err(error) => break error,
        }
    };
    assert_eq!(error, Error::TooLarge { part: "answer", limit: 100_000 });
    assert!(bytes <= 100_000, "{bytes}");
    assert!(response.body.next().await.is_none(), "nothing comes behind an error");
}

#[tokio::test]
async fn headers_of_an_answer_are_bounded() {
    let server = Server::start(|_| ok(&format!("x-long: {}\r\n", "a".repeat(3000)), "")).await;
    let client = limited(&server, Limits { headers: 2000, ..Limits::default() });
    let error = client.send(get(&url(&server, "/"))).await.expect_err("that is too much");
    assert_eq!(error, Error::TooLarge { part: "headers", limit: 2000 });

    let server = Server::start(|_| ok(&format!("x-long: {}\r\n", "a".repeat(2 << 20)), "")).await;
    let error = gate_to(&server).send(get(&url(&server, "/"))).await.expect_err("that is far too much");
    assert!(matches!(error, Error::Failed { .. } | Error::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn silence_ends_at_each_of_the_three_deadlines() {
    let minute = Step::Wait(Duration::from_secs(60));
    let drip = format!("{CHUNKED}1\r\na\r\n");
    let timed_out = |server: &Server| Error::TimedOut { host: format!("http://inner.test:{}", server.port()) };
    let short = Duration::from_millis(100);

    let steps = vec![minute.clone()];
    let silent = Server::start(move |_| steps.clone()).await;
    let client = limited(&silent, Limits { first_byte: short, ..Limits::default() });
    assert_eq!(client.send(get(&url(&silent, "/"))).await.expect_err("no head"), timed_out(&silent));
    let mut request = get(&url(&silent, "/"));
    request.first_byte = Some(short);
    assert_eq!(gate_to(&silent).send(request).await.expect_err("no head"), timed_out(&silent));

    let steps = vec![Step::send(&drip), minute];
    let stuck = Server::start(move |_| steps.clone()).await;
    let client = limited(&stuck, Limits { between_bytes: short, ..Limits::default() });
    let response = client.send(get(&url(&stuck, "/"))).await.expect("there is a head");
    assert_eq!(text(response).await, Err(timed_out(&stuck)));
    let mut request = get(&url(&stuck, "/"));
    request.between_bytes = Some(short);
    let response = gate_to(&stuck).send(request).await.expect("there is a head");
    assert_eq!(text(response).await, Err(timed_out(&stuck)));

    let piece = [Step::send("1\r\na\r\n"), Step::Wait(Duration::from_millis(20))];
    let steps: Vec<Step> = [Step::send(&drip)].into_iter().chain(piece.into_iter().cycle().take(1000)).collect();
    let slow = Server::start(move |_| steps.clone()).await;
    let client = limited(&slow, Limits { total: Duration::from_millis(300), ..Limits::default() });
    let response = client.send(get(&url(&slow, "/"))).await.expect("there is a head");
    assert_eq!(text(response).await, Err(timed_out(&slow)));
}

#[tokio::test]
async fn a_guest_waits_no_longer_than_the_limits_say() {
    let server = Server::start(|_| vec![Step::Wait(Duration::from_secs(60))]).await;
    let client = limited(&server, Limits { first_byte: Duration::from_millis(100), ..Limits::default() });
    let mut request = get(&url(&server, "/"));
    request.first_byte = Some(Duration::MAX);
    let error = client.send(request).await.expect_err("the limit counts");
    assert!(matches!(error, Error::TimedOut { .. }), "{error:?}");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error_and_not_an_end() {
    let server =
        Server::start(|_| vec![Step::send("HTTP/1.1 200 X\r\ncontent-length: 10\r\n\r\nhello"), Step::Close]).await;
    let response = gate_to(&server).send(get(&url(&server, "/"))).await.expect("there is a head");
    let error = text(response).await.expect_err("half is missing");
    assert!(matches!(&error, Error::Failed { reason, .. } if reason == "the answer broke off"), "{error:?}");
}

#[tokio::test]
async fn an_unrequested_protocol_upgrade_is_an_error() {
    for answer in ["HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n", "SSH-2.0-x\r\n\r\n\r\n"] {
        let server = Server::start(move |_| vec![Step::send(answer)]).await;
        let error = gate_to(&server).send(get(&url(&server, "/"))).await.expect_err("that is no answer");
        assert!(matches!(error, Error::Failed { .. }), "{error:?}");
    }
}
