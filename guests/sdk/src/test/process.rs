//! The fake shell: a program ends at once.

use super::world::{current, missing};
use crate::Result;
use crate::process::Output;

#[derive(Debug)]
pub struct Child {
    id: String,
    code: i32,
    output: String,
}

pub fn spawn(command: &str, _directory: Option<&str>) -> Result<Child> {
    let world = current();
    world.borrow().require_programs()?;
    // Taken out, so that it can call the host.
    let shell = world.borrow_mut().process.take();
    let mut shell = shell.ok_or_else(|| missing("shell"))?;
    let (code, output) = shell(command);
    let mut world = world.borrow_mut();
    world.process = Some(shell);
    let id = format!("bash-{}", world.new_id());
    Ok(Child { id, code, output })
}

pub fn find(id: &str) -> Result<Child> {
    let world = current();
    let world = world.borrow();
    world.require_programs()?;
    let (code, output) = world.programs.get(id).cloned().ok_or_else(|| missing(&format!("program `{id}`")))?;
    Ok(Child { id: id.to_owned(), code, output })
}

impl Child {
    /// From here on `find` knows it.
    pub fn id(&self) -> String {
        current().borrow_mut().programs.insert(self.id.clone(), (self.code, self.output.clone()));
        self.id.clone()
    }

    pub fn wait(&self, _timeout_ms: u64) -> Result<Output> {
        self.read(0, u32::MAX)
    }

    pub fn read(&self, offset: u64, max: u32) -> Result<Output> {
        let from =
            self.output.floor_char_boundary(usize::try_from(offset).unwrap_or(usize::MAX).min(self.output.len()));
        let to = self.output.floor_char_boundary(from.saturating_add(max as usize).min(self.output.len()));
        Ok(Output { exit_code: Some(self.code), output: self.output[from..to].to_owned(), next_offset: to as u64 })
    }

    pub fn kill(&self) -> Result<()> {
        Ok(())
    }
}
