//! Token estimates and text reduction without a tokenizer and without a clock: the same input gives the same result.
//!
//! Guests and the host share this crate, so that a selector and the host count the same.
//!
//! ```
//! assert!(bub_estimate::estimate("a heron stands in the water") > 4);
//! ```

#![warn(missing_docs, unreachable_pub)]

pub mod chat;
mod cut;
mod extract;
mod intent;
mod prompt;
mod tokens;
mod words;

pub use cut::{ends, to_tokens};
pub use extract::{extract, sentences};
pub use intent::{Intent, intent};
pub use prompt::{Spoken, spoken};
pub use tokens::{Ratio, estimate};
pub use words::{Corpus, marks, terms};
