//! A host for native tests: `cargo test` runs a plugin's functions against fakes, without WebAssembly.
//!
//! ```
//! use bub_guest::{Result, Turn, test, tool};
//!
//! bub_guest::plugin! {
//!     about: "Counts.",
//!     grants: {
//!         /// to count the entries
//!         TAPE: TapeRead,
//!     },
//!     tools: [count],
//! }
//!
//! /// Count the entries on the tape.
//! #[tool(effect = read)]
//! fn count(turn: &Turn) -> Result<u64> {
//!     Ok(turn.tape(TAPE)?.info()?.entries)
//! }
//!
//! # fn main() {
//! let host = test::Host::new().entry("message", serde_json::json!({ "role": "user", "content": "hi" }));
//! assert_eq!(host.call::<count>(serde_json::json!({})).unwrap(), 1);
//! assert_eq!(count(&host.turn()).unwrap(), 1);
//!
//! let host = test::Host::new().without("tape:read");
//! assert_eq!(host.call::<count>(serde_json::json!({})).unwrap_err().kind, bub_guest::ErrorKind::Denied);
//! # }
//! ```
//!
//! The fakes keep to the contracts where a plugin depends on it: ids of entries rise, JSON is checked, a grant that is taken
//! away denies. They do not search as the host does: a search finds entries that hold all words. Missing items
//! fail with `not-found`.

pub(crate) mod backend;
pub(crate) mod http;
mod model;
pub(crate) mod process;
pub(crate) mod servers;
mod tape;
mod turn;
mod view;
pub(crate) mod world;

use crate::tape::Entry;
use crate::tool::{Tool, ToolSpec};
use crate::turn::{Envelope, Principal, StreamEvent};
use crate::{Error, Result, Turn, View, log::Level};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use world::World;

pub use http::response;

/// A fake host. It answers the calls of the thread that made it, until it is dropped or another one is made.
pub struct Host {
    world: Rc<RefCell<World>>,
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        world::leave(&self.world);
    }
}

impl Host {
    /// A host without configuration, on which everything is granted and nothing has happened. The message is `hello`, of the
    /// owner.
    #[must_use]
    pub fn new() -> Self {
        Self { world: world::enter() }
    }

    fn with(self, change: impl FnOnce(&mut World)) -> Self {
        change(&mut self.world.borrow_mut());
        self
    }

    /// The plugin's configuration, a JSON object.
    #[must_use]
    pub fn config(self, table: Value) -> Self {
        self.with(|world| world.config = table)
    }

    /// A secret and its value, for `matches`; the placeholder is there for any name.
    #[must_use]
    pub fn secret(self, name: &str, value: &str) -> Self {
        self.with(|world| _ = world.secrets.insert(name.to_owned(), value.to_owned()))
    }

    /// Takes a grant away.
    #[must_use]
    pub fn without(self, grant: &str) -> Self {
        self.with(|world| world.denied.push(grant.to_owned()))
    }

    /// The text of the message.
    #[must_use]
    pub fn message(self, content: &str) -> Self {
        self.with(|world| world.message.content = content.to_owned())
    }

    /// The whole message.
    #[must_use]
    pub fn envelope(self, message: Envelope) -> Self {
        self.with(|world| world.message = message)
    }

    /// The principal of the turn.
    #[must_use]
    pub fn principal(self, principal: Principal) -> Self {
        self.with(|world| world.principal = principal)
    }

    /// Text by other authors is in the turn.
    #[must_use]
    pub fn tainted(self) -> Self {
        self.with(|world| world.tainted = true)
    }

    /// The path of the workspace.
    #[must_use]
    pub fn workspace(self, path: &str) -> Self {
        self.with(|world| world.workspace = path.to_owned())
    }

    /// The time at which the turn began; `2026-01-02T03:04:05+00:00` unless set.
    #[must_use]
    pub fn started(self, time: &str) -> Self {
        self.with(|world| world.started = time.to_owned())
    }

    /// A value of the turn's state.
    #[must_use]
    pub fn state(self, key: &str, value: Value) -> Self {
        self.with(|world| _ = world.state.insert(key.to_owned(), value))
    }

    /// An entry on the session's tape.
    #[must_use]
    pub fn entry(self, kind: &str, payload: Value) -> Self {
        self.with(|world| _ = world.append(world::SESSION, kind, payload.to_string(), "{}".to_owned()))
    }

    /// Answers every HTTP request.
    #[must_use]
    pub fn http(
        self,
        answer: impl FnMut(&crate::http::Request) -> Result<crate::http::Response, crate::http::Error> + 'static,
    ) -> Self {
        self.with(|world| world.http = Some(Box::new(answer)))
    }

    /// Answers every model call with a text.
    #[must_use]
    pub fn model(self, answer: impl FnMut(&crate::model::Request) -> Result<String> + 'static) -> Self {
        self.with(|world| world.model = Some(Box::new(answer)))
    }

    /// A tool of another plugin, for the toolbox.
    #[must_use]
    pub fn tool(self, spec: ToolSpec, answer: impl FnMut(Value) -> Result<Value> + 'static) -> Self {
        self.with(|world| world.tools.push((spec, Box::new(answer))))
    }

    /// Runs every command: the exit code and the output.
    #[must_use]
    pub fn process(self, run: impl FnMut(&str) -> (i32, String) + 'static) -> Self {
        self.with(|world| world.process = Some(Box::new(run)))
    }

    /// Runs every configured server: the lines that it writes when it has read a line.
    #[must_use]
    pub fn server(self, run: impl FnMut(&str) -> Vec<String> + 'static) -> Self {
        self.with(|world| world.server = Some(Box::new(run)))
    }

    /// The content of a selector's view besides the session's tape: the messages of the turn and the budget.
    #[must_use]
    pub fn selection(self, new_messages: &[Value], budget: Option<u32>) -> Self {
        let messages = new_messages.iter().map(Value::to_string).collect();
        self.with(|world| (world.new_messages, world.budget) = (messages, budget))
    }

    /// The system prompt that a selector sees.
    #[must_use]
    pub fn system_prompt(self, text: &str) -> Self {
        self.with(|world| world.system_prompt = text.to_owned())
    }

    /// A handle to the turn, for a hook.
    #[must_use]
    pub fn turn(&self) -> Turn {
        Turn(turn::Turn::new(Rc::clone(&self.world)))
    }

    /// A handle to the view, for a selector.
    #[must_use]
    pub fn view(&self) -> View {
        View(view::View::new(Rc::clone(&self.world)))
    }

    /// A sink for a provider; [`sent`](Self::sent) holds what it was sent.
    #[must_use]
    pub fn sink(&self) -> crate::model::Sink {
        crate::model::Sink(model::Sink::new(Rc::clone(&self.world)))
    }

    /// Calls a tool with arguments in JSON, as the host does, except that it does not validate them against the schema.
    ///
    /// # Errors
    ///
    /// The tool's.
    pub fn call<T: Tool>(&self, arguments: Value) -> Result<Value> {
        let answer = T::call(&self.turn(), &arguments.to_string())?;
        Ok(serde_json::from_str(&answer)?)
    }

    /// The entries of the session's tape.
    pub fn entries(&self) -> Vec<Entry> {
        self.entries_of(world::SESSION)
    }

    /// The entries of a tape: a sidecar by its name, or `workspace`.
    pub fn entries_of(&self, tape: &str) -> Vec<Entry> {
        self.world.borrow().tapes.get(tape).cloned().unwrap_or_default()
    }

    /// The value of a key of the turn's state.
    pub fn state_of(&self, key: &str) -> Option<Value> {
        self.world.borrow().state.get(key).cloned()
    }

    /// The lines that the plugin logged.
    pub fn logged(&self) -> Vec<(Level, String)> {
        self.world.borrow().log.clone()
    }

    /// The HTTP requests that were sent.
    pub fn requests(&self) -> Vec<crate::http::Request> {
        self.world.borrow().requests.clone()
    }

    /// The model calls that were made.
    pub fn model_calls(&self) -> Vec<crate::model::Request> {
        self.world.borrow().model_calls.clone()
    }

    /// The events that the plugin emitted to the listener of the turn.
    pub fn emitted(&self) -> Vec<StreamEvent> {
        self.world.borrow().emitted.clone()
    }

    /// The events that a provider sent to its sink.
    pub fn sent(&self) -> Vec<crate::model::Event> {
        self.world.borrow().sent.clone()
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Host").finish_non_exhaustive()
    }
}

fn denied(grant: &str) -> Error {
    Error::new(crate::ErrorKind::Denied, format!("the plugin does not hold the grant `{grant}`"))
}

type Answer<Q, A> = Option<Box<dyn FnMut(&Q) -> A>>;
type Named<T> = HashMap<String, T>;
