//! Targets of a grant.

use bub_egress::Target;
use reqwest::Url;

use super::target;

fn allows(grant: &str, url: &str) -> bool {
    target(grant).allows(&Url::parse(url).expect("it is a URL"))
}

#[test]
fn a_grant_allows_exactly_its_target() {
    for (grant, url, wanted) in [
        ("api.test", "https://api.test/a?b", true),
        ("api.test", "https://api.test:443/", true),
        ("api.test", "https://API.Test./", true),
        ("API.test.", "https://api.test/", true),
        ("https://api.test", "https://api.test/", true),
        ("api.test", "http://api.test/", false),
        ("api.test", "https://api.test:8443/", false),
        ("api.test", "https://xapi.test/", false),
        ("api.test", "https://api.test.evil/", false),
        ("api.test", "https://a.api.test/", false),
        ("api.test", "https://api.test@evil.test/", false),
        ("api.test", "https://user@api.test/", false),
        ("api.test", "https://:word@api.test/", false),
        ("api.test", "ftp://api.test/", false),
        ("api.test", "wss://api.test/", false),
        ("api.test:8443", "https://api.test:8443/", true),
        ("api.test:8443", "https://api.test/", false),
        ("http://api.test", "http://api.test/", true),
        ("http://api.test", "http://api.test:80/", true),
        ("http://api.test", "https://api.test/", false),
        ("HTTP://api.test:8080", "http://api.test:8080/", true),
        ("*.test", "https://evil.test/", true),
        ("*.test", "https://a.b.test/", true),
        ("*.test", "https://A.TEST./", true),
        ("*.test", "https://eviltest/", false),
        ("*.test", "https://test/", false),
        ("*.api.test", "https://api.test/", false),
        ("*.api.test", "https://evilapi.test/", false),
        ("*.test:8443", "https://a.test:8443/", true),
        ("*.test:8443", "https://a.test/", false),
        ("*", "https://anything.test/", true),
        ("*", "https://1.1.1.1/", true),
        ("*", "http://anything.test/", false),
        ("*", "https://anything.test:8443/", false),
        ("http://*:8080", "http://anything.test:8080/", true),
        ("bücher.test", "https://xn--bcher-kva.test/", true),
        ("xn--bcher-kva.test", "https://BÜCHER.test/", true),
        ("*.bücher.test", "https://a.xn--bcher-kva.test/", true),
        ("b\u{fc}cher.test", "https://bucher.test/", false),
        ("http://127.0.0.1:8080", "http://0x7f.1:8080/", true),
        ("127.0.0.1", "https://[::ffff:127.0.0.1]/", true),
        ("[::1]:8080", "https://[0:0::1]:8080/", true),
        ("[::1]", "https://[::2]/", false),
    ] {
        assert_eq!(allows(grant, url), wanted, "`{grant}` and `{url}`");
    }
}

#[test]
fn only_an_exact_host_may_be_private() {
    for (grant, url, wanted) in [
        ("http://localhost:3000", "http://LOCALHOST.:3000/", true),
        ("http://127.0.0.1:8080", "http://127.1:8080/", true),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8081/", false),
        ("http://127.0.0.1:8080", "http://127.0.0.2:8080/", false),
        ("*", "https://localhost/", false),
        ("*.localhost", "https://a.localhost/", false),
    ] {
        let url = Url::parse(url).expect("it is a URL");
        assert_eq!(target(grant).names_private(&url), wanted, "`{grant}` and `{url}`");
    }
}

#[test]
fn an_invalid_target_is_rejected_with_the_users_text() {
    for (grant, reason) in [
        ("", "names no host"),
        ("http://", "names no host"),
        (":443", "names no host"),
        ("api.test:99999", "names no host"),
        ("999.1.1.1", "names no host"),
        ("a..test", "names no host"),
        ("ftp://api.test", "another scheme"),
        ("api.test/path", "a path or query"),
        ("api.test?a", "a path or query"),
        ("api.test#a", "a path or query"),
        ("api.test\\a", "a path or query"),
        ("me@api.test", "a user name"),
        ("api .test", "a space or control character"),
        ("api\n.test", "a space or control character"),
        ("::1", "in brackets"),
        ("api.test:0", "port 0"),
        ("api.*.test", "a `*`"),
        ("*api.test", "a `*`"),
        ("**", "a `*`"),
        ("*.*.test", "a `*`"),
        ("*..test", "a `*`"),
        ("*.10.0.0.1", "subdomains of an address"),
        ("*.1.2", "subdomains of an address"),
        ("*.[::1]", "in brackets"),
    ] {
        let error = Target::parse(grant).expect_err(grant).to_string();
        assert!(error.contains(reason), "{error}");
        assert!(error.contains(&format!("`{}`", grant.escape_debug())), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn a_target_is_shown_as_the_shortest_grant_that_means_it() {
    for (grant, shown) in [
        ("https://API.test:443", "api.test"),
        ("http://api.test:80", "http://api.test"),
        ("http://api.test:8080", "http://api.test:8080"),
        ("*.Test.", "*.test"),
        ("https://*", "*"),
        ("*:8443", "*:8443"),
        ("[0::1]:8443", "[::1]:8443"),
        ("0177.0.0.1", "127.0.0.1"),
    ] {
        let parsed = target(grant);
        assert_eq!(parsed.to_string(), shown);
        assert_eq!(target(shown), parsed);
    }
    let url = Url::parse("http://API.test.:8080/path?query").expect("it is a URL");
    assert_eq!(Target::from_url(&url).map(|target| target.to_string()).as_deref(), Some("http://api.test:8080"));
}
