//! The server on a network: TLS, requests that need it, and ambiguous requests.

use super::{echo, say, serve};
use crate::home;
use bub_tests::{Home, Said, Serve};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

/// A certificate for this machine with its key, in files of the home.
struct Identity {
    certificate: String,
}

impl Identity {
    /// Writes the files, which the configuration names.
    fn new(home: &Home) -> Self {
        home.configure("[serve.tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"");
        Self::written(home)
    }

    /// Writes the files anew.
    fn written(home: &Home) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let (file, key) = (home.bub_home().join("server.pem"), home.bub_home().join("server.key"));
        fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(file, made.cert.pem()).unwrap();
        Self { certificate: made.cert.pem() }
    }

    /// A client that trusts this certificate alone, with connections of its own.
    fn client(&self) -> reqwest::Client {
        let root = reqwest::Certificate::from_pem(self.certificate.as_bytes()).unwrap();
        bub_tls::client().tls_certs_only([root]).no_proxy().timeout(PATIENCE).build().unwrap()
    }
}

fn says(serve: &Serve<'_>, client: &reqwest::Client, content: &str) -> reqwest::Result<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let turn = json!({ "content": content, "session_id": "http:tls" });
        let url = format!("https://localhost:{}/v1/turns", serve.address().port());
        client.post(url).bearer_auth(serve.token()).json(&turn).send().await?.json().await
    })
}

#[test]
fn connections_are_encrypted_with_the_configured_certificate_and_with_its_successor() {
    let (home, model) = (home(), echo());
    let first = Identity::new(&home);
    let serve = serve(&home, &model);
    assert!(serve.program().printed().contains("serving at https://127.0.0.1:"));
    let client = first.client();
    assert_eq!(says(&serve, &client, "hi").unwrap()["model_output"], "you said: hi");

    // Plain HTTP is rejected, and a silent connection does not block others.
    let _silent = serve.connect();
    let mut plain = serve.connect();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/"), "{answer:?}");

    // Read again with the rest of the configuration.
    let second = Identity::written(&home);
    let begun = Instant::now();
    while says(&serve, &second.client(), "hi").is_err() {
        assert!(begun.elapsed() < PATIENCE, "{}", serve.program().told());
        thread::sleep(Duration::from_millis(20));
    }
    assert!(says(&serve, &first.client(), "hi").is_err(), "the old certificate is gone");

    // One that is broken changes nothing.
    fs::write(home.bub_home().join("server.pem"), "-----BEGIN CERTIFICATE-----\n").unwrap();
    serve.program().wait_for("the previous configuration stays active: `serve.tls.certificate`");
    assert_eq!(says(&serve, &second.client(), "still").unwrap()["model_output"], "you said: still");
}

fn check(home: &Home, arguments: &[&str]) -> bub_tests::Finished {
    home.bub(["serve", "--check"].into_iter().chain(arguments.iter().copied())).finish()
}

#[test]
fn certificates_and_keys_are_checked_before_anything_is_served() {
    let home = home();
    Identity::new(&home);
    let (certificate, key) = (home.bub_home().join("server.pem"), home.bub_home().join("server.key"));
    assert_eq!(check(&home, &[]).code, Some(0));
    for mode in [0o604, 0o620, 0o644, 0o666] {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        check(&home, &[]).fails("others can read or change it").mentions("`chmod 600` it");
    }
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let good = fs::read_to_string(&key).unwrap();
    fs::write(&key, rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap();
    check(&home, &[]).fails("the key belongs to another certificate");
    fs::write(&key, "a secret that is no key").unwrap();
    let failed = check(&home, &[]).fails("it is not PEM of this kind");
    assert!(!failed.stderr.contains("a secret"), "{failed}");
    fs::write(&key, good).unwrap();
    fs::write(&certificate, "").unwrap();
    check(&home, &[]).fails("it has no certificate");
    fs::remove_file(&certificate).unwrap();
    check(&home, &[]).fails("`serve.tls.certificate` of config.toml");
    fs::create_dir(&certificate).unwrap();
    check(&home, &[]).fails("it is not a regular file");
}

#[test]
fn beyond_loopback_nothing_is_served_in_clear_text_unless_that_is_meant() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80", "[::ffff:192.0.2.1]:80"] {
        let home = home();
        check(&home, &["--listen", address]).fails("in clear text").mentions("--insecure-http");
        home.bub(["serve", "--listen", address]).finish().fails("in clear text");
        home.configure(&format!("[serve]\nlisten = \"{address}\""));
        check(&home, &[]).fails("in clear text").mentions("`serve.behind_proxy = true`");
        assert_eq!(check(&home, &["--insecure-http"]).code, Some(0));
        home.configure("[serve]\nbehind_proxy = true");
        assert_eq!(check(&home, &[]).code, Some(0));
        home.configure("[serve]\nbehind_proxy = false");
        Identity::new(&home);
        assert_eq!(check(&home, &[]).code, Some(0));
    }
    for address in ["127.0.0.1:0", "127.8.9.1:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
        assert_eq!(check(&home(), &["--listen", address]).code, Some(0), "{address}");
    }
}

/// The server's answer to what is written there, until it ends the connection.
fn raw(serve: &Serve<'_>, request: &str) -> Vec<u8> {
    let mut stream = serve.connect();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn a_request_that_can_be_understood_in_two_ways_is_refused_and_ends_its_connection() {
    let (home, model) = (home(), echo());
    home.configure("[serve]\nhosts = [\"bub.example\"]\npatience_seconds = 86_400");
    let serve = serve(&home, &model);
    let get = |headers: &str| raw(&serve, &format!("GET /healthz HTTP/1.1\r\n{headers}\r\n"));
    for twice in [
        "host: localhost\r\nhost: evil.example\r\n",
        "Host: localhost\r\nHOST: localhost\r\n",
        "host: localhost\r\nauthorization: Bearer a\r\nauthorization: Bearer b\r\n",
        "host: localhost\r\nsec-fetch-site: none\r\nsec-fetch-site: cross-site\r\n",
        "host: localhost\r\norigin: null\r\norigin: null\r\n",
        "host: localhost\r\nidempotency-key: a\r\nidempotency-key: b\r\n",
        "host: localhost\r\nx-session-id: a\r\nx-session-id: b\r\n",
    ] {
        Said::parse(&get(twice)).refused(400, "more than one header");
    }
    let elsewhere = raw(&serve, "GET http://bub.example/healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
    Said::parse(&elsewhere).refused(400, "different hosts");

    let hidden = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for (lengths, body) in [
        ("content-length: 0\r\ncontent-length: 5\r\n", ""),
        ("content-length: 0, 5\r\n", ""),
        ("content-length: +0\r\n", ""),
        ("content-length: -1\r\n", ""),
        ("transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n", "0\r\n\r\n"),
        ("transfer-encoding: gzip\r\n", ""),
        ("transfer-encoding: xchunked\r\n", ""),
        ("content-length : 5\r\n", ""),
        ("content-length: 5\r\ntransfer-encoding: chunked\r\n", "0\r\n\r\n"),
        ("transfer-encoding: chunked\r\ncontent-length: 5\r\n", "0\r\n\r\n"),
    ] {
        let request = format!("POST /v1/turns HTTP/1.1\r\nhost: localhost\r\n{lengths}\r\n{body}{hidden}");
        let answer = String::from_utf8_lossy(&raw(&serve, &request)).into_owned();
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{lengths}: {answer}");
        assert!(!answer.contains("HTTP/1.1 200"), "{lengths}: {answer}");
    }
    assert_eq!(say(&serve, "http:still", "there")["model_output"], "you said: there");
}
