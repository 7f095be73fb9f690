//! The state that the fakes share: the settings of a test, and the effects of the plugin.

use super::{Answer, Named, denied};
use crate::http;
use crate::log::Level;
use crate::model::{Event, Request};
use crate::tape::Entry;
use crate::tool::ToolSpec;
use crate::turn::{Envelope, MessageKind, Principal, StreamEvent};
use crate::{Error, Result};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::rc::Rc;

/// The session's tape among the tapes.
pub const SESSION: &str = "session";
/// The workspace's tape among the tapes.
pub const WORKSPACE: &str = "workspace";

type Tool = (ToolSpec, Box<dyn FnMut(Value) -> Result<Value>>);

/// The state of a fake host.
pub struct World {
    pub config: Value,
    pub secrets: Named<String>,
    pub denied: Vec<String>,
    pub message: Envelope,
    pub principal: Principal,
    pub tainted: bool,
    pub workspace: String,
    pub started: String,
    pub state: Map<String, Value>,
    pub tapes: Named<Vec<Entry>>,
    pub http: Answer<http::Request, Result<http::Response, http::Error>>,
    pub requests: Vec<http::Request>,
    pub model: Answer<Request, Result<String>>,
    pub model_calls: Vec<Request>,
    pub tools: Vec<Tool>,
    pub process: Answer<str, (i32, String)>,
    pub programs: Named<(i32, String)>,
    pub server: Answer<str, Vec<String>>,
    pub prepared: Named<String>,
    pub system_prompt: String,
    pub new_messages: Vec<String>,
    pub budget: Option<u32>,
    pub log: Vec<(Level, String)>,
    pub emitted: Vec<StreamEvent>,
    pub sent: Vec<Event>,
    pub ids: u64,
}

impl Default for World {
    fn default() -> Self {
        Self {
            config: Value::Null,
            secrets: Named::new(),
            denied: Vec::new(),
            message: Envelope {
                id: None,
                session_id: None,
                channel: "cli".to_owned(),
                chat_id: "local".to_owned(),
                sender: None,
                content: "hello".to_owned(),
                passages: Vec::new(),
                kind: MessageKind::Normal,
                context: Vec::new(),
                media: Vec::new(),
                output_channel: None,
            },
            principal: Principal::Owner,
            tainted: false,
            workspace: "/workspace".to_owned(),
            started: "2026-01-02T03:04:05+00:00".to_owned(),
            state: Map::new(),
            tapes: Named::new(),
            http: None,
            requests: Vec::new(),
            model: None,
            model_calls: Vec::new(),
            tools: Vec::new(),
            process: None,
            programs: Named::new(),
            server: None,
            prepared: Named::new(),
            system_prompt: String::new(),
            new_messages: Vec::new(),
            budget: None,
            log: Vec::new(),
            emitted: Vec::new(),
            sent: Vec::new(),
            ids: 0,
        }
    }
}

impl World {
    /// Writes an entry, and returns its id.
    pub fn append(&mut self, tape: &str, kind: &str, payload: String, meta: String) -> u64 {
        let entries = self.tapes.entry(tape.to_owned()).or_default();
        let id = entries.last().map_or(0, |last| last.id) + 1;
        entries.push(Entry { id, kind: kind.to_owned(), payload, meta, date: self.started.clone() });
        id
    }

    /// Fails without that grant. A grant that was taken away with `*` at its end takes all that begin so.
    pub fn require(&self, grant: &str) -> Result<()> {
        let covers = |denied: &&String| match denied.strip_suffix('*') {
            Some(start) => grant.starts_with(start),
            None => grant == denied.as_str(),
        };
        self.denied.iter().find(covers).map_or(Ok(()), |_| Err(denied(grant)))
    }

    /// Fails without a grant for programs. A test takes away the one that its plugin asks for.
    pub fn require_programs(&self) -> Result<()> {
        self.require("process").and_then(|()| self.require("process:sandboxed"))
    }

    /// An id that was not returned before.
    pub fn new_id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<RefCell<World>>>> = const { RefCell::new(None) };
}

/// Makes a world and lets it answer this thread.
pub fn enter() -> Rc<RefCell<World>> {
    let world = Rc::new(RefCell::new(World::default()));
    CURRENT.set(Some(Rc::clone(&world)));
    world
}

/// Lets the world answer no more, if it is the one that does.
pub fn leave(world: &Rc<RefCell<World>>) {
    let is_current = CURRENT.with_borrow(|current| current.as_ref().is_some_and(|current| Rc::ptr_eq(current, world)));
    if is_current {
        CURRENT.set(None);
    }
}

/// The world that answers this thread. Without one a test sees a host on which nothing is set.
pub fn current() -> Rc<RefCell<World>> {
    CURRENT.with_borrow(Clone::clone).unwrap_or_else(enter)
}

/// The error of a function that a fake does not have.
pub fn missing(what: &str) -> Error {
    Error::not_found(format!("the test's host has no {what}"))
}

/// Checks that a text is JSON.
pub fn check(json: &str) -> Result<Value> {
    serde_json::from_str(json).map_err(|error| Error::invalid(format!("`{json}` is not JSON: {error}")))
}
