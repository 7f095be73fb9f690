//! Messages as lines: one JSON object a line, of a bounded length and a bounded structure. What is no message is answered by
//! an error, and costs nothing else.

use bub_system::lines::BoundedLines;
use bub_tape::json::Bounds;
use parking_lot::Mutex as Locked;
use rmcp::model::{ClientNotification, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// The longest message, in bytes.
pub const MAX_LINE: usize = 16 << 20;

/// Bounds of a message. Arguments of tools are objects of a few values, and texts.
const BOUNDS: Bounds = Bounds { depth: 64, members: 65_536, elements: 131_072 };

/// How long requests may go on when the client has closed its end.
const GRACE: Duration = Duration::from_secs(10);

/// A client on a pair of streams.
pub struct LineTransport<R, W> {
    lines: BoundedLines<R>,
    /// The requests without an answer.
    open: OpenRequests,
    /// Ends what still runs when the client has closed its end for long.
    ending: CancellationToken,
    /// When the client closed its end.
    closed: Option<Instant>,
    write: Arc<Mutex<W>>,
    /// Writes the error for what was refused last. A task, because `receive` may be dropped while it waits, and a line must
    /// be written whole.
    refusing: Option<JoinHandle<()>>,
}

impl<R: AsyncBufRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> LineTransport<R, W> {
    /// Reads messages from one stream, and writes them to the other. Requests that the client left open when it closed its
    /// end are ended by `ending` after ten seconds.
    pub fn new(read: R, write: W, ending: CancellationToken) -> Self {
        let (write, open) = (Arc::new(Mutex::new(write)), OpenRequests::default());
        Self { lines: BoundedLines::new(read, MAX_LINE), open, ending, closed: None, write, refusing: None }
    }

    /// The client has closed its end: waits for the answers to its requests, for a while.
    async fn wait_for_answers(&mut self) {
        let closed = *self.closed.get_or_insert_with(Instant::now);
        if timeout_at(closed + GRACE, self.open.none()).await.is_err() {
            self.ending.cancel();
        }
    }

    async fn next_line(&mut self) -> io::Result<Option<Result<Vec<u8>, ErrorData>>> {
        let too_long = |_| ErrorData::invalid_request(format!("a message has at most {} MiB", MAX_LINE >> 20), None);
        Ok(self.lines.next().await?.map(|line| line.map_err(too_long)))
    }

    fn refuse(&mut self, error: ErrorData, id: Option<RequestId>) {
        tracing::warn!("a message was refused: {}", error.message);
        let (write, refusal) = (Arc::clone(&self.write), TxJsonRpcMessage::<RoleServer>::error(error, id));
        self.refusing = Some(tokio::spawn(async move {
            // A client that has closed its end is met again by the next answer.
            let _ = written(&write, &refusal).await;
        }));
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncBufRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (write, open) = (Arc::clone(&self.write), self.open.clone());
        async move {
            let sent = written(&write, &message).await;
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                _ => None,
            };
            if let Some(id) = answered {
                open.remove(id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // One at a time, so that a client that does not read is not read either.
            if let Some(refusing) = &mut self.refusing {
                let _ = refusing.await;
                self.refusing = None;
            }
            match self.next_line().await {
                Ok(None) => {
                    self.wait_for_answers().await;
                    return None;
                }
                Err(error) => {
                    tracing::warn!("the client's messages cannot be read: {error}");
                    return None;
                }
                Ok(Some(Err(error))) => self.refuse(error, None),
                Ok(Some(Ok(line))) if line.iter().all(u8::is_ascii_whitespace) => {}
                Ok(Some(Ok(line))) => match parse(&line) {
                    Ok(message) => {
                        self.open.note(&message);
                        return Some(message);
                    }
                    Err(refusal) => {
                        let (error, id) = *refusal;
                        self.refuse(error, id);
                    }
                },
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.write.lock().await.flush().await
    }
}

/// The requests that have no answer yet.
#[derive(Clone, Default)]
struct OpenRequests(Arc<OpenSet>);

#[derive(Default)]
struct OpenSet {
    ids: Locked<HashSet<RequestId>>,
    changed: Notify,
}

impl OpenRequests {
    /// A request opens one, and a cancelled request gets no answer.
    fn note(&self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(request) => drop(self.0.ids.lock().insert(request.id.clone())),
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    fn remove(&self, id: &RequestId) {
        self.0.ids.lock().remove(id);
        self.0.changed.notify_one();
    }

    /// Waits until there are none.
    async fn none(&self) {
        while !self.0.ids.lock().is_empty() {
            self.0.changed.notified().await;
        }
    }
}

/// Writes a message as one line.
async fn written<W: AsyncWrite + Unpin>(write: &Mutex<W>, message: &TxJsonRpcMessage<RoleServer>) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut write = write.lock().await;
    write.write_all(&line).await?;
    write.flush().await
}

/// A message, or the error to answer with.
fn parse(line: &[u8]) -> Result<RxJsonRpcMessage<RoleServer>, Box<(ErrorData, Option<RequestId>)>> {
    let invalid = |reason: String| Box::new((ErrorData::parse_error(reason, None), None));
    BOUNDS.check(line).map_err(|exceeded| invalid(format!("the message is {exceeded}")))?;
    let text = std::str::from_utf8(line).map_err(|_| invalid("the message is not UTF-8".to_owned()))?;
    serde_json::from_str(text).map_err(|_| {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            return invalid("the message is not JSON".to_owned());
        };
        let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
        let reason = "the message is no request, notification or response of JSON-RPC 2.0";
        Box::new((ErrorData::invalid_request(reason, None), id))
    })
}
