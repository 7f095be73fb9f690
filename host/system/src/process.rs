//! Programs that the host runs on behalf of plugins.
//!
//! [`Processes`] starts programs and tracks those that run. A [`Child`] is a handle of one: a shell, and all processes
//! of its process group. Standard output and error share one pipe, so they keep their order; the last mebibyte is kept.
//! [`Servers`] keeps programs by name that are spoken with line by line, and starts them again when they have ended.
//! An [`Environment`] is the filtered environment of a program, without this program's own variables and keys.
//!
//! **Lifetime of a program.** The contract has no flag for background programs. A program whose id the guest did not
//! get ends with its turn ([`Processes::end_turn`]). A program whose id the guest got ([`Child::keep`]) outlives the
//! turn, and ends with its session ([`Processes::end_session`]). No group outlives the host's orderly exit
//! ([`Processes::end_all`]) or [`Processes`] itself. A program that is ended takes its descendants along, also those
//! that left its group (`setsid`) while their parents live. Two cases are out of reach: a descendant that left its
//! group and lost its parent before, and all of them if the host itself is killed by SIGKILL.
//!
//! All functions must be called within a tokio runtime.
//!
//! **Invariant**: this module has no knowledge of WebAssembly, turns or grants; sessions and turns are names to it.

mod child;
mod descendants;
mod environment;
mod error;
mod group;
mod lines;
mod member;
mod processes;
mod program;
mod ring;
mod server;
mod servers;
mod starter;
mod state;
mod supervise;
mod terminate;

pub use child::{Child, Output};
pub use environment::{ALLOWED, Environment};
pub use error::{Error, Result};
pub use lines::MAX_LINE;
pub use processes::{MAX_RUNNING, MAX_RUNNING_OF_SESSION, Processes, kill_all};
pub use program::{Program, ServerProgram};
pub use ring::RING_BYTES;
pub use server::Server;
pub use servers::{ServerSpec, Servers};
pub use starter::{Guard, Hooks, end_starter};
