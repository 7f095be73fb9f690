//! Tool declarations and tool calls.

use crate::Json;
use serde::{Deserialize, Serialize};
#[cfg(feature = "component")]
use wasmtime::component::{ComponentType, Lift, Lower};

/// The effect of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(enum), repr(u8))]
pub enum Effect {
    /// It reads.
    #[cfg_attr(feature = "component", component(name = "read"))]
    Read,
    /// It changes files or notes.
    #[cfg_attr(feature = "component", component(name = "write"))]
    Write,
    /// It sends data to others.
    #[cfg_attr(feature = "component", component(name = "send"))]
    Send,
    /// It runs programs.
    #[cfg_attr(feature = "component", component(name = "run"))]
    Run,
}

/// A tool, as its plugin declares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(record))]
pub struct ToolSpec {
    /// Dotted, as `memory.save`; models see `memory_save`.
    pub name: String,
    /// For the model.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Json,
    /// Whether models may call it; otherwise it is a comma command for people only.
    #[cfg_attr(feature = "component", component(name = "for-model"))]
    pub for_model: bool,
    /// The possible effect of a call.
    pub effect: Effect,
    /// Whether a call returns text of others, which taints the turn.
    #[cfg_attr(feature = "component", component(name = "reads-outside"))]
    pub reads_outside: bool,
}

/// One call of a tool, as the model asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(record))]
pub struct ToolCall {
    /// The model's id of the call.
    pub id: Option<String>,
    /// Dotted, as `memory.save`.
    pub name: String,
    /// As the model wrote them; they may be invalid JSON.
    pub arguments: String,
}
