//! The imports of a call, packed until they are written.

use super::call::ImportCall;
use super::late::{LateImport, unpack_import};
use super::{CallRecording, Session};
use bub_recordings::Packed;
use serde_json::Value;
use std::sync::Arc;

impl CallRecording {
    /// An import was called.
    pub fn imported(&self, function: &str, arguments: Vec<Value>, answer: Value) {
        let Some(session) = &self.0 else { return };
        let call = ImportCall { function: function.to_owned(), arguments, answer };
        let weight = call.weight();
        session.keep(weight, |log| match session.is_late() {
            true => log.imports.push(LateImport::Made(Box::new(call))),
            false => log.call.imports.push(call),
        });
    }

    /// An import is called: `pack` packs the list of its arguments.
    pub fn import_begins(&self, pack: impl FnOnce(&mut Packed)) {
        self.log(|log| {
            // What began and was not answered.
            log.packed.back_to(log.answered);
            pack(&mut log.packed);
        });
    }

    /// The arguments of the import that began.
    pub fn import_arguments(&self) -> Vec<Value> {
        let read = |session: &Arc<Session>| {
            let log = session.log.lock();
            unpack_import(&mut log.packed.read(log.answered)).0
        };
        self.0.as_ref().map(read).unwrap_or_default()
    }

    /// The import that began has returned what `pack` packs.
    pub fn import_ends(&self, function: &'static str, pack: impl FnOnce(&mut Packed)) {
        let Some(session) = &self.0 else { return };
        let mut log = session.log.lock();
        pack(&mut log.packed);
        if !session.is_late() {
            let (arguments, answer) = unpack_import(&mut log.packed.read(log.answered));
            drop(log);
            return self.imported(function, arguments, answer);
        }
        let weight = log.packed.since(log.answered);
        session.keep_in(&mut log, weight, |log| {
            log.imports.push(LateImport::Packed(function));
            log.answered = log.packed.mark();
        });
    }
}
