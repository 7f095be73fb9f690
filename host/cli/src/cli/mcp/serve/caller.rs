//! The client of this process, whose turns run here.

use super::channel::TurnChannel;
use bub_config::Commands;
use bub_mcp::rmcp::ErrorData;
use bub_mcp::rmcp::model::Extensions;
use bub_mcp::{Caller, Connection, Outcome, Work};
use bub_runtime::channel::message;
use bub_runtime::error::Failure;
use bub_runtime::host::Host;
use bub_runtime::imports::toolbox::call_directly;
use bub_runtime::turn::{Identity, TurnOptions, run_turn};
use bub_types::{Error, ErrorKind, MessageKind, Principal, check_session_id};
use parking_lot::Mutex as Locked;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;

/// The channel of the client's messages.
const CHANNEL: &str = "mcp";

/// The one client.
#[derive(Clone)]
pub(super) struct LocalConnection(Arc<Shared>);

struct Shared {
    host: Arc<Host>,
    session: String,
    /// One turn of a session at a time.
    queues: Locked<HashMap<String, Arc<Mutex<()>>>>,
    turns: TaskTracker,
}

impl LocalConnection {
    pub(super) fn new(host: &Arc<Host>, session: String) -> Self {
        let (queues, turns) = (Locked::default(), TaskTracker::new());
        Self(Arc::new(Shared { host: Arc::clone(host), session, queues, turns }))
    }

    /// The turns that run.
    pub(super) fn turns(&self) -> TaskTracker {
        self.0.turns.clone()
    }

    fn queue(&self, session: &str) -> Arc<Mutex<()>> {
        let mut queues = self.0.queues.lock();
        queues.retain(|_, queue| Arc::strong_count(queue) > 1);
        Arc::clone(queues.entry(session.to_owned()).or_default())
    }
}

impl Connection for LocalConnection {
    type Caller = Self;

    fn caller(&self, _: &Extensions) -> Result<Self, ErrorData> {
        Ok(self.clone())
    }
}

impl Caller for LocalConnection {
    fn host(&self) -> Arc<Host> {
        Arc::clone(&self.0.host)
    }

    fn session(&self) -> &str {
        &self.0.session
    }

    fn session_prefix(&self) -> &str {
        ""
    }

    fn check_calls(&self) -> Result<(), ErrorData> {
        Ok(())
    }

    fn check_reads(&self) -> Result<(), ErrorData> {
        Ok(())
    }

    fn check_session(&self, session: &str) -> Result<(), ErrorData> {
        check_session_id(session).map_err(|error| ErrorData::invalid_params(error, None))
    }

    async fn run(&self, work: Work) -> Result<Outcome, ErrorData> {
        let Work { session, taint, content, call, listener, mut cancel, trace, elicitor } = work;
        let queue = self.queue(&session);
        let _turn = tokio::select! {
            biased;
            _ = cancel.wait_for(|cancelled| *cancelled) => return Ok(failed(&Failure::Cancelled)),
            turn = queue.lock_owned() => turn,
        };
        let channel = Arc::new(TurnChannel::new(elicitor));
        let identity =
            Identity { principal: Principal::Owner, commands: Commands::None, session_prefix: String::new(), taint };
        let mut options = TurnOptions::new(cancel)
            .with_session(session.clone())
            .with_identity(Some(identity))
            .with_channel(channel.clone())
            .with_trace(trace);
        if let Some(listener) = listener {
            options = options.with_listener(listener);
        }
        let message = message(Some(session), [CHANNEL, "stdio", "client"], &content, MessageKind::Normal);
        let host = Arc::clone(&self.0.host);
        // The turn saves its state, though its client may not wait.
        let turn = self.0.turns.spawn(async move {
            let _turn = _turn;
            match &call {
                Some(call) => call_directly(&host, message, options, call).await,
                None => run_turn(&host, message, options).await,
            }
        });
        match turn.await {
            Ok(Ok(result)) => Ok(Outcome { text: channel.answer().unwrap_or(result.output), error: None }),
            Ok(Err(failure)) => Ok(failed(&failure)),
            Err(error) => {
                tracing::error!("a turn panicked: {error}");
                let error = Error::new(ErrorKind::Unknown, "the turn panicked");
                Ok(Outcome { text: String::new(), error: Some(error) })
            }
        }
    }
}

fn failed(failure: &Failure) -> Outcome {
    Outcome { text: String::new(), error: Some(failure.to_user_error()) }
}
