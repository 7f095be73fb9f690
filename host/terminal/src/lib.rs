//! What the program prints on a terminal, as functions from texts to lines: escaped, folded and colored text, differences,
//! Markdown that is streamed, and output of commands.
//!
//! Texts come from tapes, models and plugins, and could control the terminal: every function of this crate that returns lines
//! has their control characters and invisible characters escaped. The crate reads and writes no terminal.

#![warn(missing_docs, unreachable_pub)]

pub mod call_change;
pub mod command_output;
pub mod diff;
mod markdown;
pub mod style;
pub mod text;

pub use markdown::StreamedText;
pub use style::Style;
