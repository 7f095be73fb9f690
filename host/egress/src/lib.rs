//! HTTP requests of plugins: allowed hosts, address rules, limits, secrets and redaction.
//!
//! An [`EgressClient`] sends a request if one of the plugin's granted [`Target`]s allows it. The host is checked by
//! name first. Then the resolver that the connection uses checks every address of the name, so the connection goes to a
//! checked address (no DNS rebinding). Addresses outside the public internet are rejected unless a grant names exactly
//! that host. Redirects are not followed: the guest sends a new request, which is checked like the first.
//!
//! Connections of programs go by the same rules ([`Network::connect`]), to the hosts that a [`HostRule`] names.
//!
//! The crate has no knowledge of WebAssembly, plugins or the storage of grants.

#![warn(missing_docs, unreachable_pub)]

mod body;
mod client;
mod connect;
mod destination;
mod error;
mod headers;
mod host;
mod host_rule;
mod ip_scope;
mod limits;
mod named_host;
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
pub use destination::Destination;
pub use error::Error;
pub use host_rule::HostRule;
pub use ip_scope::{IpScope, ip_scope};
pub use limits::Limits;
pub use named_host::{has_local_address, shown_url};
pub use network::Network;
pub use redact_stream::Redactor;
pub use request::Request;
pub use resolve::{CheckedResolver, LookupFuture, Resolve, SystemResolver, is_allowed};
pub use response::{Incoming, Response};
pub use rewrite::{Outgoing, Rewrite};
pub use target::{ParseTargetError, Target};
