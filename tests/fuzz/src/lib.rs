//! The room of the tapes, without the rest of the host: its files are links to the host's.

pub mod tape;
mod wording;
