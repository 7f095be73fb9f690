//! The tools offered to a model.

use crate::TOOLS;
use bub_guest::tool::ToolSpec;
use bub_guest::{Error, ErrorKind, Result, Turn, log};

/// The turn's tools for models. Without the grant there are none: an agent works without tools too.
pub fn offered(turn: &Turn) -> Result<Vec<ToolSpec>> {
    match TOOLS.list(turn) {
        Ok(tools) => Ok(tools.into_iter().filter(|tool| tool.for_model).collect()),
        Err(Error { kind: ErrorKind::Denied, message, .. }) => {
            log::debug(format!("no tools are offered: {message}"));
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

/// The name of a tool for models, which accept no dots.
pub fn model_name(name: &str) -> String {
    name.replace('.', "_")
}
