//! A guest's attempts to use the system without grants.

use super::{faults, hostile};
use bub_tests::Home;
use std::net::{TcpListener, UdpSocket};
use std::time::Duration;

/// The result, as the guest reports it.
#[track_caller]
fn told(home: &Home) -> String {
    let finished = home.run(["hi"]).watched().finish().says("[cli:local]\nalive\n");
    let told = finished.saw_hook("system");
    assert_eq!(told.len(), 1, "{finished}");
    told[0]["told"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_guest_cannot_open_sockets() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("it is ours");
    let home = hostile("connect", "");
    let address = listener.local_addr().expect("it is bound");
    home.configure(&format!("[plugins.hostile.config]\naddress = \"{address}\""));
    assert!(told(&home).starts_with("refused: "));
    assert!(listener.accept().is_err(), "the guest has connected");
}

#[test]
fn no_packet_leaves_a_guest() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_read_timeout(Some(Duration::from_millis(1))).expect("it is ours");
    let home = hostile("send", "");
    let address = socket.local_addr().expect("it is bound");
    home.configure(&format!("[plugins.hostile.config]\naddress = \"{address}\""));
    assert!(told(&home).starts_with("refused: "));
    assert!(socket.recv(&mut [0; 8]).is_err(), "something has come");
}

#[test]
fn no_guest_listens_or_looks_up_names() {
    assert!(told(&hostile("listen", "")).starts_with("refused: "));
    assert!(told(&hostile("look-up", "")).starts_with("refused: "));
}

#[test]
fn a_guest_sees_no_variable_file_or_standard_input() {
    // The first argument of a program is its own name, where it has one.
    let told = told(&hostile("surroundings", ""));
    assert!(told.starts_with("0 variables, ") && told.ends_with(" arguments, root false, 0 bytes"), "{told}");
}

#[test]
fn a_guest_that_ends_the_program_ends_its_own_call() {
    for mode in ["exit", "exit-badly"] {
        faults(&hostile(mode, ""), "hi", "build-prompt", "trapped: ");
    }
}

#[test]
fn chance_for_a_terabyte_is_refused_before_it_is_made() {
    let finished = faults(&hostile("random", ""), "hi", "build-prompt", "trapped: ");
    assert!(finished.peak < 400 << 20, "it took {} MiB", finished.peak >> 20);
}

#[test]
fn an_empty_poll_fails() {
    faults(&hostile("poll-nothing", ""), "hi", "build-prompt", "trapped: ");
}

/// A NaN does not show the processor, so that a turn can be run again on another.
#[test]
fn nan_has_canonical_bits() {
    let told = told(&hostile("nan", ""));
    let (double, single) = ("7ff8000000000000", "7fc00000");
    assert_eq!(told, [[double; 7].as_slice(), &[single; 2]].concat().join(" "));
}
