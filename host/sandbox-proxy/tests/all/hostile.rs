//! Programs and hosts that mean no good.

use super::support::{PATIENCE, Rules, Server, echo, limits, program, rest, start, start_with, tunnel};
use bub_sandbox_proxy::Limits;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

fn hasty() -> Limits {
    Limits { head: Duration::from_millis(300), idle: Duration::from_millis(400), ..limits() }
}

#[tokio::test]
async fn a_head_without_an_end_is_refused() {
    let (proxy, rules) = start(Rules::new(&["*"]));
    let mut stream = program(&proxy).await;
    stream.write_all(b"GET http://example.test/ HTTP/1.1\r\n").await.unwrap();
    let line = format!("X-Filler: {}\r\n", "a".repeat(1000));
    let mut sent = 0;
    while sent < 64 << 20 {
        if stream.write_all(line.as_bytes()).await.is_err() {
            break;
        }
        sent += line.len();
    }
    assert!(sent < 1 << 20, "{sent} bytes were taken");
    let many = "a: b\r\n".repeat(1000);
    let mut stream = program(&proxy).await;
    stream.write_all(format!("GET http://example.test/ HTTP/1.1\r\n{many}\r\n").as_bytes()).await.unwrap();
    let refused = rest(&mut stream).await;
    assert!(refused.starts_with("HTTP/1.1 431") || refused.starts_with("HTTP/1.1 400"), "{refused}");
    assert!(rules.told.lock().unwrap().reached.is_empty());
}

#[tokio::test]
async fn a_program_that_says_its_head_slowly_is_cut_off() {
    let (proxy, _) = start_with(Rules::new(&["*"]), hasty());
    for begun in [&b""[..], b"C", b"GET http://example.test/ HTTP/1.1\r\nHo", &[5], &[5, 1, 0, 5, 1]] {
        let mut stream = program(&proxy).await;
        stream.write_all(begun).await.unwrap();
        let since = Instant::now();
        rest(&mut stream).await;
        assert!(since.elapsed() < Duration::from_secs(5), "{begun:?}");
    }
    // One byte now and then does not help.
    let mut stream = program(&proxy).await;
    let dripped = async {
        for byte in b"GET http://example.test/ HTTP/1.1\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" {
            if stream.write_all(&[*byte]).await.is_err() {
                return true;
            }
            sleep(Duration::from_millis(50)).await;
        }
        false
    };
    assert!(timeout(PATIENCE, dripped).await.expect("in time"), "the connection stayed open");
}

#[tokio::test]
async fn a_tunnel_in_which_nothing_moves_ends_and_one_in_which_something_does_stays() {
    let port = echo().await;
    let (proxy, _) = start_with(Rules::new(&[&format!("127.0.0.1:{port}")]), hasty());
    let host = format!("127.0.0.1:{port}");
    let (mut quiet, mut busy) = (tunnel(&proxy, &host).await.unwrap(), tunnel(&proxy, &host).await.unwrap());
    for _ in 0..12 {
        busy.write_all(b"x").await.unwrap();
        assert_eq!(timeout(PATIENCE, busy.read_u8()).await.expect("in time").expect("it is open"), b'x');
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(rest(&mut quiet).await, "");
}

#[tokio::test]
async fn further_connections_wait_until_one_ends() {
    let port = echo().await;
    let limits = Limits { connections: 2, ..limits() };
    let (proxy, _) = start_with(Rules::new(&[&format!("127.0.0.1:{port}")]), limits);
    let host = format!("127.0.0.1:{port}");
    let first = tunnel(&proxy, &host).await.unwrap();
    let _second = tunnel(&proxy, &host).await.unwrap();
    let third = tokio::time::timeout(Duration::from_millis(300), tunnel(&proxy, &host)).await;
    assert!(third.is_err(), "a third one was served");
    drop(first);
    timeout(PATIENCE, tunnel(&proxy, &host)).await.expect("its place is free").unwrap();
}

#[tokio::test]
async fn a_smuggled_second_request_is_judged_like_any_other() {
    let server = Server::start().await;
    let host = format!("127.0.0.1:{}", server.port);
    let (proxy, rules) = start(Rules::new(&[&host]));
    for framing in ["Content-Length: 4\r\nTransfer-Encoding: chunked", "Content-Length: 4\r\nContent-Length: 60"] {
        let inner = "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n";
        let request = format!(
            "POST http://{host}/ HTTP/1.1\r\nHost: x\r\n{framing}\r\nConnection: close\r\n\r\n0\r\n\r\n{inner}"
        );
        let mut stream = program(&proxy).await;
        stream.write_all(request.as_bytes()).await.unwrap();
        rest(&mut stream).await;
    }
    // Whichever way it was framed, the server has seen no second request.
    assert!(!server.seen().contains("GET "), "{}", server.seen());
    assert!(rules.told.lock().unwrap().reached.keys().all(|reached| *reached == host));
}

#[tokio::test]
async fn a_host_that_answers_with_nonsense_or_without_end_is_the_programs_error_alone() {
    for answer in ["nonsense\r\n\r\n".to_owned(), format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "a".repeat(1 << 20))] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 1024];
            let _ = stream.read(&mut buffer).await;
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.read(&mut buffer).await;
        });
        let (proxy, _) = start(Rules::new(&[&host]));
        let mut stream = program(&proxy).await;
        let request = format!("GET http://{host}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let said = rest(&mut stream).await;
        assert!(
            said.starts_with("HTTP/1.1 502") || said.starts_with("HTTP/1.1 400"),
            "{}",
            &said[..said.len().min(300)]
        );
    }
}

#[tokio::test]
async fn hostile_names_are_escaped_in_what_is_said_and_recorded() {
    let (proxy, rules) = start(Rules::new(&[]));
    for authority in ["\u{1b}[31mred:443", "a\u{7f}b:443", "xn--\u{202e}:443", "evil.test%0d%0aX:443"] {
        let mut stream = program(&proxy).await;
        stream.write_all(format!("CONNECT {authority} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let said = rest(&mut stream).await;
        assert!(said.starts_with("HTTP/1.1 400"), "{said:?}");
        assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}'), "{said:?}");
    }
    // An international name is one in ASCII.
    tunnel(&proxy, "xn--bcher-kva.test:443").await.expect_err("no rule names it");
    assert_eq!(rules.refused().iter().map(|(host, _)| host.as_str()).collect::<Vec<_>>(), ["xn--bcher-kva.test:443"]);
}
