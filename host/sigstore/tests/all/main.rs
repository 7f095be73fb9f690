//! Bundles that tests make, and real ones.

mod accepted;
mod fuzz;
mod hostile;
mod real;
mod statements;
mod world;
