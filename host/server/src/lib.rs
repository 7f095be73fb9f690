//! The HTTP API and the page: authentication, scopes, bounds and formats. Turns are run by the gateway.

#![warn(missing_docs, unreachable_pub)]

mod address;
mod api_error;
mod approvals;
mod auth;
mod body;
mod channels;
mod dto;
mod events;
mod extract;
mod listen;
mod log;
mod login;
mod logins;
mod mcp;
mod metrics;
mod openai;
mod openapi;
mod origin_check;
mod page;
mod plugins;
mod quota;
mod readiness;
mod routes;
mod secrets;
mod sse;
mod status;
mod stream;
mod tapes;
mod tls;
mod token;
mod turns;
mod witness;

use bub_gateway::Gateway;
use bub_runtime::approval_board::{self, BoardReader};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

pub use address::{login_link, running_origin};
use api_error::ApiError;
pub use auth::AuthState;
pub use listen::{Server, listen};
pub use log::LogLayer;
pub use logins::{CODE_LIFETIME, issue_code};
pub use metrics::METRICS;
pub use openapi::DOCUMENT;
pub use routes::paths;
pub use tls::Tls;
pub use token::Tokens;

/// Requests that may scan tapes or run hooks for a preview at once. Further ones wait.
const MAX_SCANS: usize = 4;

/// Streams of events at once. A page reads up to three.
const MAX_EVENT_STREAMS: usize = 256;

/// Large bodies that are parsed at once. Further ones wait, and take no memory for their parsed form until then.
const MAX_PARSERS: usize = 2;

/// The state that all requests share.
pub(crate) struct Api {
    gateway: Arc<Gateway>,
    auth: AuthState,
    logins: logins::Logins,
    approvals: BoardReader,
    candidates: plugins::Candidates,
    write_dedup: tapes::WriteDedup,
    scans: Semaphore,
    event_streams: Arc<Semaphore>,
    bodies: body::BodyBudget,
    requests: quota::RequestCounts,
    parsers: body::ParserPool,
    readiness: readiness::Readiness,
    mcp: mcp::Endpoint,
}

impl Api {
    fn new(gateway: Arc<Gateway>, auth: AuthState) -> anyhow::Result<Self> {
        let host = gateway.host();
        Ok(Self {
            logins: logins::Logins::new(&host.config.home, host.database()),
            approvals: BoardReader::new(approval_board::board(&host)),
            gateway,
            auth,
            candidates: plugins::Candidates::default(),
            write_dedup: tapes::WriteDedup::default(),
            scans: Semaphore::new(MAX_SCANS),
            event_streams: Arc::new(Semaphore::new(MAX_EVENT_STREAMS)),
            bodies: body::BodyBudget::default(),
            requests: quota::RequestCounts::default(),
            parsers: body::ParserPool::new(MAX_PARSERS)?,
            readiness: readiness::Readiness::default(),
            mcp: mcp::Endpoint::new(),
        })
    }

    /// How long a peer may take to send a head or a body, or to read a part of a response.
    fn peer_timeout(&self) -> Duration {
        Duration::from_secs(self.gateway.host().config.serve.patience_seconds)
    }

    /// A permit for a request that costs more than others, so that turns are not slowed down.
    async fn scan_permit(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.scans.acquire().await.ok()
    }
}
