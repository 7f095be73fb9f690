//! The proxy of programs, with real servers on loopback, real clients, and a policy of the tests' own.

mod bodies;
mod clients;
mod hostile;
mod http;
mod relay;
mod secrets;
mod socks;
mod support;
