//! The API over HTTP: who may ask for what is decided here, and what comes of a message is the gateway's.

mod about;
mod body;
mod channels;
mod door;
mod extract;
mod guard;
mod listen;
mod live;
mod metrics;
mod openai;
mod openapi;
mod problem;
mod quota;
mod routes;
mod tapes;
mod tls;
mod token;
mod turns;
mod wire;

use bub_gateway::Gateway;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

pub use door::Door;
pub use listen::{Server, listen};
pub use openapi::DOCUMENT;
use problem::Problem;
pub use routes::paths;
pub use tls::Tls;
pub use token::Tokens;

/// Requests that may look through tapes, or run hooks for a look, at once. The others wait.
const LOOKS: usize = 4;

/// Readers of what happens, at once.
const READERS: usize = 64;

/// Large bodies that are parsed at once. The others wait, and so take no memory for what is made of them.
const PARSERS: usize = 2;

/// What all requests share.
pub struct Api {
    gateway: Arc<Gateway>,
    door: Door,
    answered: tapes::Answered,
    looks: Semaphore,
    readers: Arc<Semaphore>,
    bodies: body::BodyBudget,
    requests: quota::RequestCounts,
    parsers: body::ParserPool,
}

impl Api {
    fn new(gateway: Arc<Gateway>, door: Door) -> anyhow::Result<Self> {
        Ok(Self {
            gateway,
            door,
            answered: tapes::Answered::default(),
            looks: Semaphore::new(LOOKS),
            readers: Arc::new(Semaphore::new(READERS)),
            bodies: body::BodyBudget::default(),
            requests: quota::RequestCounts::default(),
            parsers: body::ParserPool::new(PARSERS)?,
        })
    }

    /// How long a body may take to arrive.
    fn patience(&self) -> Duration {
        Duration::from_secs(self.gateway.host().config.serve.patience_seconds)
    }

    /// A place for something that costs more than a request should: turns go on beside it.
    async fn look(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.looks.acquire().await.ok()
    }
}
