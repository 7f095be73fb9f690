//! How much a text weighs for a model, and how to say less of it: without a tokenizer, without a clock, the same every
//! time. Guests and host weigh with the same measure, so that what a selector counts is what the host compares.

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
