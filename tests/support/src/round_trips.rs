//! Round trips from a program to PostgreSQL, counted between the two.

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::postgres::Postgres;

/// Passes on what programs and a server say, and notes each round trip. It listens until the test's process ends.
pub struct RoundTrips {
    dir: PathBuf,
    noted: Arc<Mutex<Vec<String>>>,
}

impl RoundTrips {
    /// Before that server.
    pub fn new(server: &Postgres) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("bub-rt-{}-{number}", std::process::id()));
        fs::create_dir(&dir).expect("the directory can be made");
        let listener = UnixListener::bind(dir.join(".s.PGSQL.5432")).expect("a socket can be made");
        let noted = Arc::new(Mutex::new(Vec::new()));
        let (target, notes) = (server.dir().join(".s.PGSQL.5432"), Arc::clone(&noted));
        thread::spawn(move || {
            while let Ok((program, _)) = listener.accept() {
                let Ok(server) = UnixStream::connect(&target) else { continue };
                let copies = (program.try_clone().expect("it is open"), server.try_clone().expect("it is open"));
                let notes = Arc::clone(&notes);
                thread::spawn(move || pass(copies.1, copies.0, |_| {}));
                thread::spawn(move || {
                    let mut watched = Watched::default();
                    pass(program, server, |bytes| watched.take(bytes, &notes));
                });
            }
        });
        Self { dir, noted }
    }

    /// The address of the database `name` by way of this.
    pub fn address(&self, name: &str) -> String {
        format!("postgres:///{name}?host={}&user=bub", self.dir.display())
    }

    /// The round trips since the last call: for each the statements, or `prepare` before one.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.noted.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for RoundTrips {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn pass(mut from: UnixStream, mut to: UnixStream, mut watch: impl FnMut(&[u8])) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        watch(&buffer[..length]);
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

/// One connection of the program.
#[derive(Default)]
struct Watched {
    bytes: Vec<u8>,
    has_started: bool,
    prepared: HashMap<String, String>,
    current: Vec<String>,
}

impl Watched {
    /// Messages have a type, except for the first, and a length, which counts itself. `S` and `Q` wait for an answer.
    fn take(&mut self, bytes: &[u8], notes: &Mutex<Vec<String>>) {
        self.bytes.extend_from_slice(bytes);
        loop {
            let head = usize::from(self.has_started);
            let Some(length) = self.bytes.get(head..head + 4) else { return };
            let length = head + u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
            if self.bytes.len() < length {
                return;
            }
            let message: Vec<u8> = self.bytes.drain(..length).collect();
            if !std::mem::replace(&mut self.has_started, true) {
                continue;
            }
            self.message(message[0], &message[5..], notes);
        }
    }

    fn message(&mut self, kind: u8, body: &[u8], notes: &Mutex<Vec<String>>) {
        let mut texts = body.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned());
        let mut text = || texts.next().unwrap_or_default();
        match kind {
            b'P' => {
                let (name, statement) = (text(), text());
                self.current.push(if name.is_empty() { statement.clone() } else { format!("prepare {statement}") });
                self.prepared.insert(name, statement);
            }
            b'B' => {
                let (_portal, name) = (text(), text());
                if !name.is_empty() {
                    self.current.push(self.prepared.get(&name).cloned().unwrap_or_default());
                }
            }
            b'Q' => self.current.push(text()),
            _ => {}
        }
        if matches!(kind, b'S' | b'Q') {
            let noted = std::mem::take(&mut self.current).join("; ");
            // Closing a statement is not waited for.
            if !noted.is_empty() {
                notes.lock().unwrap_or_else(PoisonError::into_inner).push(noted);
            }
        }
    }
}
