//! Tapes that both programs write: the original, this one, and the original again.

mod reader;
mod views;
