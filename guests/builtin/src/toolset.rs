//! The tools offered to a model.

use crate::bub::plugin::log::{Level, log};
use crate::bub::tools::schema::ToolSpec;
use crate::bub::tools::toolbox;
use crate::bub::types::types::ErrorKind;
use crate::{Error, Turn};

/// The turn's tools for models. Without the grant there are none: an agent works without tools too.
pub fn offered(turn: &Turn) -> Result<Vec<ToolSpec>, Error> {
    match toolbox::list_tools(turn) {
        Ok(tools) => Ok(tools.into_iter().filter(|tool| tool.for_model).collect()),
        Err(Error { kind: ErrorKind::Denied, message, .. }) => {
            log(Level::Debug, &format!("no tools are offered: {message}"));
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

/// The name of a tool for models, which accept no dots.
pub fn model_name(name: &str) -> String {
    name.replace('.', "_")
}
