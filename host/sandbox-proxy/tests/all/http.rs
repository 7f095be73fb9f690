//! `CONNECT`, and plain requests.

use super::support::{
    PATIENCE, Rules, Server, ask, echo, exactly, head, limits, program, rest, start, start_with, tunnel,
};
use bub_sandbox_proxy::Limits;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

#[tokio::test]
async fn a_tunnel_leads_to_a_host_that_a_rule_names_and_its_bytes_are_counted() {
    let port = echo().await;
    let (proxy, rules) = start(Rules::new(&[&format!("127.0.0.1:{port}")]));
    let host = format!("127.0.0.1:{port}");
    let mut tunnel = tunnel(&proxy, &host).await.unwrap();
    tunnel.write_all(b"over and back").await.unwrap();
    assert_eq!(exactly(&mut tunnel, 13).await, b"over and back");
    // The end of one direction is passed on, and the other one's comes back.
    tunnel.shutdown().await.unwrap();
    assert_eq!(rest(&mut tunnel).await, "");
    assert_eq!(rules.moved(&host), (13, 13));
    assert_eq!(rules.told.lock().unwrap().reached.get(&host), Some(&1));
}

#[tokio::test]
async fn a_host_that_no_rule_names_is_refused_with_the_reason_in_the_status_line() {
    let (proxy, rules) = start(Rules::new(&["example.test"]));
    for authority in
        ["evil.test:443", "example.test:25", "a.example.test:443", "127.0.0.1:22", "[::1]:22", "localhost:80"]
    {
        let refused = tunnel(&proxy, authority).await.expect_err(authority);
        assert!(refused.starts_with(&format!("HTTP/1.1 403 no rule names `{authority}`")), "{refused}");
    }
    assert_eq!(rules.refused().len(), 6);
    assert!(rules.told.lock().unwrap().reached.is_empty());
}

#[tokio::test]
async fn an_address_is_one_address_in_every_notation() {
    let port = echo().await;
    let (proxy, rules) = start(Rules::new(&[&format!("127.0.0.1:{port}")]));
    for host in ["0x7f.1", "2130706433", "0177.0.0.1", "127.1", "[::ffff:127.0.0.1]"] {
        tunnel(&proxy, &format!("{host}:{port}")).await.unwrap_or_else(|head| panic!("`{host}`: {head}"));
    }
    // And what no rule names is refused in every notation, under the one name that is recorded.
    for host in ["0xa9fea9fe", "2852039166", "[::ffff:169.254.169.254]"] {
        tunnel(&proxy, &format!("{host}:80")).await.expect_err(host);
    }
    assert!(rules.refused().iter().all(|(host, _)| host == "169.254.169.254:80"), "{:?}", rules.refused());
}

#[tokio::test]
async fn a_name_with_a_private_address_is_reached_by_its_exact_rule_alone() {
    let port = echo().await;
    let wide = [format!("*.test:{port}"), format!("*:{port}")];
    let (proxy, rules) = start(Rules::new(&wide.each_ref().map(String::as_str)));
    for host in ["inner.test", "meta.test", "127.0.0.1", "localhost"] {
        let refused = tunnel(&proxy, &format!("{host}:{port}")).await.expect_err(host);
        assert!(refused.contains("is not on the public internet, and no rule names exactly this host"), "{refused}");
    }
    assert_eq!(rules.refused().len(), 4);
    let (proxy, _) = start(Rules::new(&[&format!("inner.test:{port}"), &format!("meta.test:{port}")]));
    tunnel(&proxy, &format!("inner.test:{port}")).await.unwrap();
    let refused = tunnel(&proxy, &format!("meta.test:{port}")).await.expect_err("it is a metadata service");
    assert!(refused.contains("leads to an address that programs never reach"), "{refused}");
}

#[tokio::test]
async fn a_plain_request_is_sent_and_answered_and_each_one_is_decided_about() {
    let server = Server::start().await;
    let host = format!("127.0.0.1:{}", server.port);
    let (proxy, rules) = start(Rules::new(&[&host]));
    let mut stream = program(&proxy).await;
    for path in ["/one?a=b%20c", "/two"] {
        let request =
            format!("GET http://{host}{path} HTTP/1.1\r\nHost: ignored.test\r\nProxy-Authorization: x\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let head = head(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        assert_eq!(exactly(&mut stream, 5).await, b"hello");
    }
    // Over the same connection.
    stream.write_all(b"GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n").await.unwrap();
    let refused = rest(&mut stream).await;
    assert!(refused.starts_with("HTTP/1.1 403") && refused.ends_with("no rule names `evil.test:80`\n"), "{refused}");
    let seen = server.seen();
    assert!(seen.contains("GET /one?a=b%20c HTTP/1.1") && seen.contains("GET /two HTTP/1.1"), "{seen}");
    assert!(seen.contains(&host) && !seen.contains("ignored.test") && !seen.contains("proxy-authorization"), "{seen}");
    assert_eq!(rules.moved(&host), (0, 10));
}

#[tokio::test]
async fn a_plain_request_to_a_private_address_needs_an_exact_rule_too() {
    let server = Server::start().await;
    let (proxy, _) = start(Rules::new(&[&format!("*:{}", server.port)]));
    for host in ["inner.test", "127.0.0.1", "0x7f000001", "localhost"] {
        let url = format!("http://{host}:{}/", server.port);
        let refused = ask(&proxy, &format!("GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
        assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("not on the public internet"), "{refused}");
    }
    assert_eq!(server.seen(), "");
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_their_order() {
    let server = Server::start().await;
    let host = format!("127.0.0.1:{}", server.port);
    let (proxy, _) = start(Rules::new(&[&host]));
    let good = format!("GET http://{host}/ HTTP/1.1\r\nHost: x\r\n\r\n");
    let bad = "GET http://evil.test/ HTTP/1.1\r\nHost: x\r\n\r\n";
    let last = format!("GET http://{host}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let answers = ask(&proxy, &format!("{good}{bad}{last}")).await;
    let order: Vec<&str> = answers.matches("HTTP/1.1 200").chain(answers.matches("HTTP/1.1 403")).collect();
    assert_eq!(order.len(), 3, "{answers}");
    assert!(answers.find("403").unwrap() > answers.find("200").unwrap(), "{answers}");
    assert!(answers.rfind("200 OK").unwrap() > answers.find("403").unwrap(), "{answers}");
}

#[tokio::test]
async fn what_is_no_request_to_a_proxy_says_what_one_is() {
    let (proxy, _) = start(Rules::new(&["*"]));
    let refused = ask(&proxy, "GET / HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n").await;
    assert!(refused.starts_with("HTTP/1.1 400") && refused.contains("this is a proxy"), "{refused}");
    for request in [
        "GET https://example.test/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "GET ftp://example.test/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "GET http://user:word@example.test/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "CONNECT example.test HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "TRACE http://example.test/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "nonsense\r\n\r\n",
    ] {
        let refused = ask(&proxy, request).await;
        assert!(refused.starts_with("HTTP/1.1 400"), "{request}: {refused}");
    }
}

#[tokio::test]
async fn a_question_without_an_answer_ends_after_a_while() {
    let (proxy, rules) =
        start_with(Rules::new(&[]).asking(), Limits { decision: Duration::from_millis(200), ..limits() });
    let refused = tunnel(&proxy, "new.test:443").await.expect_err("nobody answers");
    assert!(refused.contains("nobody has answered whether `new.test:443` may be reached"), "{refused}");
    assert_eq!(rules.refused().len(), 1);
}

#[tokio::test]
async fn the_socket_is_private_and_everything_ends_with_the_proxy() {
    let port = echo().await;
    let (proxy, _) = start(Rules::new(&[&format!("127.0.0.1:{port}")]));
    let socket = proxy.socket().unwrap();
    let directory = socket.parent().unwrap().to_owned();
    assert_eq!(std::fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
    let mut tunnel = tunnel(&proxy, &format!("127.0.0.1:{port}")).await.unwrap();
    let mut waiting = program(&proxy).await;
    waiting.write_all(b"CONN").await.unwrap();
    sleep(Duration::from_millis(50)).await;
    drop(proxy);
    for stream in [&mut tunnel, &mut waiting] {
        let mut byte = [0];
        let ended = timeout(PATIENCE, stream.read(&mut byte)).await.expect("it ends");
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    }
    // A program that is just starting may still bind it into its sandbox.
    assert!(socket.exists());
    let refused = async {
        while tokio::net::UnixStream::connect(&socket).await.is_ok() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, refused).await.expect("nobody listens any more");
    bub_sandbox_proxy::remove_ended();
    assert!(!directory.exists());
}
