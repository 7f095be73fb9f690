//! The editor at the other end: what it is sent, in order, and what it is asked.

use super::message::Refusal;
use agent_client_protocol_schema::v1::{Error, RequestId, SessionNotification, SessionUpdate};
use bub_types::text::{clipped, one_line};
use parking_lot::Mutex as Locked;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Messages that wait to be written. Beyond them, those who send wait.
const MAX_WAITING: usize = 64;

/// How long an editor may leave a message unread. A turn waits for its listener, and must not wait for a stalled one.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The editor. Clones are the same.
#[derive(Clone)]
pub(crate) struct Client(Arc<Shared>);

struct Shared {
    lines: mpsc::Sender<Vec<u8>>,
    /// Requests of ours that have no answer yet.
    open: Locked<HashMap<String, oneshot::Sender<Result<Value, String>>>>,
    last: AtomicU64,
    /// It reads nothing any more.
    gone: CancellationToken,
    /// It answers nothing any more.
    is_silent: CancellationToken,
    /// Nothing more is sent.
    is_done: CancellationToken,
}

impl Client {
    /// Writes to that stream, and the task that does so.
    pub(crate) fn new(write: impl AsyncWrite + Send + Unpin + 'static) -> (Self, JoinHandle<()>) {
        let (lines, written) = mpsc::channel(MAX_WAITING);
        let [gone, is_silent, is_done] = [(); 3].map(|()| CancellationToken::new());
        let writer = tokio::spawn(write_lines(write, written, gone.clone(), is_done.clone()));
        let (open, last) = (Locked::default(), AtomicU64::new(0));
        (Self(Arc::new(Shared { lines, open, last, gone, is_silent, is_done })), writer)
    }

    /// Returns when the editor reads nothing any more.
    pub(crate) async fn gone(&self) {
        self.0.gone.cancelled().await;
    }

    /// The editor has closed its end: it answers nothing any more.
    pub(crate) fn is_silent(&self) {
        self.0.is_silent.cancel();
    }

    /// Nothing more is sent: the writer ends when all is written.
    pub(crate) fn is_done(&self) {
        self.0.is_done.cancel();
    }

    /// What happened in a session.
    pub(crate) async fn update(&self, session: &str, update: SessionUpdate) {
        self.notify("session/update", &SessionNotification::new(session.to_owned(), update)).await;
    }

    async fn notify(&self, method: &str, params: &impl Serialize) {
        self.send(&Notification { jsonrpc: "2.0", method, params }).await;
    }

    /// Answers a request.
    pub(crate) async fn respond(&self, id: RequestId, outcome: Result<Value, Error>) {
        match outcome {
            Ok(result) => self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result })).await,
            Err(error) => self.refuse(Refusal { error, id }).await,
        }
    }

    /// Answers what is refused.
    pub(crate) async fn refuse(&self, refusal: Refusal) {
        let Refusal { error, id } = refusal;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error })).await;
    }

    /// Asks the editor. None: it did not answer, or with an error. Dropping the future withdraws the request.
    pub(crate) async fn request<T: DeserializeOwned>(&self, method: &str, params: &impl Serialize) -> Option<T> {
        if self.0.is_silent.is_cancelled() {
            return None;
        }
        let id = format!("bub-{}", self.0.last.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        self.0.open.lock().insert(id.clone(), answer);
        let open = OpenRequest { client: self, id };
        self.send(&Request { jsonrpc: "2.0", id: &open.id, method, params }).await;
        let outcome = tokio::select! {
            outcome = answered => outcome.ok()?,
            () = self.0.gone.cancelled() => return None,
            () = self.0.is_silent.cancelled() => return None,
        };
        let result = outcome.and_then(|result| {
            serde_json::from_value(result).map_err(|error| clipped(&one_line(&error.to_string()), 300))
        });
        result.inspect_err(|error| tracing::warn!("the editor did not answer `{method}`: {error}")).ok()
    }

    /// The answer to a request of ours.
    pub(crate) fn answered(&self, id: &str, outcome: Result<Value, String>) {
        let open = self.0.open.lock().remove(id);
        match open {
            // Who asked may have left.
            Some(open) => drop(open.send(outcome)),
            None => tracing::debug!("the editor answered a request that is not open"),
        }
    }

    /// Sends a message, unless the editor has gone. Nothing is written in part when the future is dropped.
    async fn send(&self, message: &impl Serialize) {
        if let Some(line) = line(message) {
            // A writer that has ended has said why.
            let _ = self.0.lines.send(line).await;
        }
    }
}

#[derive(Serialize)]
struct Notification<'a, P> {
    jsonrpc: &'a str,
    method: &'a str,
    params: &'a P,
}

#[derive(Serialize)]
struct Request<'a, P> {
    jsonrpc: &'a str,
    id: &'a str,
    method: &'a str,
    params: &'a P,
}

/// Withdraws a request that is dropped without an answer.
struct OpenRequest<'a> {
    client: &'a Client,
    id: String,
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        let shared = &self.client.0;
        if shared.open.lock().remove(&self.id).is_none() {
            return;
        }
        let withdrawn = json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": self.id } });
        if let Some(line) = line(&withdrawn) {
            // An editor that is behind finds out when its answer is of no use.
            let _ = shared.lines.try_send(line);
        }
    }
}

fn line(message: &impl Serialize) -> Option<Vec<u8>> {
    let mut line = serde_json::to_vec(message)
        .inspect_err(|error| tracing::error!("a message cannot be written as JSON: {error}"))
        .ok()?;
    line.push(b'\n');
    Some(line)
}

async fn write_lines(
    mut write: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<Vec<u8>>,
    gone: CancellationToken,
    is_done: CancellationToken,
) {
    let _gone = gone.drop_guard();
    loop {
        let line = tokio::select! {
            biased;
            line = lines.recv() => line,
            () = is_done.cancelled() => None,
        };
        let Some(line) = line else { return };
        let written = async {
            write.write_all(&line).await?;
            write.flush().await
        };
        match timeout(READ_TIMEOUT, written).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return tracing::info!("the editor has gone: {error}"),
            Err(_) => return tracing::warn!("the editor has read nothing for {} s", READ_TIMEOUT.as_secs()),
        }
    }
}
