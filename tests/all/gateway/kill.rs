//! A process that is killed again and again while people talk to it: each message has its turn, once and in order.
//! `cargo bench --bench serve -- kill` does so for two minutes, with a model and a plugin that fail too.

use super::{echo, heard, posting, serving, start};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const PEOPLE: usize = 4;
const KILLS: usize = 5;

/// No test may take longer.
const PATIENCE: Duration = Duration::from_secs(300);

/// Where the program is at the moment, and the token that it takes.
type Place = Mutex<Option<(SocketAddr, String)>>;

#[test]
fn every_message_has_its_turn_once_and_in_order_however_often_the_process_is_killed() {
    let home = posting("flags = [\"webhook\"]");
    let model = echo();
    let (place, stop) = (Place::default(), AtomicBool::new(false));
    let counts: Vec<usize> = thread::scope(|scope| {
        let (place, stop) = (&place, &stop);
        let people: Vec<_> = (0..PEOPLE).map(|person| scope.spawn(move || talk(person, place, stop))).collect();
        for kill in 0..=KILLS {
            let serve = start(&home, serving(&home, &model));
            *place.lock().unwrap() = Some((serve.address(), serve.token().to_owned()));
            if kill == KILLS {
                stop.store(true, Ordering::Relaxed);
                return people.into_iter().map(|person| person.join().unwrap()).collect();
            }
            thread::sleep(Duration::from_millis(300 + 90 * kill as u64));
            *place.lock().unwrap() = None;
            serve.kill();
        }
        unreachable!("the last one lives")
    });
    for (person, count) in counts.into_iter().enumerate() {
        let said: Vec<String> = (0..count).map(|message| format!("m{message}")).collect();
        assert_eq!(heard(&home, &format!("kill:{person}")), said, "person {person}");
    }
}

/// Says one message after the other, each until it is answered. How many.
fn talk(person: usize, place: &Place, stop: &AtomicBool) -> usize {
    let begun = Instant::now();
    let mut message = 0;
    while !stop.load(Ordering::Relaxed) || message == 0 {
        loop {
            assert!(begun.elapsed() < PATIENCE, "person {person} waits for an answer to message {message}");
            let here = place.lock().unwrap().clone();
            if here.is_some_and(|(address, token)| ask(address, &token, person, message)) {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        message += 1;
    }
    message
}

/// Whether it was answered.
fn ask(address: SocketAddr, token: &str, person: usize, message: usize) -> bool {
    let body = json!({ "content": format!("m{message}"), "session_id": format!("kill:{person}") }).to_string();
    let head = format!(
        "POST /v1/turns HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         authorization: Bearer {token}\r\nidempotency-key: {person}-{message}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    let mut answer = String::new();
    let bounded = stream.set_read_timeout(Some(Duration::from_secs(60)));
    let asked = bounded.and_then(|()| stream.write_all(head.as_bytes()));
    let said = asked.and_then(|()| stream.read_to_string(&mut answer));
    said.is_ok() && answer.starts_with("HTTP/1.1 200") && answer.contains(&format!("you said: m{message}"))
}
