//! The runtime: turns, hooks, and the plugins that implement hooks.
//! A message becomes a turn ([`turn`]), a turn calls hooks ([`hooks`]), a hook calls guests ([`guest`]), and a guest
//! calls the host through imports, each behind a grant ([`imports`]). Guests are instances of plugins ([`plugin`]).
//! [`host::Host`] holds the state that all turns of a process share. The runtime does not know the gateway, the HTTP API
//! or the command line.

#![warn(missing_docs, unreachable_pub)]

pub mod approval_board;
pub mod channel;
pub mod error;
pub mod flow;
pub mod guest;
pub mod hooks;
pub mod host;
pub mod imports;
pub mod plugin;
pub mod plugin_sharing;
pub mod turn;
pub mod why;
