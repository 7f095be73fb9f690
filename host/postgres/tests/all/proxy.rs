//! A network between the program and PostgreSQL, whose answers can be held back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bub_test_support::postgres::Postgres;
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

/// Passes on what the program and the server say.
pub struct Proxy {
    dir: TempDir,
    shared: Arc<Shared>,
}

struct Shared {
    /// Answers of connections with a lower number are held back.
    held: watch::Sender<usize>,
    connections: AtomicUsize,
    /// Bytes that the program sent since answers are held back.
    sent: Mutex<Vec<u8>>,
}

impl Proxy {
    /// Before that server.
    pub fn new(server: &Postgres) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join(".s.PGSQL.5432")).unwrap();
        let shared =
            Arc::new(Shared { held: watch::channel(0).0, connections: AtomicUsize::new(0), sent: Mutex::default() });
        let (target, of) = (server.dir().join(".s.PGSQL.5432"), shared.clone());
        tokio::spawn(async move {
            while let Ok((program, _)) = listener.accept().await {
                let number = of.connections.fetch_add(1, Ordering::SeqCst);
                let Ok(server) = UnixStream::connect(&target).await else { continue };
                let ((from_program, to_program), (from_server, to_server)) =
                    (program.into_split(), server.into_split());
                tokio::spawn(requests(from_program, to_server, of.clone()));
                tokio::spawn(answers(from_server, to_program, of.clone(), number));
            }
        });
        Self { dir, shared }
    }

    /// The address of the database `name` by way of the proxy.
    pub fn address(&self, name: &str) -> String {
        format!("postgres:///{name}?host={}&user=bub", self.dir.path().display())
    }

    /// Holds back the answers on all connections that exist.
    pub fn hold(&self) {
        self.shared.sent.lock().clear();
        self.shared.held.send_replace(self.shared.connections.load(Ordering::SeqCst));
    }

    /// Delivers what was held back.
    pub fn release(&self) {
        self.shared.held.send_replace(0);
    }

    /// Waits until the program has sent that text.
    pub async fn sent(&self, text: &str) {
        let holds = || self.shared.sent.lock().windows(text.len()).any(|part| part == text.as_bytes());
        while !holds() {
            tokio::task::yield_now().await;
        }
    }
}

async fn requests(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, shared: Arc<Shared>) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        shared.sent.lock().extend_from_slice(&buffer[..length]);
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

async fn answers(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    shared: Arc<Shared>,
    number: usize,
) {
    let mut held = shared.held.subscribe();
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let released = held.wait_for(|held| number >= *held).await.is_ok();
        if !released || to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
