//! The fake turn.

use super::tape::Tape;
use super::world::{SESSION, WORKSPACE, World, check};
use crate::Result;
use crate::turn::{Envelope, MessageKind, Principal, StreamEvent};
use std::cell::RefCell;
use std::rc::Rc;

pub struct Turn {
    pub world: Rc<RefCell<World>>,
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Turn")
    }
}

impl Turn {
    pub fn new(world: Rc<RefCell<World>>) -> Self {
        Self { world }
    }

    pub fn require(&self, grant: &str) -> Result<()> {
        self.world.borrow().require(grant)
    }

    pub fn new_run_id(&self) -> String {
        format!("run-{}", self.world.borrow_mut().new_id())
    }

    pub fn session_id(&self) -> String {
        let world = self.world.borrow();
        world
            .message
            .session_id
            .clone()
            .unwrap_or_else(|| format!("{}:{}", world.message.channel, world.message.chat_id))
    }

    pub fn workspace(&self) -> String {
        self.world.borrow().workspace.clone()
    }

    pub fn workspace_instructions(&self, _name: &str) -> Option<String> {
        None
    }

    pub fn message(&self) -> Envelope {
        self.world.borrow().message.clone()
    }

    pub fn set_message_kind(&self, kind: MessageKind) {
        self.world.borrow_mut().message.kind = kind;
    }

    pub fn principal(&self) -> Principal {
        self.world.borrow().principal
    }

    pub fn tainted(&self) -> bool {
        self.world.borrow().tainted
    }

    pub fn started(&self) -> String {
        self.world.borrow().started.clone()
    }

    pub fn get(&self, key: &str) -> Option<String> {
        self.world.borrow().state.get(key).map(ToString::to_string)
    }

    pub fn set(&self, key: &str, value: &str) -> Result<()> {
        let value = check(value)?;
        self.world.borrow_mut().state.insert(key.to_owned(), value);
        Ok(())
    }

    pub fn state(&self) -> String {
        serde_json::Value::Object(self.world.borrow().state.clone()).to_string()
    }

    pub fn tape(&self) -> Result<Tape> {
        self.require("tape:read")?;
        Ok(Tape::new(Rc::clone(&self.world), SESSION))
    }

    pub fn workspace_tape(&self) -> Result<Tape> {
        self.require("tape:workspace")?;
        Ok(Tape::new(Rc::clone(&self.world), WORKSPACE))
    }

    pub fn emit(&self, event: &StreamEvent) -> Result<()> {
        self.world.borrow_mut().emitted.push(event.clone());
        Ok(())
    }
}
