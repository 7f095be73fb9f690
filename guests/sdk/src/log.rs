//! The host's log.

use crate::backend;
use std::fmt::Display;

pub use crate::wit::bub::plugin::log::Level;

/// Writes a line to the host's log, under the plugin's name.
pub fn log(level: Level, message: impl Display) {
    backend::log::log(level, &message.to_string());
}

/// Says something that helps to find out what a plugin does.
pub fn debug(message: impl Display) {
    log(Level::Debug, message);
}

/// Says something that the user may want to know.
pub fn info(message: impl Display) {
    log(Level::Info, message);
}

/// Says that something did not work, and what happens instead.
pub fn warn(message: impl Display) {
    log(Level::Warn, message);
}

/// Says that something failed.
pub fn error(message: impl Display) {
    log(Level::Error, message);
}
