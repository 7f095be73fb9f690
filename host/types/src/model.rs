//! Choices of models, and events of a model's answer.

use crate::{Error, Json, ToolCall};
use serde::{Deserialize, Serialize};
#[cfg(feature = "component")]
use wasmtime::component::{ComponentType, Lift, Lower};

/// A model that a session can use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(record))]
pub struct ModelChoice {
    /// `provider:model`.
    pub id: String,
    /// The display name.
    pub name: String,
}

/// The models that a session can use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(record))]
pub struct ModelOptions {
    /// All of them.
    pub choices: Vec<ModelChoice>,
    /// The id of the current one.
    pub current: Option<String>,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(variant))]
pub enum StreamEvent {
    /// Text of the answer.
    #[cfg_attr(feature = "component", component(name = "text"))]
    Text(String),
    /// Reasoning of the model.
    #[cfg_attr(feature = "component", component(name = "reasoning"))]
    Reasoning(String),
    /// Calls of tools.
    #[cfg_attr(feature = "component", component(name = "tool-calls"))]
    ToolCalls(Vec<ToolCall>),
    /// A JSON array of their results, in call order.
    #[cfg_attr(feature = "component", component(name = "tool-results"))]
    ToolResults(Json),
    /// Tokens used.
    #[cfg_attr(feature = "component", component(name = "usage"))]
    Usage(Json),
    /// An error.
    #[cfg_attr(feature = "component", component(name = "error"))]
    Error(Error),
    /// Once, last: `{"text", "steps", "usage"}`.
    #[cfg_attr(feature = "component", component(name = "final"))]
    Final(Json),
}
