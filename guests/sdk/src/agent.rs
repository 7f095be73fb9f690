//! The functions that an agent loop calls: the hooks of other plugins, nested turns, and the tools of all plugins.

use crate::grant::{Agent, Tools};
use crate::tool::ToolSpec;
use crate::turn::{Prompt, ToolCall};
use crate::{Result, Turn, backend};

pub use crate::wit::bub::turn::stages::SelectorList;
pub use crate::wit::bub::turn::subturn::Request as NestedTurn;
pub use crate::wit::bub::types::types::{ModelChoice, ModelOptions};

impl Agent {
    /// Calls `system-prompt` and returns the joined text.
    ///
    /// # Errors
    ///
    /// That of a plugin.
    pub fn system_prompt(&self, turn: &Turn, prompt: &Prompt) -> Result<String> {
        backend::stages::system_prompt(&turn.0, prompt)
    }

    /// The messages of the next model call, as the active selector selects them.
    ///
    /// # Errors
    ///
    /// The selector's.
    pub fn messages(
        &self,
        turn: &Turn,
        prompt: &Prompt,
        system_prompt: &str,
        new: &[String],
        model: Option<&str>,
    ) -> Result<Vec<String>> {
        backend::stages::messages(&turn.0, prompt, system_prompt, new, model)
    }

    /// Takes the messages that have arrived to steer the turn.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant.
    pub fn steering(&self, turn: &Turn) -> Result<Vec<Prompt>> {
        backend::stages::steering(&turn.0)
    }

    /// Calls `continue-prompt`; none ends the loop.
    ///
    /// # Errors
    ///
    /// That of a plugin.
    pub fn continue_prompt(&self, turn: &Turn, prompt: &Prompt) -> Result<Option<String>> {
        backend::stages::continue_prompt(&turn.0, prompt)
    }

    /// The selectors of the session, and the active one.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant.
    pub fn selectors(&self, turn: &Turn) -> Result<SelectorList> {
        backend::stages::selectors(&turn.0)
    }

    /// The models that plugins offer to the session.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant.
    pub fn model_options(&self, turn: &Turn) -> Result<ModelOptions> {
        backend::stages::model_options(&turn.0)
    }

    /// Runs a nested turn and returns its answer.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant or beyond the limits; the nested turn's.
    pub fn run(&self, turn: &Turn, request: &NestedTurn) -> Result<String> {
        backend::subturn::run(&turn.0, request)
    }
}

impl Tools {
    /// The tools that were granted.
    ///
    /// # Errors
    ///
    /// `denied`, without a grant.
    pub fn list(&self, turn: &Turn) -> Result<Vec<ToolSpec>> {
        backend::toolbox::list_tools(&turn.0)
    }

    /// Calls tools, and returns their results in JSON in the order of the calls.
    ///
    /// # Errors
    ///
    /// `denied`, without a grant. A tool that fails gives an error as its result.
    pub fn call(&self, turn: &Turn, calls: &[ToolCall]) -> Result<Vec<Result<String>>> {
        backend::toolbox::call_tools(&turn.0, calls)
    }
}
