//! Limits of a proxy.

use std::time::Duration;

/// Limits of one proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; further ones wait until one ends. 128.
    pub connections: usize,
    /// From the beginning of a connection to its first byte, from there to the end of the head, and between two requests
    /// of a connection. 30 s.
    pub head: Duration,
    /// How long nothing may move in a tunnel or in a body. 10 min.
    pub idle: Duration,
    /// How long the policy may think, and the user with it. 2 min.
    pub decision: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 128,
            head: Duration::from_secs(30),
            idle: Duration::from_secs(600),
            decision: Duration::from_secs(120),
        }
    }
}
