//! `bub:process/process`: programs of the machine, on behalf of a plugin.

use super::confinement_note;
use crate::guest::State;
use crate::guest::bindings::process::{Host, HostChild, Output};
use crate::guest::handles::{Child, ProgramReceipt};
use bub_permissions::Grant;
use bub_system::process;
use bub_system::process::Program;
use bub_types::text::hex;
use bub_types::{Error, ErrorKind};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wasmtime::Result;
use wasmtime::component::Resource;

/// The longest that one `wait` waits; a guest asks again.
const MAX_WAIT: Duration = Duration::from_secs(600);

impl Host for State {
    async fn spawn(&mut self, command: String, directory: Option<String>) -> Result<Result<Resource<Child>, Error>> {
        match self.start(&command, directory.as_deref()) {
            Ok(child) => Ok(Ok(self.table.push(child)?)),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn find(&mut self, id: String) -> Result<Result<Resource<Child>, Error>> {
        let found = self.runs_freely().and_then(|_| {
            let turn = self.turn.as_ref().ok_or_else(no_turn)?;
            self.host.processes.find(&turn.session_id, &id).map_err(into_error)
        });
        match found {
            Ok(child) => Ok(Ok(self.table.push(Child { program: child, confined: None, receipt: None })?)),
            Err(error) => Ok(Err(error)),
        }
    }
}

impl State {
    fn start(&self, command: &str, directory: Option<&str>) -> std::result::Result<Child, Error> {
        let is_free = self.runs_freely()?;
        // A program belongs to the turn that it dies with.
        let turn = self.turn.as_ref().ok_or_else(no_turn)?;
        let directory = directory.map_or_else(|| turn.workspace.clone(), |directory| turn.workspace.join(directory));
        let start = self.start_of(turn, is_free, (command, &directory))?;
        let program = Program {
            session: &turn.session_id,
            turn: &turn.id,
            command,
            directory: &directory,
            environment: &start.environment,
            wrapper: &start.wrapper,
        };
        let program = self.host.processes.spawn_with(&program, start.hooks).map_err(into_error)?;
        let receipt = ProgramReceipt {
            turn: Arc::clone(turn),
            plugin: self.plugin.name.clone(),
            grant: if is_free { Grant::PROCESS } else { Grant::PROCESS_SANDBOXED },
            program: command.split_whitespace().next().unwrap_or_default().to_owned(),
            command: hex(&Sha256::digest(command)),
            is_confined: start.confined.is_some(),
            exit: None,
            began: Instant::now(),
        };
        Ok(Child { program, confined: start.confined, receipt: Some(receipt) })
    }
}

fn no_turn() -> Error {
    Error::invalid("programs are started for a turn, and there is none")
}

pub(super) fn into_error(error: process::Error) -> Error {
    let kind = match &error {
        process::Error::InvalidInput(_) => ErrorKind::InvalidInput,
        process::Error::NotFound(_) => ErrorKind::NotFound,
        process::Error::Busy(_) | process::Error::Ended(_) => ErrorKind::Temporary,
        process::Error::Flooded(_) => ErrorKind::Tool,
        process::Error::Io { .. } => ErrorKind::Unknown,
    };
    Error::new(kind, error.to_string())
}

fn from_output(output: process::Output) -> Output {
    Output { exit_code: output.exit_code, next_offset: output.next_offset, output: output.text() }
}

impl HostChild for State {
    async fn id(&mut self, child: Resource<Child>) -> Result<String> {
        let child = &self.table.get(&child)?.program;
        // A guest that asks for the id will look for the program again.
        child.keep();
        Ok(child.id().to_owned())
    }

    async fn wait(&mut self, child: Resource<Child>, timeout_ms: u64) -> Result<Result<Output, Error>> {
        let Child { program, confined, .. } = self.table.get(&child)?;
        let (program, confined) = (program.clone(), confined.clone());
        let mut output = from_output(program.wait(Duration::from_millis(timeout_ms).min(MAX_WAIT)).await);
        if let Some(receipt) = &mut self.table.get_mut(&child)?.receipt {
            receipt.exit = receipt.exit.or(output.exit_code);
        }
        if let (Some(code), Some(confined)) = (output.exit_code, confined)
            && let Some(note) = confinement_note::note(&confined, code, &output.output)
        {
            let separator = if output.output.is_empty() || output.output.ends_with('\n') { "" } else { "\n" };
            output.output.push_str(separator);
            output.output.push_str(&note);
        }
        Ok(Ok(output))
    }

    async fn read(&mut self, child: Resource<Child>, offset: u64, max: u32) -> Result<Result<Output, Error>> {
        Ok(Ok(from_output(self.table.get(&child)?.program.read(offset, max))))
    }

    async fn kill(&mut self, child: Resource<Child>) -> Result<Result<(), Error>> {
        let child = self.table.get(&child)?.program.clone();
        Ok(child.kill().await.map_err(into_error))
    }

    async fn drop(&mut self, child: Resource<Child>) -> Result<()> {
        self.table.delete(child)?;
        Ok(())
    }
}
