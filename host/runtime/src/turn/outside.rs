//! Commands that the owner allowed outside of the sandbox.

use super::data::Turn;
use serde_json::Value;
use std::sync::Arc;

/// The argument of a tool that runs commands by which it asks to run one outside of the sandbox.
pub const OUTSIDE: &str = "outside";

/// What the owner has allowed: the digest of a plugin, and the texts among the arguments of its call.
#[derive(Default)]
pub(super) struct Outside(Vec<(u64, String, Vec<String>)>);

/// Lasts as long as the call that was allowed.
pub struct OutsidePermit {
    turn: Arc<Turn>,
    number: u64,
}

impl Turn {
    /// Lets the plugin start a command outside that is one of these arguments, until the permit is dropped.
    pub fn permit_outside(self: &Arc<Self>, number: u64, plugin: &str, arguments: &Value) -> OutsidePermit {
        let texts = arguments.as_object().into_iter().flat_map(|all| all.values()).filter_map(Value::as_str);
        let texts = texts.map(str::to_owned).collect();
        self.outside.lock().0.push((number, plugin.to_owned(), texts));
        OutsidePermit { turn: Arc::clone(self), number }
    }

    /// Whether that plugin may start that command outside.
    pub fn is_permitted_outside(&self, plugin: &str, command: &str) -> bool {
        let outside = self.outside.lock();
        outside.0.iter().any(|(_, permitted, texts)| permitted == plugin && texts.iter().any(|text| text == command))
    }
}

impl Drop for OutsidePermit {
    fn drop(&mut self) {
        self.turn.outside.lock().0.retain(|(number, ..)| *number != self.number);
    }
}

/// Whether the arguments ask for that.
pub fn asks_outside(arguments: &Value) -> bool {
    arguments.get(OUTSIDE) == Some(&Value::Bool(true))
}
