//! Who decides about hosts, and learns what was reached.

use bub_egress::Destination;
use bub_redact::Patterns;
use std::future::Future;
use std::pin::Pin;

/// A decision about one connection or one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may be made.
    Allow {
        /// Whether a rule names exactly this host, so that it may be on this machine or on a private network.
        exact: bool,
    },
    /// It is refused, for this reason: one line, which the program is shown.
    Deny(String),
}

/// Where bytes went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the program to the host.
    Sent,
    /// From the host to the program.
    Received,
}

/// A pending decision.
pub type PolicyFuture<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// Decides about hosts. It is asked anew for each tunnel and for each request of plain HTTP.
pub trait Policy: Send + Sync + 'static {
    /// Whether that host may be reached now. Dropping the future withdraws the question.
    fn decide<'a>(&'a self, destination: &'a Destination) -> PolicyFuture<'a>;

    /// A connection to the host is open, or a request was answered.
    fn reached(&self, destination: &Destination);

    /// So many bytes have moved; of plain HTTP those of bodies are counted.
    fn moved(&self, destination: &Destination, direction: Direction, bytes: u64);

    /// The program was refused, by the policy, by the address rules, or for a secret.
    fn refused(&self, destination: &Destination, why: &str);

    /// What must not leave in plain HTTP.
    fn known_secrets(&self) -> Vec<Patterns>;
}
