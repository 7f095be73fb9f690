//! Requests that marks are replaced in: where, toward whom, how they are encoded, and what is refused.

use super::{Room, VALUE, hosts, text};
use bub_egress::secret::{Error, InjectedRequest, NewValue, SecretInjector, Secrets, placeholder};

/// `VALUE` in a path or a query.
const IN_URL: &str = "k%2Fe%2By%3D1%202%263%25%224";

fn room() -> (Room, Secrets) {
    let room = Room::new();
    let mut secrets = room.load();
    secrets.set("a", text(VALUE), &hosts(["a.com"])).unwrap();
    secrets.set("telegram", text("123456:ABC-d_e"), &hosts(["api.telegram.org"])).unwrap();
    (room, secrets)
}

fn path(secrets: &Secrets, path: &str) -> Result<InjectedRequest, Error> {
    SecretInjector::new(secrets).inject("a.com", true, path, &[], &|_| true)
}

fn header(secrets: &Secrets, value: &[u8]) -> Result<InjectedRequest, Error> {
    let headers = [("x-key".to_owned(), value.to_vec()), ("{{secret:a}}".to_owned(), b"plain".to_vec())];
    SecretInjector::new(secrets).inject("a.com", true, "/", &headers, &|_| true)
}

#[test]
fn a_placeholder_is_made_of_the_name_alone() {
    assert_eq!(placeholder("any-name_1").unwrap(), "{{secret:any-name_1}}");
    assert!(matches!(placeholder("a}}{{b"), Err(Error::Invalid(_))));
}

#[test]
fn marks_in_path_and_query_are_filled_in_percent_encoded() {
    let (_room, secrets) = room();
    for (template, filled) in [
        ("/x/{{secret:a}}/y?q={{secret:a}}&z=1", format!("/x/{IN_URL}/y?q={IN_URL}&z=1")),
        ("/%7B%7Bsecret:a%7D%7D", format!("/{IN_URL}")),
        ("/%7b%7bsecret%3aa%7d%7d?%7B{secret%3Aa}%7D", format!("/{IN_URL}?{IN_URL}")),
        ("/{{{secret:a}}}", format!("/{{{IN_URL}}}")),
        ("{{secret:a}}{{secret:a}}", format!("{IN_URL}{IN_URL}")),
        ("/ä?%C3%A4", "/ä?%C3%A4".to_owned()),
        ("/{{ secret:a }}?%257B%257Bsecret:a", "/{{ secret:a }}?%257B%257Bsecret:a".to_owned()),
        ("", String::new()),
    ] {
        assert_eq!(path(&secrets, template).unwrap().path_and_query, filled, "{template}");
    }
    let telegram = SecretInjector::new(&secrets);
    let filled = telegram.inject("api.telegram.org", true, "/bot{{secret:telegram}}/getMe", &[], &|_| true).unwrap();
    assert_eq!(filled.path_and_query, "/bot123456:ABC-d_e/getMe", "a colon stays, for servers that do not decode it");
    assert_eq!(filled.used, ["telegram"]);
}

#[test]
fn marks_in_header_values_are_filled_in_as_they_are_and_names_stay() {
    let (_room, secrets) = room();
    let filled = header(&secrets, b"Bearer {{secret:a}}, \xff {{secret:a}}").unwrap();
    let mut value = b"Bearer ".to_vec();
    value.extend([VALUE.as_bytes(), b", \xff ", VALUE.as_bytes()].concat());
    let expected = [("x-key".to_owned(), value), ("{{secret:a}}".to_owned(), b"plain".to_vec())];
    assert_eq!(filled.headers, expected);
    assert_eq!(filled.used, ["a"]);
    assert_eq!(filled.path_and_query, "/");
    let encoded = header(&secrets, b"%7B%7Bsecret:a%7D%7D").unwrap();
    assert!(encoded.used.is_empty(), "no scheme encodes a header so");
}

#[test]
fn injected_values_are_not_searched_for_placeholders() {
    let (_room, mut secrets) = room();
    secrets.set("nested", text("{{secret:telegram}}"), &hosts(["a.com"])).unwrap();
    assert_eq!(header(&secrets, b"{{secret:nested}}").unwrap().headers[0].1, b"{{secret:telegram}}");
}

#[test]
fn a_secret_is_sent_only_to_the_hosts_that_it_is_bound_to() {
    let (_room, mut secrets) = room();
    let bound = ["a.com", "*.b.com", "127.0.0.1", "::1", "localhost", "10.0.0.1"];
    secrets.set("s", text("abcdef"), &hosts(bound)).unwrap();
    // Host, over https, over http.
    for (host, https, http) in [
        ("a.com", true, false),
        ("A.Com", true, false),
        ("x.b.com", true, false),
        ("x.y.B.com", true, false),
        ("127.0.0.1", true, true),
        ("[::1]", true, true),
        ("::1", true, true),
        ("0:0:0:0:0:0:0:1", true, true),
        ("localhost", true, true),
        ("10.0.0.1", true, false),
        ("a.com.", false, false),
        ("a.com:443", false, false),
        ("x.a.com", false, false),
        ("xa.com", false, false),
        ("a.com.evil.example", false, false),
        ("b.com", false, false),
        (".b.com", false, false),
        ("xb.com", false, false),
        ("evil/x.b.com", false, false),
        ("user@x.b.com", false, false),
        ("x.b.com.", false, false),
        ("127.0.0.2", false, false),
        ("0x7f.1", false, false),
        ("2130706433", false, false),
        ("[::ffff:127.0.0.1]", false, false),
        ("localhost.", false, false),
        ("x.localhost", false, false),
        ("", false, false),
        ("*.b.com", false, false),
    ] {
        for (scheme, goes) in [(true, https), (false, http)] {
            let outcome = SecretInjector::new(&secrets).inject(host, scheme, "/{{secret:s}}", &[], &|_| true);
            match goes {
                true => assert_eq!(outcome.map(|filled| filled.path_and_query), Ok("/abcdef".into()), "{host}"),
                false => assert!(matches!(outcome, Err(Error::NotBound { .. })), "{host} {scheme}: {outcome:?}"),
            }
        }
    }
}

#[test]
fn a_name_below_this_machine_does_not_go_over_plain_http() {
    let (_room, mut secrets) = room();
    secrets.set("s", text("abcdef"), &hosts(["*.dev.localhost"])).unwrap();
    let fill = |https| SecretInjector::new(&secrets).inject("x.dev.localhost", https, "/{{secret:s}}", &[], &|_| true);
    assert!(fill(true).is_ok());
    assert!(matches!(fill(false), Err(Error::NotBound { .. })));
}

#[test]
fn a_secret_without_hosts_is_never_sent_but_can_be_compared_and_used_for_signatures() {
    let (_room, mut secrets) = room();
    secrets.set("hook", text("abcdef"), &[]).unwrap();
    assert!(matches!(path(&secrets, "/{{secret:hook}}"), Err(Error::NotBound { .. })));
    assert!(secrets.matches("hook", b"abcdef").unwrap());
    assert_eq!(secrets.hmac_sha256("hook", b"").unwrap().len(), 32);
}

#[test]
fn an_ungranted_secret_is_rejected_before_its_existence_is_revealed() {
    let (_room, secrets) = room();
    for name in ["a", "telegram", "no-such-secret"] {
        let template = format!("/{{{{secret:{name}}}}}");
        let refused = SecretInjector::new(&secrets).inject("evil.example", false, &template, &[], &|_| false);
        assert_eq!(refused.unwrap_err(), Error::NotGranted { name: name.into() });
    }
    let only_a =
        SecretInjector::new(&secrets).inject("a.com", true, "/{{secret:a}}{{secret:b}}", &[], &|name| name == "a");
    assert_eq!(only_a.unwrap_err(), Error::NotGranted { name: "b".into() });
    assert_eq!(path(&secrets, "/{{secret:b}}").unwrap_err(), Error::NotFound { name: "b".into() });
}

#[test]
fn an_invalid_placeholder_is_rejected() {
    let (_room, secrets) = room();
    for template in ["/{{secret:", "/{{secret:}}", "/{{secret:a", "/{{secret:a}", "/{{secret:A}}", "/{{secret:a b}}"] {
        assert!(matches!(path(&secrets, template), Err(Error::Invalid(_))), "{template}");
        assert!(matches!(header(&secrets, template.as_bytes()), Err(Error::Invalid(_))), "{template}");
    }
    assert!(matches!(path(&secrets, "/%7B%7Bsecret:a%7D%7"), Err(Error::Invalid(_))));
}

#[test]
fn a_request_holds_32_marks_and_not_more() {
    let (_room, secrets) = room();
    assert!(path(&secrets, &"{{secret:a}}".repeat(32)).is_ok());
    assert!(matches!(path(&secrets, &"{{secret:a}}".repeat(33)), Err(Error::Invalid(_))));
}

#[test]
fn a_header_with_a_line_end_is_rejected() {
    let (room, mut secrets) = room();
    for value in [&b"x\r\ny: 1"[..], b"x\n", b"\0", b"\x7f"] {
        assert!(matches!(header(&secrets, value), Err(Error::Invalid(_))), "{value:?}");
    }
    assert!(header(&secrets, b"a\tb").is_ok());
    let file = room.file("pem", b"first line\r\nx-evil: 1\n");
    secrets.set("pem", NewValue::File(file), &hosts(["a.com"])).unwrap();
    let refused = header(&secrets, b"{{secret:pem}}").unwrap_err();
    assert!(matches!(refused, Error::Unusable { .. }) && !refused.to_string().contains("evil"), "{refused}");
    assert_eq!(path(&secrets, "/{{secret:pem}}").unwrap().path_and_query, "/first%20line%0D%0Ax-evil:%201");
}

#[test]
fn a_value_too_short_to_be_taken_out_of_the_answer_is_not_sent() {
    let room = Room::with("[a]\nvalue = \"abcde\"\nhosts = [\"a.com\"]\n");
    let secrets = room.load();
    assert!(matches!(path(&secrets, "/{{secret:a}}"), Err(Error::Unusable { .. })));
    assert!(secrets.matches("a", b"abcde").unwrap());
}

#[test]
fn all_encodings_of_used_secrets_are_redacted() {
    let (_room, secrets) = room();
    let filled = path(&secrets, "/{{secret:a}}").unwrap();
    let lower = IN_URL.replace("%2F", "%2f").replace("%2B", "%2b").replace("%3D", "%3d");
    for form in [VALUE, IN_URL, &lower, "k%2Fe%2By%3D1+2%263%25%224", "k/e+y=1 2&3%\\\"4", "ay9lK3k9MSAyJjMlIjQ"] {
        assert!(filled.values.iter().any(|value| value == form.as_bytes()), "{form} is not in {:?}", shown(&filled));
    }
    assert!(filled.values.is_sorted_by_key(|value| std::cmp::Reverse(value.len())));
    assert!(path(&secrets, "/").unwrap().values.is_empty());
    assert_eq!(format!("{filled:?}"), "InjectedRequest { used: [\"a\"], .. }");
}

#[test]
fn a_file_that_changes_is_read_once_for_one_request() {
    let (room, mut secrets) = room();
    let file = room.file("token", b"one value");
    secrets.set("f", NewValue::File(file.clone()), &hosts(["a.com"])).unwrap();
    let change = |_: &str| {
        std::fs::write(&file, "two value").unwrap();
        true
    };
    let filled =
        SecretInjector::new(&secrets).inject("a.com", true, "/{{secret:f}}/{{secret:f}}", &[], &change).unwrap();
    assert_eq!(filled.path_and_query, "/two%20value/two%20value");
}

fn shown(filled: &InjectedRequest) -> Vec<String> {
    filled.values.iter().map(|value| String::from_utf8_lossy(value).into_owned()).collect()
}
