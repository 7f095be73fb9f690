//! Fixtures for tests of the whole program. The tests start it as a user does, and check its output, its tapes, and its
//! requests to the model, which is a server on loopback here.
//!
//! - [`Home`] is a user's home and workspace in a directory of its own; [`Run`] is one start of the program, [`Finished`]
//!   what came of it.
//! - [`Terminal`] is a terminal with the program in it.
//! - [`Server`] is the model; it gives the [`Answer`]s that it was made with, in order.
//! - [`Serve`] is the program while it serves, and [`Said`] what it answered.
//! - [`listener::Listener`] is any other server, and [`component`] changes a component's bytes.
//! - [`golden`] holds the recorded runs of the original, [`normal`] takes out what differs from run to run, and
//!   [`difference`] applies what differs on purpose.
//! - [`programs`] are the guests that were built for the tests.

pub mod component;
pub mod difference;
pub mod golden;
mod home;
pub mod listener;
pub mod normal;
mod pipe;
pub mod programs;
mod run;
pub mod serve;
mod server;
pub mod tape;
mod terminal;

pub use bub_test_support::golden::GOLDEN;
pub use home::Home;
pub use run::{Finished, Run, Started};
pub use serve::{Ask, Said, Serve};
pub use server::{Answer, Gate, Request, Server};
pub use terminal::Terminal;
