//! Requests that are sent, and parts that are not.

use std::net::TcpListener;
use std::time::Duration;

use bub_egress::{Body, EgressClient, Error, Limits, Network};
use bytes::Bytes;
use futures_util::stream;
use reqwest::Method;

use super::names::Names;
use super::server::Server;
use super::{Request, client, gate_to, get, limited, ok, post, target, text, url};

fn chunks(texts: &'static [&'static str], length: Option<u64>) -> Body {
    let chunks = texts.iter().map(|text| Ok::<_, std::io::Error>(Bytes::from_static(text.as_bytes())));
    Body::chunks(stream::iter(chunks), length)
}

#[tokio::test]
async fn a_host_that_no_grant_names_is_not_even_looked_up() {
    let names = Names::default();
    let client = EgressClient::new(Network::new(names.clone()), [target("api.test"), target("*.open.test")]);
    for (url, host) in [
        ("https://evil.test/path?key=abc", "evil.test"),
        ("http://api.test/", "http://api.test"),
        ("https://api.test:8443/", "api.test:8443"),
        ("https://open.test/", "open.test"),
        ("http://127.0.0.1:80/", "http://127.0.0.1"),
        ("https://[::1]:8443/", "[::1]:8443"),
    ] {
        let error = client.send(get(url)).await.expect_err(url);
        assert_eq!(error, Error::NotGranted { host: host.to_owned() });
        assert_eq!(error.to_string(), format!("no grant allows requests to `{host}`"));
        assert!(target(host).allows(&reqwest::Url::parse(url).expect("it is a URL")), "the host is a grant's text");
    }
    assert_eq!(names.asked(), [""; 0]);
}

#[test]
fn an_invalid_request_is_rejected_without_quoting_it() {
    let long = format!("https://api.test/{}", "a".repeat(9000));
    let label = format!("https://{}.test/", "a".repeat(64));
    for (method, url, reason) in [
        ("GET", "https://user:hunter2@api.test/", "a user name"),
        ("GET", "https://api.test:0/", "port 0"),
        ("GET", "ftp://api.test/hunter2", "neither `http` nor `https`"),
        ("GET", "file:///etc/hunter2", "neither `http` nor `https`"),
        ("GET", "/hunter2", "cannot be read"),
        ("GET", long.as_str(), "longer than 8192 bytes"),
        ("GET", label.as_str(), "no host"),
        ("CONNECT", "https://api.test/", "`CONNECT`"),
        ("TRACE", "https://api.test/", "`TRACE`"),
    ] {
        let method = method.parse().expect("it is a method");
        let Err(Error::Invalid(error)) = Request::new(method, url) else {
            panic!("`{url}` is refused");
        };
        assert!(error.contains(reason), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn headers_of_the_connection_are_ours() {
    let server = Server::start(|_| ok("", "")).await;
    let mut request = post(&url(&server, "/a?b=c#d"));
    for (name, value) in [
        ("host", "evil.test"),
        ("content-length", "7"),
        ("connection", "close, x-hop"),
        ("x-hop", "gone"),
        ("keep-alive", "gone"),
        ("proxy-authorization", "gone"),
        ("te", "gone"),
        ("transfer-encoding", "gone"),
        ("upgrade", "gone"),
        ("expect", "gone"),
        ("x-mine", "kept"),
        ("user-agent", "guest/1"),
    ] {
        request.headers.insert(name, value.parse().expect("it is a value"));
    }
    request.headers.append("x-mine", "kept too".parse().expect("it is a value"));
    request.body = Body::from("hello");
    gate_to(&server).send(request).await.expect("it answers");
    let seen = server.requests().concat();
    let mut lines: Vec<&str> = seen.lines().collect();
    lines[1..].sort_unstable();
    let host = format!("host: inner.test:{}", server.port());
    let wanted = [
        "post /a?b=c http/1.1",
        "",
        "accept: */*",
        "content-length: 5",
        "hello",
        host.as_str(),
        "user-agent: guest/1",
        "x-mine: kept",
        "x-mine: kept too",
    ];
    assert_eq!(lines, wanted);
}

#[tokio::test]
async fn a_body_of_known_length_declares_it() {
    let server = Server::start(|_| ok("", "")).await;
    let client = gate_to(&server);
    for (method, body, wanted) in [
        (Method::GET, Body::empty(), ""),
        (Method::POST, Body::empty(), "content-length: 0"),
        (Method::DELETE, Body::empty(), ""),
        (Method::POST, Body::from("hello"), "content-length: 5"),
        (Method::POST, chunks(&["hel", "lo"], Some(5)), "content-length: 5"),
        (Method::PUT, chunks(&["hel", "lo"], None), "transfer-encoding: chunked"),
    ] {
        let request = Request::new(method, &url(&server, "/")).expect("it is a request").with_body(body);
        client.send(request).await.expect("it answers");
        let seen = server.requests().pop().expect("it arrived");
        let (head, _) = seen.split_once("\r\n\r\n").expect("it has a head");
        let length = head.lines().find(|line| line.contains("length") || line.contains("chunked"));
        assert_eq!(length.unwrap_or_default(), wanted);
    }
}

#[tokio::test]
async fn a_body_with_a_declared_length_beyond_the_limit_is_not_sent() {
    let server = Server::start(|_| ok("", "")).await;
    let client = limited(&server, Limits { request: 4, ..Limits::default() });
    for body in [Body::from("hello"), chunks(&["hello"], Some(5))] {
        let error = client.send(post(&url(&server, "/")).with_body(body)).await.expect_err("it is too long");
        assert_eq!(error, Error::TooLarge { part: "request", limit: 4 });
    }
    assert_eq!(server.connections(), 0);
    let exact = post(&url(&server, "/")).with_body(Body::from("four"));
    client.send(exact).await.expect("the limit itself is allowed");
}

#[tokio::test]
async fn a_body_that_differs_from_its_declared_length_fails_the_request() {
    let server = Server::start(|_| ok("", "")).await;
    let client = limited(&server, Limits { request: 8, ..Limits::default() });
    let too_large = Error::TooLarge { part: "request", limit: 8 };
    let wrong = Error::Invalid("the body's length differs from the declared one".to_owned());
    for (body, wanted) in [
        (chunks(&["hello", "hello"], None), too_large.clone()),
        (chunks(&["hello, all"], Some(5)), too_large),
        (chunks(&["hello!"], Some(5)), wrong.clone()),
        (chunks(&["hel"], Some(5)), wrong),
    ] {
        let error = client.send(post(&url(&server, "/")).with_body(body)).await.expect_err("it is not as it said");
        assert_eq!(error, wanted);
    }
    let broken = stream::iter([Ok(Bytes::from_static(b"a")), Err("the guest\nleft")]);
    let request = post(&url(&server, "/")).with_body(Body::chunks(broken, None));
    let error = client.send(request).await.expect_err("it broke off");
    assert!(matches!(&error, Error::Failed { reason, .. } if reason == "the guest left"), "{error:?}");
    assert_eq!(server.requests(), [""; 0], "none arrived whole");
}

#[tokio::test]
async fn headers_beyond_the_limit_do_not_leave() {
    let server = Server::start(|_| ok("", "")).await;
    let client = gate_to(&server);
    let mut request = get(&url(&server, "/"));
    for _ in 0..17 {
        request.headers.append("x-long", "a".repeat(8 << 10).parse().expect("it is a value"));
    }
    let error = client.send(request).await.expect_err("that is too much");
    assert_eq!(error, Error::TooLarge { part: "headers", limit: 128 << 10 });
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn network_errors_contain_no_address_path_or_query() {
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        listener.local_addr().expect("it has one").port()
    };
    let host = format!("http://inner.test:{closed}");
    let client = client(&[&host, "http://nowhere.test"]);
    let error = client.send(get(&format!("{host}/path?key=abc"))).await.expect_err("the port is closed");
    assert_eq!(error.to_string(), format!("`{host}`: connection refused"));
    let error = client.send(get("http://nowhere.test/path?key=abc")).await.expect_err("the name does not exist");
    assert_eq!(error.to_string(), "`http://nowhere.test`: the name cannot be resolved");
}

#[tokio::test]
async fn requests_to_one_host_share_a_connection() {
    let server = Server::start(|_| ok("", "hi")).await;
    let names = Names::changing("inner.test", &[&["127.0.0.1"], &["10.0.0.1"]]);
    let client =
        EgressClient::new(Network::new(names.clone()), [target(&format!("http://inner.test:{}", server.port()))]);
    for _ in 0..3 {
        let response = client.clone().send(get(&url(&server, "/"))).await.expect("it answers");
        assert_eq!(text(response).await.as_deref(), Ok("hi"));
    }
    assert_eq!((server.connections(), names.asked().len()), (1, 1));
}

#[tokio::test]
async fn https_is_never_spoken_in_clear() {
    let server = Server::start(|_| ok("", "")).await;
    let host = format!("inner.test:{}", server.port());
    let limits = Limits { first_byte: Duration::from_millis(500), ..Limits::default() };
    let error = client(&[&host]).with_limits(limits).send(get(&format!("https://{host}/"))).await;
    let error = error.expect_err("there is no TLS");
    assert!(matches!(error, Error::TimedOut { .. } | Error::Failed { .. }), "{error:?}");
    assert_eq!(server.requests(), [""; 0]);
}
