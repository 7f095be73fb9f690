//! HTTP on behalf of plugins: which hosts a request may go to, and how it gets there.
//!
//! A request passes through a [`Gate`], which knows the [`Target`]s that the plugin was granted. The host is checked by
//! name first; then every address that the name leads to is checked, and the connection goes to an address that was
//! checked, because the check is the resolver that the connection uses. Addresses that are not on the public internet
//! are out of reach unless the grant names exactly that host. Redirects come back as they are: whoever follows one sends
//! a new request, and that one is checked like the first.
//!
//! This room knows nothing of wasm, plugins or where grants are kept.

#![warn(missing_docs, unreachable_pub)]

mod address;
mod body;
mod error;
mod gate;
mod headers;
mod host;
mod limits;
mod network;
mod request;
mod resolve;
mod response;
mod rewrite;
mod scrub;
pub mod secret;
mod target;

pub use address::{Reach, reach};
pub use body::Body;
pub use error::Error;
pub use gate::Gate;
pub use limits::Limits;
pub use network::Network;
pub use request::Request;
pub use resolve::{Resolve, Resolving, System};
pub use response::{Incoming, Response};
pub use rewrite::{Outgoing, Rewrite};
pub use scrub::Scrub;
pub use target::{BadTarget, Target};
