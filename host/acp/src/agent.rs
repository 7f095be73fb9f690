//! The connection: messages of the editor, one after the other, and how it ends.

use super::client::Client;
use super::message::{Incoming, Refusal, internal, invalid_request, no_method, parse, read};
use super::requests::Agent;
use super::workspaces::Workspaces;
use super::{MAX_LINE, MAX_REQUESTS};
use agent_client_protocol_schema::v1::{CancelNotification, CancelRequestNotification, Error, RequestId};
use bub_config::Config;
use bub_system::lines::BoundedLines;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long requests may go on when the editor has closed its end.
const GRACE: Duration = Duration::from_secs(10);

/// How long the last messages may take to be written.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// What the agent is started with.
pub struct Options {
    /// Reads the configuration, with what the command line says. Called at the first session, and again when the file has
    /// changed.
    pub configure: Box<dyn Fn() -> anyhow::Result<Config> + Send + Sync>,
    /// The folder of what needs a workspace before there is a session.
    pub workspace: PathBuf,
}

/// Answers an editor on a pair of streams, until it closes its end or `ending` is cancelled. Then prompts are cancelled, and
/// have saved their state when this returns.
pub async fn serve(
    options: Options,
    input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Send + Unpin + 'static,
    ending: CancellationToken,
) {
    let (client, writer) = Client::new(output);
    let agent = Agent::new(client.clone(), Workspaces::new(options.configure, options.workspace));
    let connection = Connection {
        client: client.clone(),
        agent: Arc::clone(&agent),
        tasks: TaskTracker::new(),
        places: Arc::new(Semaphore::new(MAX_REQUESTS)),
    };
    let mut lines = BoundedLines::new(input, MAX_LINE);
    loop {
        let line = tokio::select! {
            biased;
            () = ending.cancelled() => break,
            () = client.gone() => break,
            line = lines.next() => line,
        };
        match line {
            Ok(Some(Ok(line))) if line.iter().all(u8::is_ascii_whitespace) => {}
            Ok(Some(Ok(line))) => match parse(&line) {
                Ok(message) => connection.message(message).await,
                Err(refusal) => connection.refuse(*refusal).await,
            },
            Ok(Some(Err(_))) => {
                let error = invalid_request(format!("a message has at most {} MiB", MAX_LINE >> 20));
                connection.refuse(Refusal { error, id: RequestId::Null }).await;
            }
            Ok(None) => break,
            Err(error) => {
                tracing::warn!("the editor's messages cannot be read: {error}");
                break;
            }
        }
    }
    let tasks = connection.tasks;
    client.is_silent();
    tasks.close();
    tokio::select! {
        biased;
        () = ending.cancelled() => {}
        () = client.gone() => {}
        _ = timeout(GRACE, tasks.wait()) => {}
    }
    agent.cancel_all();
    tasks.wait().await;
    agent.close().await;
    client.is_done();
    let _ = timeout(LAST_WRITES, writer).await;
}

struct Connection {
    client: Client,
    agent: Arc<Agent>,
    tasks: TaskTracker,
    places: Arc<Semaphore>,
}

impl Connection {
    async fn message(&self, message: Incoming) {
        match message {
            Incoming::Answer { id, outcome } => self.client.answered(&id, outcome),
            Incoming::Notification { method, params } => {
                if let Err(error) = self.notified(&method, params) {
                    tracing::warn!("a notification was ignored: {}", error.message);
                }
            }
            Incoming::Request { id, method, params } => self.request(id, method, params).await,
        }
    }

    fn notified(&self, method: &str, params: Value) -> Result<(), Error> {
        match method {
            "session/cancel" => {
                let CancelNotification { session_id, .. } = read(method, params)?;
                self.agent.session(&session_id.0)?.cancel();
            }
            "$/cancel_request" => {
                let CancelRequestNotification { request_id, .. } = read(method, params)?;
                self.agent.cancel_prompt(&request_id);
            }
            // What is optional for the protocol, or for this agent.
            _ if method.starts_with("$/") || method.starts_with('_') => {}
            _ => return Err(no_method(method)),
        }
        Ok(())
    }

    /// What changes how later messages are understood is done before the next one is read; all else beside it.
    async fn request(&self, id: RequestId, method: String, params: Value) {
        if let Some(outcome) = self.agent.answer_at_once(&method, &params) {
            return self.client.respond(id, outcome).await;
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            let error = internal(format!("{MAX_REQUESTS} requests are served already; try again when one has ended"));
            return self.client.respond(id, Err(error)).await;
        };
        let agent = Arc::clone(&self.agent);
        // Before the next message is read: a cancellation that follows finds this prompt.
        let work = agent.begin(id, method, params);
        self.tasks.spawn(async move {
            let _place = place;
            agent.answer(work).await;
        });
    }

    async fn refuse(&self, refusal: Refusal) {
        tracing::warn!("a message was refused: {}", refusal.error.message);
        self.client.refuse(refusal).await;
    }
}
