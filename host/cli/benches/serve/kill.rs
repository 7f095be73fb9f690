//! Durability under SIGKILL: the process is killed every few seconds, with a model that is slow, disconnects and sends
//! invalid data, and a faulty plugin. Every accepted message must be on its tape, once and in order.

use crate::client::Client;
use crate::program::Program;
use bub_tests::{Home, programs, tape};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// Duration of the benchmark.
const LONG: Duration = Duration::from_secs(120);

/// Concurrent users, each with a session.
const PEOPLE: usize = 16;

/// Timeout after which a user repeats a message.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The current address of the program, and its token.
type Address = Option<(std::net::SocketAddr, String)>;

pub async fn figures() {
    let home = Arc::new(Home::new(env!("CARGO_BIN_EXE_bub-wasm"), env!("CARGO_TARGET_TMPDIR")));
    let model = TcpListener::bind("127.0.0.1:0").await.expect("a model listens");
    let base = format!("http://{}/v1", model.local_addr().expect("its address"));
    tokio::spawn(unreliable(model));
    let environment =
        [("BUB_MODEL", "openai:fake-model".to_owned()), ("BUB_API_KEY", "sk-fake".to_owned()), ("BUB_API_BASE", base)];
    let (places, place) = watch::channel::<Address>(None);
    let stop = Arc::new(AtomicBool::new(false));
    let (said, repeated) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut people = JoinSet::new();
    for person in 0..PEOPLE {
        let (place, stop, said, repeated) = (place.clone(), stop.clone(), said.clone(), repeated.clone());
        people.spawn(async move { talk(person, place, &stop, &said, &repeated).await });
    }
    let begun = Instant::now();
    let mut kills = 0;
    while begun.elapsed() < LONG {
        let program = Program::start(&home, &environment);
        places.send_replace(Some((program.address, program.token.clone())));
        if kills == 2 {
            home.plugin("breaker", programs::FAULT_TRAP);
            home.grant_hooks();
        }
        sleep(Duration::from_millis(2_000 + 700 * (kills % 5))).await;
        places.send_replace(None);
        program.kill();
        kills += 1;
    }
    // The last process stays alive, so that all messages are answered.
    let program = Program::start(&home, &environment);
    places.send_replace(Some((program.address, program.token.clone())));
    stop.store(true, Ordering::Relaxed);
    let counts = people.join_all().await;
    drop(program);
    println!(
        "killed {kills} times in {} s: {} messages, {} of them asked for again",
        begun.elapsed().as_secs(),
        said.load(Ordering::Relaxed),
        repeated.load(Ordering::Relaxed)
    );
    for (person, count) in counts {
        check(&tape::read(&home.tape_file(&format!("kill:{person}"))), person, count);
    }
    println!("  every message stands on its tape once, in order");
}

/// Sends messages one after the other, each until it is answered.
async fn talk(
    person: usize,
    mut place: watch::Receiver<Address>,
    stop: &AtomicBool,
    said: &AtomicUsize,
    repeated: &AtomicUsize,
) -> (usize, usize) {
    let mut message = 0;
    while !stop.load(Ordering::Relaxed) || message == 0 {
        let (content, key) = (format!("message {message} of {person}"), format!("{person}-{message}"));
        let mut tries = 0;
        loop {
            let here = place.wait_for(Option::is_some).await.expect("a server serves in the end").clone();
            let (address, token) = here.expect("it was waited for");
            let asked = async {
                let mut client = Client::connect(address, &token).await?;
                client.turn(&format!("kill:{person}"), &content, Some(&key)).await
            };
            tries += 1;
            match timeout(TIMEOUT, asked).await {
                Ok(Ok((200, _))) => break,
                Ok(Ok((status, body))) => assert_eq!(status, 503, "{body}"),
                Ok(Err(_)) | Err(_) => {}
            }
            sleep(Duration::from_millis(50)).await;
        }
        said.fetch_add(1, Ordering::Relaxed);
        repeated.fetch_add(usize::from(tries > 1), Ordering::Relaxed);
        message += 1;
    }
    (person, message)
}

/// Checks that the context of a tape has every message once, in order.
fn check(tape: &[Value], person: usize, count: usize) {
    let in_context = |entry: &&Value| entry["meta"]["context"] != false;
    let users = tape.iter().filter(in_context).filter(|entry| entry["payload"]["role"] == "user");
    let said: Vec<&str> = users.filter_map(|entry| entry["payload"]["content"].as_str()).collect();
    assert_eq!(said.len(), count, "person {person}: {said:#?}");
    for (message, said) in said.iter().enumerate() {
        assert!(said.contains(&format!("message {message} of {person}")), "person {person}: {said}");
    }
}

/// An unreliable model server.
async fn unreliable(listener: TcpListener) {
    for request in 0_usize.. {
        let Ok((stream, _)) = listener.accept().await else { return };
        tokio::spawn(answer(stream, request));
    }
}

async fn answer(mut stream: TcpStream, request: usize) {
    let mut heard = Vec::new();
    let mut buffer = [0; 16 << 10];
    // Reads the body to its declared length.
    loop {
        let Ok(read @ 1..) = stream.read(&mut buffer).await else { return };
        heard.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&heard);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
        });
        if body.len() >= length.unwrap_or(0) {
            break;
        }
    }
    let event = |text: &str| {
        let delta = serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
        format!("data: {delta}\n\n")
    };
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let whole = format!("{head}{}data: [DONE]\n\n", event("heard"));
    let said = match request % 8 {
        0 => format!("{head}{}", event("cut")),
        1 => "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: {\"no\"\n\n"
            .to_owned(),
        2 => "HTTP/1.1 500 Oh\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno".to_owned(),
        3 => {
            sleep(Duration::from_millis(800)).await;
            whole
        }
        _ => whole,
    };
    let _ = stream.write_all(said.as_bytes()).await;
}
