//! A network between a worker and the database, that can be slow, stand still, or fail.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const UP: u8 = 0;
const HUNG: u8 = 1;
const DOWN: u8 = 2;

/// A relay from a TCP port of this machine to the server's socket.
pub struct Link {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    mode: AtomicU8,
    delay_ms: AtomicU64,
    open: Mutex<Vec<TcpStream>>,
}

impl Link {
    /// To the server with that socket.
    pub fn new(socket: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let state = Arc::new(State::default());
        let (of, socket) = (Arc::clone(&state), socket.to_owned());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (of, socket) = (Arc::clone(&of), socket.clone());
                thread::spawn(move || relay(client, &socket, &of));
            }
        });
        Self { port, state }
    }

    /// The address of the database `name` by way of the link.
    pub fn address(&self, name: &str) -> String {
        format!("postgres://bub@127.0.0.1:{}/{name}", self.port)
    }

    /// Each piece of data takes this long.
    pub fn slow(&self, delay: Duration) {
        let delay = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self.state.delay_ms.store(delay, Ordering::SeqCst);
    }

    /// Nothing passes, and nothing is refused.
    pub fn hang(&self) {
        self.state.mode.store(HUNG, Ordering::SeqCst);
    }

    /// Connections end, and new ones are refused.
    pub fn fail(&self) {
        self.state.mode.store(DOWN, Ordering::SeqCst);
        for stream in self.state.open.lock().unwrap().drain(..) {
            let _ended = stream.shutdown(Shutdown::Both);
        }
    }

    /// All is well again.
    pub fn heal(&self) {
        self.state.mode.store(UP, Ordering::SeqCst);
        self.state.delay_ms.store(0, Ordering::SeqCst);
    }
}

fn relay(client: TcpStream, socket: &PathBuf, state: &Arc<State>) {
    if state.mode.load(Ordering::SeqCst) == DOWN {
        return;
    }
    let Ok(server) = UnixStream::connect(socket) else { return };
    let (Ok(kept), Ok(from_client), Ok(to_server)) = (client.try_clone(), client.try_clone(), server.try_clone())
    else {
        return;
    };
    state.open.lock().unwrap().push(kept);
    let of = Arc::clone(state);
    thread::spawn(move || {
        pass(from_client, &to_server, &of);
        let _ended = to_server.shutdown(Shutdown::Both);
    });
    pass(server, &client, state);
    let _ended = client.shutdown(Shutdown::Both);
}

fn pass(mut from: impl Read, mut to: impl Write, state: &State) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        thread::sleep(Duration::from_millis(state.delay_ms.load(Ordering::SeqCst)));
        while state.mode.load(Ordering::SeqCst) == HUNG {
            thread::sleep(Duration::from_millis(5));
        }
        if state.mode.load(Ordering::SeqCst) == DOWN || to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}
