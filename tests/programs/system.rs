//! What a guest may want of the system below it, and what came of it.

use std::net::{TcpStream, ToSocketAddrs, UdpSocket};

/// Does what `mode` says, if it is one of these; in words what came of it.
pub fn asked_for(mode: &str) -> Option<String> {
    let at = crate::setting("address");
    Some(match mode {
        "connect" => told(TcpStream::connect(&at).map(drop)),
        "send" => told(UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.send_to(b"x", &at)).map(drop)),
        "listen" => told(std::net::TcpListener::bind("127.0.0.1:0").map(drop)),
        "look-up" => told("localhost:80".to_socket_addrs().map(drop)),
        "exit" => std::process::exit(0),
        "exit-badly" => std::process::exit(70),
        "random" => format!("{} bytes", wasip2::random::random::get_random_bytes(1 << 40).len()),
        "poll-nothing" => format!("{:?}", wasip2::io::poll::poll(&[])),
        "surroundings" => {
            let variables = std::env::vars().count();
            let arguments = std::env::args().count();
            let root = std::fs::read_dir("/").is_ok();
            let mut line = String::new();
            let read = std::io::stdin().read_line(&mut line).unwrap_or_default();
            format!("{variables} variables, {arguments} arguments, root {root}, {read} bytes")
        }
        _ => return None,
    })
}

fn told(outcome: std::io::Result<()>) -> String {
    outcome.map_or_else(|error| format!("refused: {:?}", error.kind()), |()| "done".to_owned())
}
