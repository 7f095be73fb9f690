//! Uses of the system that a guest may attempt, with their results.

use std::hint::black_box;
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
        "nan" => not_a_number(),
        _ => return None,
    })
}

/// The bits of what is no number, made in ways in which processors differ.
fn not_a_number() -> String {
    let odd = black_box(f64::from_bits(0xfff4_dead_beef_0001));
    let (zero, nothing) = (black_box(0.0f64), black_box(0.0f64));
    let (infinite, endless) = (black_box(f64::INFINITY), black_box(f64::INFINITY));
    let double = [
        odd + 1.0,
        1.0 - odd,
        zero / nothing,
        infinite - endless,
        infinite * zero,
        odd.sqrt(),
        (-1.0f64 - zero).sqrt(),
    ];
    let single = [black_box(f32::from_bits(0xffa0_0001)) + 1.0, black_box(0.0f32) / 0.0];
    let double = double.iter().map(|number| format!("{:x}", number.to_bits()));
    double.chain(single.iter().map(|number| format!("{:x}", number.to_bits()))).collect::<Vec<_>>().join(" ")
}

fn told(outcome: std::io::Result<()>) -> String {
    outcome.map_or_else(|error| format!("refused: {:?}", error.kind()), |()| "done".to_owned())
}
