//! Rules for hosts, and the connections that they allow.

use super::names::Names;
use bub_egress::{Destination, Error, HostRule, Network};
use std::time::Duration;
use tokio::net::TcpListener;

fn rule(text: &str) -> HostRule {
    HostRule::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn to(host: &str, port: u16) -> Destination {
    Destination::new(host, port).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_rule_is_for_its_host_and_port_in_every_spelling_of_them() {
    for (text, host, port, wanted) in [
        ("example.test", "example.test", 443, true),
        ("example.test", "EXAMPLE.Test.", 80, true),
        ("example.test", "example.test", 25, false),
        ("example.test", "a.example.test", 443, false),
        ("example.test", "xexample.test", 443, false),
        ("example.test:443", "example.test", 443, true),
        ("example.test:443", "example.test", 80, false),
        ("example.test:8080", "example.test", 8080, true),
        ("example.test:8080", "example.test", 443, false),
        ("*.example.test", "a.example.test", 443, true),
        ("*.example.test", "a.b.example.test", 80, true),
        ("*.example.test", "example.test", 443, false),
        ("*.example.test:22", "a.example.test", 22, true),
        ("*", "anything.test", 443, true),
        ("*", "anything.test", 22, false),
        ("*:22", "anything.test", 22, true),
        ("127.0.0.1:8080", "127.0.0.1", 8080, true),
        ("127.0.0.1:8080", "0x7f.1", 8080, true),
        ("127.0.0.1:8080", "2130706433", 8080, true),
        ("127.0.0.1:8080", "0177.0.0.1", 8080, true),
        ("127.0.0.1:8080", "::ffff:127.0.0.1", 8080, true),
        ("127.0.0.1:8080", "[::ffff:7f00:1]", 8080, true),
        ("127.0.0.1:8080", "localhost", 8080, false),
        ("[::1]:8080", "::1", 8080, true),
        ("[::1]:8080", "0:0:0:0:0:0:0:1", 8080, true),
    ] {
        assert_eq!(rule(text).matches(&to(host, port)), wanted, "`{text}` and `{host}` at {port}");
    }
}

#[test]
fn a_rule_is_printed_as_it_is_read() {
    for text in ["example.test", "example.test:443", "example.test:22", "*.example.test", "*", "*:22", "[::1]:8080"] {
        assert_eq!(rule(text).to_string(), text);
    }
    assert_eq!(HostRule::shortest(&to("example.test", 80)).to_string(), "example.test");
    assert_eq!(HostRule::shortest(&to("example.test", 22)).to_string(), "example.test:22");
    assert_eq!(HostRule::of_url("https://a.test/index/").unwrap().to_string(), "a.test:443");
    assert_eq!(HostRule::of_url("file:///etc/passwd"), None);
}

#[test]
fn what_is_no_rule_says_why() {
    for (text, why) in [
        ("https://example.test", "is a URL"),
        ("example.test/path", "path"),
        ("user@example.test", "user name"),
        ("a b", "space"),
        ("ex*mple.test", "`*`"),
        ("example.test:0", "port 0"),
        ("::1", "brackets"),
        ("", "no host"),
    ] {
        let error = HostRule::parse(text).expect_err(text).to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn what_names_no_host_is_no_destination() {
    for host in [
        "",
        " ",
        "a b",
        "a/b",
        "a@b",
        "a\r\nb",
        "a\0b",
        "fe80::1%eth0",
        "example.test:80",
        "[::1]:80",
        "[::1",
        "1.2.3.4.5",
    ] {
        assert!(matches!(Destination::new(host, 443), Err(Error::Invalid(_))), "`{}`", host.escape_debug());
    }
    assert!(Destination::new("example.test", 0).is_err());
    assert!(Destination::new(&"a".repeat(300), 443).is_err());
    for text in ["example.test", "example.test:", "example.test:x", "example.test:+80", "example.test:99999", "::1:80"]
    {
        assert!(Destination::parse(text).is_err(), "`{text}`");
    }
    assert_eq!(Destination::parse("[::1]:80").unwrap().to_string(), "[::1]:80");
}

#[tokio::test]
async fn a_connection_goes_to_a_private_address_only_by_an_exact_rule() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let names = [
        ("inner.test", ["127.0.0.1"].as_slice()),
        ("meta.test", &["169.254.169.254"]),
        ("mixed.test", &["127.0.0.1", "169.254.169.254"]),
    ];
    let network = Network::new(Names::new(names));
    for host in ["inner.test", "127.0.0.1", "localhost", "a.localhost"] {
        let refused = network.connect(&to(host, port), false).await.map(drop);
        assert!(matches!(refused, Err(Error::Private { named: false, .. })), "`{host}`: {refused:?}");
    }
    for host in ["inner.test", "127.0.0.1"] {
        network.connect(&to(host, port), true).await.unwrap_or_else(|error| panic!("`{host}`: {error}"));
    }
    // No name leads to where keys of the machine are handed out, whatever a rule says.
    for host in ["meta.test", "mixed.test"] {
        let refused = network.connect(&to(host, port), true).await.map(drop);
        assert!(matches!(refused, Err(Error::Private { named: true, .. })), "`{host}`: {refused:?}");
    }
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_checked_and_connected_to_by_one_lookup() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let names = Names::changing("turns.test", &[&["8.8.8.8"], &["127.0.0.1"]]);
    let network = Network::new(names.clone());
    // The first answer is public and unreachable or not; the second one is never asked for.
    let destination = to("turns.test", port);
    let first = tokio::time::timeout(Duration::from_millis(300), network.connect(&destination, false));
    assert!(first.await.map_or(true, |connected| connected.is_err()));
    assert_eq!(names.asked().len(), 1);
    let second = network.connect(&destination, false).await.map(drop);
    assert!(matches!(second, Err(Error::Private { .. })), "{second:?}");
}

#[tokio::test]
async fn a_host_that_cannot_be_reached_is_named_in_the_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let network = Network::new(Names::default());
    let error = network.connect(&to("127.0.0.1", port), true).await.map(drop).expect_err("nobody listens");
    assert!(error.to_string().contains("127.0.0.1"), "{error}");
    let error = network.connect(&to("missing.test", 443), true).await.map(drop).expect_err("it has no address");
    assert!(error.to_string().contains("cannot be resolved"), "{error}");
}
