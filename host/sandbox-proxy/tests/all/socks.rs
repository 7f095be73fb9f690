//! SOCKS5.

use super::support::{Rules, echo, exactly, program, rest, start};
use bub_sandbox_proxy::Proxy;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;

/// A connection after the greeting.
async fn greeted(proxy: &Proxy) -> UnixStream {
    let mut stream = program(proxy).await;
    stream.write_all(&[5, 2, 2, 0]).await.unwrap();
    assert_eq!(exactly(&mut stream, 2).await, [5, 0]);
    stream
}

/// The code of the reply to a request.
async fn reply(stream: &mut UnixStream, command: u8, address: &[u8], port: u16) -> u8 {
    let request = [&[5, command, 0], address, port.to_be_bytes().as_slice()].concat();
    stream.write_all(&request).await.unwrap();
    let reply = exactly(stream, 10).await;
    assert_eq!([reply[0], reply[2], reply[3]], [5, 0, 1]);
    reply[1]
}

fn name(name: &str) -> Vec<u8> {
    [&[3, u8::try_from(name.len()).unwrap()], name.as_bytes()].concat()
}

const LOOPBACK_V6: [u8; 17] = [4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

#[tokio::test]
async fn names_and_addresses_are_checked_alike() {
    let port = echo().await;
    let (proxy, rules) = start(Rules::new(&[&format!("127.0.0.1:{port}"), &format!("inner.test:{port}")]));
    for address in [name("inner.test"), name("127.0.0.1"), name("0x7f.1"), vec![1, 127, 0, 0, 1]] {
        let mut stream = greeted(&proxy).await;
        assert_eq!(reply(&mut stream, 1, &address, port).await, 0, "{address:?}");
        stream.write_all(b"ping").await.unwrap();
        assert_eq!(exactly(&mut stream, 4).await, b"ping");
    }
    for (address, port) in [
        (name("evil.test"), 443),
        (name("localhost"), port),
        (vec![1, 169, 254, 169, 254], 80),
        (LOOPBACK_V6.to_vec(), port),
        (vec![1, 127, 0, 0, 1], 25),
    ] {
        let mut stream = greeted(&proxy).await;
        assert_eq!(reply(&mut stream, 1, &address, port).await, 2, "{address:?}");
        assert_eq!(rest(&mut stream).await, "");
    }
    assert_eq!(rules.refused().len(), 5);
    assert_eq!(rules.moved(&format!("inner.test:{port}")), (4, 4));
}

#[tokio::test]
async fn what_is_not_spoken_gets_its_code() {
    let (proxy, _) = start(Rules::new(&["*"]));
    // BIND and UDP ASSOCIATE.
    for command in [2, 3, 9] {
        assert_eq!(reply(&mut greeted(&proxy).await, command, &name("example.test"), 443).await, 7);
    }
    assert_eq!(reply(&mut greeted(&proxy).await, 1, &[9], 443).await, 8);
    for odd in ["", "a b", "a\r\nb", "\u{202e}evil", "a/b", "x\0y"] {
        assert_eq!(reply(&mut greeted(&proxy).await, 1, &name(odd), 443).await, 1, "{odd:?}");
    }
    assert_eq!(reply(&mut greeted(&proxy).await, 1, &name("example.test"), 0).await, 1);
}

#[tokio::test]
async fn other_versions_and_methods_end_the_connection() {
    let (proxy, _) = start(Rules::new(&["*"]));
    for bytes in [&[4, 1, 0, 80, 1, 2, 3, 4, 0][..], &[5, 1, 2], &[5, 1, 0, 4, 1, 0, 1]] {
        let mut stream = program(&proxy).await;
        stream.write_all(bytes).await.unwrap();
        let said = rest(&mut stream).await;
        assert!(said.len() <= 5 && !said.contains("HTTP"), "{said:?}");
    }
}
