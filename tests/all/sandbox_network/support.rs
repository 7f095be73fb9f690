//! A home whose programs are in a sandbox, and a server on this machine.

use crate::home;
use bub_tests::{Home, Run};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The backend of most tests.
pub(super) const BACKEND: &str = "bwrap";

/// Whether it works here; a test that needs it says that it was skipped.
pub(super) fn has_sandbox() -> bool {
    crate::sandbox::backends().contains(&BACKEND)
}

/// `bub-wasm run` with these arguments and a sandbox for programs.
pub(super) fn run<'home, 'a>(home: &'home Home, arguments: impl IntoIterator<Item = &'a str>) -> Run<'home> {
    run_in(home, BACKEND, arguments)
}

/// The same with that backend.
pub(super) fn run_in<'home, 'a>(
    home: &'home Home,
    backend: &str,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Run<'home> {
    home.run(arguments).env("BUB_SANDBOX", backend)
}

/// A home with that in `[process]`, in a workspace that is trusted, so that the output of a program does not taint.
pub(super) fn sandboxed(process: &str) -> Home {
    let home = home();
    home.configure("[process]\nstrict = true\nregistries = []\n");
    home.configure(&format!("[process]\n{process}\n"));
    home.bub(["trust"]).finish();
    home
}

/// An HTTP server that says `hello`.
pub(super) struct Web {
    port: u16,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl Web {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its port").port();
        let (connections, requests) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (connected, requested) = (Arc::clone(&connections), Arc::clone(&requests));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                connected.fetch_add(1, Ordering::SeqCst);
                let requested = Arc::clone(&requested);
                std::thread::spawn(move || answer(stream, &requested));
            }
        });
        Self { port, connections, requests }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.host())
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(super) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

/// Answers one request.
fn answer(mut stream: TcpStream, requests: &AtomicUsize) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
    let (mut head, mut buffer) = (Vec::new(), [0; 4096]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => head.extend_from_slice(&buffer[..count]),
            _ => return,
        }
    }
    requests.fetch_add(1, Ordering::SeqCst);
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
}
