//! The network of a sandboxed program: a proxy on a Unix socket, which asks a [`Policy`] about every host.
//!
//! A sandbox has no network of its own but its loopback. There a [`Proxy`] outside listens itself ([`Proxy::listen`]), or a
//! relay of the sandbox does and passes each connection on to its socket ([`Proxy::socket`]). It speaks HTTP (`CONNECT`, and requests with a whole URL) and SOCKS5. The proxy looks
//! names up itself and connects to the addresses that it has checked ([`bub_egress::Network::connect`]), so neither a
//! name nor a number leads to a host that no rule names.
//!
//! Nothing is decrypted: of a tunnel the proxy knows the host, the port and the number of bytes. A request of plain HTTP
//! with one of the secrets that the policy knows is refused.
//!
//! The crate has no knowledge of turns, plugins or sandboxes. Both sides of the proxy are strangers to it: heads, time and
//! connections are bounded, and bodies are never held.

#![warn(missing_docs, unreachable_pub)]

mod connection;
mod directory;
mod http;
mod leak;
mod limits;
mod policy;
mod proxy;
mod refusal;
mod socks;
mod tunnel;

pub use directory::remove_ended;
pub use limits::Limits;
pub use policy::{Direction, Policy, PolicyFuture, Verdict};
pub use proxy::{Proxy, Way};
