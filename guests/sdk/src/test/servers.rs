//! The fake servers: each answers a line with lines, at once.

use super::world::{current, missing};
use crate::Result;
use std::cell::RefCell;
use std::collections::VecDeque;

#[derive(Debug)]
pub struct Server {
    name: String,
    lines: RefCell<VecDeque<String>>,
}

pub fn open(name: &str) -> Result<Server> {
    let world = current();
    world.borrow().require(&format!("process:{name}"))?;
    Ok(Server { name: name.to_owned(), lines: RefCell::default() })
}

impl Server {
    pub fn prepare(&self, _timeout_ms: u64) -> Result<Option<String>> {
        Ok(current().borrow().prepared.get(&self.name).cloned())
    }

    pub fn set_prepared(&self, text: &str) -> Result<()> {
        current().borrow_mut().prepared.insert(self.name.clone(), text.to_owned());
        Ok(())
    }

    pub fn write_line(&self, line: &str, _timeout_ms: u64) -> Result<()> {
        let world = current();
        // Taken out, so that it can call the host.
        let server = world.borrow_mut().server.take();
        let mut server = server.ok_or_else(|| missing("server"))?;
        self.lines.borrow_mut().extend(server(line));
        world.borrow_mut().server = Some(server);
        Ok(())
    }

    pub fn read_line(&self, _timeout_ms: u64) -> Result<Option<String>> {
        Ok(self.lines.borrow_mut().pop_front())
    }

    pub fn reset(&self) -> Result<()> {
        current().borrow_mut().prepared.remove(&self.name);
        Ok(())
    }
}
