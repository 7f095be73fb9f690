//! Requests that would leave the public internet: none gets through, and no connection is opened.

use std::time::Duration;

use bub_egress::{EgressClient, Error, Limits, Network};
use reqwest::Method;

use super::names::Names;
use super::server::{Server, Step};
use super::{Request, client, get, ok, target, text};

/// Hosts that a grant of `*` does not open, by their text alone.
const LITERALS: &[&str] = &[
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.0.0.1.",
    "127.255.255.254",
    "2130706433",
    "017700000001",
    "0x7f000001",
    "0x7f.1",
    "0x7f.0x0.0x0.0x1",
    "0177.0.0.1",
    "0177.0x0.1",
    "%31%32%37.0.0.1",
    "１２７.０.０.１",
    "127。0。0。1",
    "①②⑦.0.0.1",
    "0",
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "172.16.0.1",
    "192.0.0.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::127.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:169.254.169.254]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::169.254.169.254]",
    "[64:ff9b:1::a00:1]",
    "[2002:7f00:1::1]",
    "[2001:0:7f00:1::1]",
    "[fe80::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[ff02::1]",
    "localhost",
    "localhost.",
    "LOCALHOST",
    "LocalHost.",
    "a.localhost",
    "%6cocalhost",
    "ｌｏｃａｌｈｏｓｔ",
];

/// Names, and their addresses.
const NAMES: &[(&str, &[&str])] = &[
    ("loopback.test", &["127.0.0.1"]),
    ("loopback6.test", &["::1"]),
    ("mapped.test", &["::ffff:127.0.0.1"]),
    ("private.test", &["10.0.0.7"]),
    ("link.test", &["169.254.169.254"]),
    ("any.test", &["0.0.0.0"]),
    ("any6.test", &["::"]),
    ("nat64.test", &["64:ff9b::7f00:1"]),
    ("unique.test", &["fd00::1"]),
    ("mixed.test", &["3ffe::1", "127.0.0.1"]),
    ("mixed-behind.test", &["127.0.0.1", "3ffe::1"]),
    // On a network whose resolver looks below a search domain.
    ("localhost.localdomain", &["127.0.0.1"]),
    ("metadata", &["169.254.169.254"]),
];

/// Texts that some libraries read as a host, and a URL does not.
const UNREADABLE: &[&str] = &[
    "127.0.0.1..",
    "localhost..",
    "[::1%25lo]",
    "[fe80::1%25eth0]",
    "0x7f.0.0.0.1",
    "256.0.0.1",
    "127.0.0.0x100",
    "a.127.1.1.1.1",
    "127.0.0.1%00.test",
    "user@127.0.0.1",
    "public.test:80@127.0.0.1",
];

async fn trap() -> Server {
    Server::start(|_| ok("", "reached")).await
}

#[tokio::test]
async fn a_grant_of_everything_does_not_open_an_address_that_is_not_public() {
    let server = trap().await;
    let names = Names::default();
    let port = server.port();
    let client = EgressClient::new(Network::new(names.clone()), [target(&format!("http://*:{port}"))]);
    for host in LITERALS {
        let error = client.send(get(&format!("http://{host}:{port}/"))).await.expect_err(host);
        assert!(matches!(error, Error::Private { named: false, .. }), "`{host}`: {error:?}");
    }
    assert_eq!(names.asked(), [""; 0], "no literal is looked up");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_name_that_leads_to_one_private_address_opens_none() {
    let server = trap().await;
    let port = server.port();
    let names = Names::new(NAMES.iter().copied());
    let client =
        EgressClient::new(Network::new(names), ["*", "*.test"].map(|host| target(&format!("http://{host}:{port}"))));
    for (name, _) in NAMES {
        for host in [(*name).to_owned(), format!("{name}."), name.to_uppercase()] {
            let error = client.send(get(&format!("http://{host}:{port}/"))).await.expect_err(&host);
            assert!(matches!(error, Error::Private { named: false, .. }), "`{host}`: {error:?}");
        }
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_host_that_libraries_read_differently_is_no_host() {
    for host in UNREADABLE {
        let error = Request::new(Method::GET, &format!("http://{host}:1/")).expect_err(host);
        assert!(matches!(error, Error::Invalid(_)), "`{host}`: {error:?}");
    }
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_that_is_connected_to() {
    let server = trap().await;
    let port = server.port();
    // The first is not assigned, and counts as public.
    let names = Names::changing("rebinding.test", &[&["3ffe::1"], &["127.0.0.1"]]);
    let limits = Limits { first_byte: Duration::from_millis(300), ..Limits::default() };
    let client =
        EgressClient::new(Network::new(names.clone()), [target(&format!("http://*:{port}"))]).with_limits(limits);
    let ask = || client.send(get(&format!("http://rebinding.test:{port}/")));
    let error = ask().await.expect_err("nothing listens there");
    assert!(matches!(error, Error::TimedOut { .. } | Error::Failed { .. }), "{error:?}");
    assert_eq!(names.asked().len(), 1, "there is no second lookup to answer otherwise");
    let error = ask().await.expect_err("it is private by now");
    assert!(matches!(error, Error::Private { .. }), "{error:?}");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_redirect_is_returned_and_checked_as_a_new_request() {
    let trap = trap().await;
    let location = format!("http://127.0.0.1:{}/secret", trap.port());
    let answer = format!("HTTP/1.1 302 X\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
    let server = Server::start(move |_| vec![Step::send(&answer)]).await;
    let grants = [format!("http://inner.test:{}", server.port()), format!("http://*:{}", trap.port())];
    let client = client(&[&grants[0], &grants[1]]);
    let response = client.send(get(&super::url(&server, "/"))).await.expect("it answers");
    assert_eq!(response.status, 302);
    assert_eq!(response.headers["location"], location.as_str());
    let error = client.send(get(&location)).await.expect_err("it is private");
    assert!(matches!(error, Error::Private { .. }), "{error:?}");
    assert_eq!(trap.connections(), 0);
}

#[tokio::test]
async fn a_host_that_is_granted_by_name_may_be_private() {
    let server = trap().await;
    let port = server.port();
    let names = Names::new([("inner.test", ["127.0.0.1"].as_slice()), ("localhost", &["127.0.0.1"])]);
    let network = Network::new(names);
    for host in ["inner.test", "localhost", "127.0.0.1"] {
        let client = EgressClient::new(network.clone(), [target(&format!("http://{host}:{port}"))]);
        for asked in [host.to_owned(), format!("{host}."), host.to_uppercase()] {
            let response = client.send(get(&format!("http://{asked}:{port}/"))).await.expect("it is granted");
            assert_eq!(text(response).await.as_deref(), Ok("reached"));
        }
    }
    let hosts: Vec<String> =
        server.requests().iter().filter_map(|head| Some(head.lines().nth(1)?.to_owned())).collect();
    assert!(hosts.iter().all(|host| !host.contains(".:")), "one host has one name: {hosts:?}");
}

#[tokio::test]
async fn the_system_knows_localhost_and_opens_it_by_name_only() {
    let server = trap().await;
    let port = server.port();
    let url = format!("http://localhost:{port}/");
    let by_star = EgressClient::new(Network::default(), [target(&format!("http://*:{port}"))]);
    let error = by_star.send(get(&url)).await.expect_err("it is not granted by name");
    assert_eq!(error, Error::Private { host: format!("http://localhost:{port}"), named: false });
    assert_eq!(server.connections(), 0);
    let by_name = EgressClient::new(Network::default(), [target(&format!("http://localhost:{port}"))]);
    let response = by_name.send(get(&url)).await.expect("it is granted");
    assert_eq!(text(response).await.as_deref(), Ok("reached"));
}

#[tokio::test]
async fn a_name_leads_to_no_link_local_address_even_when_it_is_granted() {
    let names = Names::new([("link.test", ["169.254.169.254"].as_slice()), ("any.test", &["0.0.0.0"])]);
    let network = Network::new(names);
    for host in ["link.test", "any.test"] {
        let client = EgressClient::new(network.clone(), [target(&format!("http://{host}"))]);
        let error = client.send(get(&format!("http://{host}/"))).await.expect_err(host);
        assert_eq!(error, Error::Private { host: format!("http://{host}"), named: true });
    }
}

#[tokio::test]
async fn a_connection_that_one_plugin_may_have_is_not_there_for_another() {
    let server = trap().await;
    let port = server.port();
    let network = Network::new(Names::new([("inner.test", ["127.0.0.1"].as_slice())]));
    let by_name = EgressClient::new(network.clone(), [target(&format!("http://inner.test:{port}"))]);
    let by_star = EgressClient::new(network, [target(&format!("http://*:{port}"))]);
    let url = format!("http://inner.test:{port}/");
    for _ in 0..3 {
        let response = by_name.send(get(&url)).await.expect("it is granted");
        assert_eq!(text(response).await.as_deref(), Ok("reached"));
        let error = by_star.send(get(&url)).await.expect_err("it is not granted by name");
        assert!(matches!(error, Error::Private { .. }), "{error:?}");
    }
    assert_eq!((server.connections(), server.requests().len()), (1, 3));
}
