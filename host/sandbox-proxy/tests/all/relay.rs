//! The relay, as a sandbox has it.

use super::support::{Rules, echo, exactly, start};
use bub_sandbox::Relay;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A port that nothing uses at this moment.
async fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn connections_pass_through_with_the_end_of_each_direction() {
    let port = echo().await;
    let (proxy, rules) = start(Rules::new(&[&format!("127.0.0.1:{port}")]));
    let relayed = Relay::new(proxy.socket().unwrap()).start().unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", relayed)).await.unwrap();
    let request = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.extend(exactly(&mut stream, 1).await);
    }
    assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
    stream.write_all(b"there").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut back = String::new();
    stream.read_to_string(&mut back).await.unwrap();
    assert_eq!(back, "there");
    assert_eq!(rules.moved(&format!("127.0.0.1:{port}")), (5, 5));
}

#[tokio::test]
async fn a_forwarded_port_without_a_rule_is_closed_without_a_word() {
    let port = echo().await;
    // In a sandbox it would be the same port.
    let (proxy, rules) = start(Rules::new(&[&format!("127.0.0.1:{port}")]));
    let inside = free_port().await;
    let destination = format!("127.0.0.1:{inside}");
    Relay::new(proxy.socket().unwrap()).forwarding([destination.clone()]).start().unwrap();
    // No rule names that port, so the connection is closed without a byte of the refusal.
    let mut refused = TcpStream::connect(&destination).await.unwrap();
    let mut said = Vec::new();
    let _ = refused.read_to_end(&mut said).await;
    assert!(said.is_empty(), "{}", String::from_utf8_lossy(&said));
    assert_eq!(rules.refused().len(), 1);
}

#[tokio::test]
async fn a_forwarded_port_leads_to_the_port_of_the_machine() {
    let port = echo().await;
    let (proxy, rules) = start(Rules::new(&[&format!("[::ffff:127.0.0.1]:{port}")]));
    // Another address of the loopback stands for the sandbox: `::1` is free there.
    Relay::new(proxy.socket().unwrap()).forwarding([format!("127.0.0.1:{port}")]).start().unwrap();
    let Ok(mut stream) = TcpStream::connect(("::1", port)).await else {
        println!("skipped: there is no IPv6 here");
        return;
    };
    stream.write_all(b"query").await.unwrap();
    assert_eq!(exactly(&mut stream, 5).await, b"query");
    assert_eq!(rules.moved(&format!("127.0.0.1:{port}")), (5, 5));
}
