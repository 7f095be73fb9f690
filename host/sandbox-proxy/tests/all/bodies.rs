//! Bodies of any size, in bounded memory.

use super::support::{PATIENCE, Rules, start, tunnel};
use std::fs;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

/// 1 GiB.
const SIZE: u64 = 1 << 30;

/// What this process may hold more after it, in bytes.
const GROWTH: u64 = 96 << 20;

/// The memory of this process, in bytes.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("it is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("it is a number") << 10
}

/// A server that answers with 1 GiB, or, where `is_http` is false, sends it at once.
async fn giant(is_http: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        if is_http {
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer).await;
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
        }
        let block = vec![b'x'; 1 << 20];
        for _ in 0..SIZE >> 20 {
            if stream.write_all(&block).await.is_err() {
                return;
            }
        }
    });
    host
}

async fn read_all(mut stream: impl AsyncReadExt + Unpin) -> u64 {
    let (mut buffer, mut read) = (vec![0; 1 << 16], 0);
    while let Ok(count @ 1..) = timeout(PATIENCE, stream.read(&mut buffer)).await.expect("it goes on") {
        read += count as u64;
    }
    read
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gigabyte_passes_in_both_protocols_and_is_not_held() {
    let before = memory();
    let host = giant(false).await;
    let (proxy, rules) = start(Rules::new(&[&host]));
    assert_eq!(read_all(tunnel(&proxy, &host).await.unwrap()).await, SIZE);
    assert_eq!(rules.moved(&host), (0, SIZE));

    let host = giant(true).await;
    let (proxy, rules) = start(Rules::new(&[&host]).knowing("a secret that is not in it"));
    let mut stream = super::support::program(&proxy).await;
    let request = format!("GET http://{host}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(read_all(stream).await > SIZE);
    assert_eq!(rules.moved(&host), (0, SIZE));
    let grown = memory().saturating_sub(before);
    assert!(grown < GROWTH, "{grown} bytes are held");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_is_passed_on_while_it_arrives() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let received = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let (mut buffer, mut read) = (vec![0; 1 << 16], 0_u64);
        while read < SIZE >> 4 {
            read += stream.read(&mut buffer).await.unwrap() as u64;
        }
        stream.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        read
    });
    let before = memory();
    let (proxy, rules) = start(Rules::new(&[&host]));
    let mut stream = super::support::program(&proxy).await;
    let size = SIZE >> 4;
    let head = format!("PUT http://{host}/ HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let block = vec![b'y'; 1 << 20];
    for _ in 0..size >> 20 {
        stream.write_all(&block).await.unwrap();
    }
    let said = super::support::rest(&mut stream).await;
    assert!(said.starts_with("HTTP/1.1 201 Created"), "{said}");
    assert!(received.await.unwrap() >= size);
    assert_eq!(rules.moved(&host).0, size);
    assert!(memory().saturating_sub(before) < GROWTH);
}
