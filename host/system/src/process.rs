//! Programs that the host runs on behalf of plugins.
//!
//! [`Processes`] starts them and knows which of them run. A [`Child`] is a handle of one: a shell, and whatever it
//! starts in its process group. Its standard output and error come together, in the order of their arrival, and the
//! last mebibyte of them is kept. An [`Environment`] is the filtered environment of a program, without this program's
//! own variables and keys.
//!
//! **How long a program lives.** The contract has no flag for the background, so what a guest asks for decides. A
//! program whose id the guest did not get ends with its turn ([`Processes::end_turn`]). A program whose id the guest
//! got ([`Child::keep`]) outlives the turn, and ends with its session ([`Processes::end_session`]). No group outlives
//! the host's orderly exit ([`Processes::end_all`]) or [`Processes`] itself. A program that is ended takes along what
//! it has started, also what has left its group (`setsid`) while its parent states. Two things are out of reach: what
//! has left its group and lost its parent before, and all of them when the host itself is killed by SIGKILL.
//!
//! Everything here wants to be called within a tokio runtime.
//!
//! **Invariant**: this room knows nothing of wasm, turns or grants; sessions and turns are names to it.

mod child;
mod descendants;
mod environment;
mod error;
mod group;
mod member;
mod processes;
mod program;
mod ring;
mod state;
mod supervise;
mod terminate;

pub use child::{Child, Output};
pub use environment::{ALLOWED, Environment};
pub use error::{Error, Result};
pub use processes::{MAX_RUNNING, MAX_RUNNING_OF_SESSION, Processes, kill_all};
pub use program::Program;
pub use ring::RING_BYTES;
