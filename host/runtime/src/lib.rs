//! The runtime: turns, the hooks that they consist of, and the plugins that implement the hooks.
//!
//! A message becomes a turn ([`turn`]), a turn asks hooks ([`hooks`]), a hook asks plugins ([`plugin`]), and a plugin reaches
//! the host through imports, each behind a grant ([`imports`]). [`host::Host`] holds what all turns of a process share.
//! The runtime knows no gateway, no HTTP API and no command line.

#![warn(missing_docs, unreachable_pub)]

pub mod channel;
pub mod error;
pub mod hooks;
pub mod host;
pub mod imports;
pub mod plugin;
pub mod turn;
