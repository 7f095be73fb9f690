//! HTTP on behalf of plugins: which hosts a request may go to, and how it gets there.
//!
//! A request passes through a [`EgressClient`], which knows the [`Target`]s that the plugin was granted. The host is checked by
//! name first; then every address that the name leads to is checked, and the connection goes to an address that was
//! checked, because the check is the resolver that the connection uses. Addresses that are not on the public internet
//! are out of reach unless the grant names exactly that host. Redirects come back as they are: whoever follows one sends
//! a new request, and that one is checked like the first.
//!
//! This room knows nothing of wasm, plugins or where grants are kept.

#![warn(missing_docs, unreachable_pub)]

mod body;
mod client;
mod error;
mod headers;
mod host;
mod ip_scope;
mod limits;
mod network;
mod redact_stream;
mod request;
mod resolve;
mod response;
mod rewrite;
pub mod secret;
mod target;

pub use body::Body;
pub use client::EgressClient;
pub use error::Error;
pub use ip_scope::{IpScope, ip_scope};
pub use limits::Limits;
pub use network::Network;
pub use redact_stream::Redactor;
pub use request::Request;
pub use resolve::{LookupFuture, Resolve, SystemResolver};
pub use response::{Incoming, Response};
pub use rewrite::{Outgoing, Rewrite};
pub use target::{ParseTargetError, Target};
