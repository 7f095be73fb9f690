//! Secrets of the configuration do not leave in plain HTTP.

use super::support::{Rules, Server, ask, program, rest, start};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::time::sleep;

const SECRET: &str = "swordfish-1234567890";

#[tokio::test]
async fn a_secret_in_a_head_is_refused_before_a_connection_is_made() {
    let server = Server::start().await;
    let host = format!("127.0.0.1:{}", server.port);
    let (proxy, rules) = start(Rules::new(&[&host]).knowing(SECRET));
    let basic = "c3dvcmRmaXNoLTEyMzQ1Njc4OTA=";
    for (path, header) in [
        (format!("/?key={SECRET}"), "X: y".to_owned()),
        ("/?key=swordfish%2D1234567890".to_owned(), "X: y".to_owned()),
        ("/".to_owned(), format!("Authorization: Bearer {SECRET}")),
        ("/".to_owned(), format!("Authorization: Basic {basic}")),
    ] {
        let request = format!("GET http://{host}{path} HTTP/1.1\r\nHost: x\r\n{header}\r\nConnection: close\r\n\r\n");
        let refused = ask(&proxy, &request).await;
        assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("tells a secret"), "{refused}");
    }
    assert_eq!(server.seen(), "");
    assert_eq!(rules.refused().len(), 4);
    assert!(!format!("{:?}", rules.refused()).contains("swordfish"));
}

#[tokio::test]
async fn a_secret_in_a_body_is_cut_off_before_its_first_byte_also_across_chunks() {
    let server = Server::start().await;
    let host = format!("127.0.0.1:{}", server.port);
    let (proxy, _) = start(Rules::new(&[&host]).knowing(SECRET));
    let mut stream = program(&proxy).await;
    let length = 6 + SECRET.len();
    let head =
        format!("POST http://{host}/ HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(format!("{head}before").as_bytes()).await.unwrap();
    for part in [&SECRET[..9], &SECRET[9..]] {
        sleep(Duration::from_millis(50)).await;
        stream.write_all(part.as_bytes()).await.unwrap();
    }
    let refused = rest(&mut stream).await;
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("tells a secret"), "{refused}");
    assert!(!server.seen().contains("swordfish"), "{}", server.seen());
}

#[tokio::test]
async fn what_only_resembles_a_secret_leaves_whole() {
    let server = Server::start().await;
    let host = format!("127.0.0.1:{}", server.port);
    let (proxy, rules) = start(Rules::new(&[&host]).knowing(SECRET));
    let body = "swordfish-123456789 swordfish-";
    let request = format!(
        "POST http://{host}/ HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let answer = ask(&proxy, &request).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello"), "{answer}");
    assert!(server.seen().ends_with(body), "{}", server.seen());
    assert_eq!(rules.moved(&host), (body.len() as u64, 5));
}
