//! Turns a record into the bytes of a file.
//!
//! The first line says what the file is, with the version, the digest of the second, and that of the rest. The second is the
//! manifest. The rest is an LZ4 frame, each line of which is an object.

use super::manifest::{CallRow, Manifest};
use super::objects::{Objects, Text, digest};
use super::record::{CallRecord, Shared, TurnRecord};
use super::{FORMAT, read};
use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

/// The bytes of a file, and the digest of its manifest.
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) manifest: String,
}

struct Encoder<'a> {
    objects: Objects,
    redact: &'a dyn Fn(&str) -> String,
    /// The digests of values that calls share. The values are held, so that no other has their address.
    shared: HashMap<usize, (Shared, Option<String>)>,
}

/// The file of a turn. Every text in it went through `redact`.
pub(crate) fn encode(turn: TurnRecord, program: &str, redact: &dyn Fn(&str) -> String) -> anyhow::Result<Encoded> {
    let mut encoder = Encoder { objects: Objects::default(), redact, shared: HashMap::new() };
    let calls = turn.calls.into_iter().map(|call| encoder.call(call)).collect();
    let objects = turn.objects.into_iter();
    let manifest = Manifest {
        format: FORMAT,
        program: program.to_owned(),
        folder: turn.folder,
        session: redact(&turn.session),
        runs: turn.runs,
        started_ms: turn.started_ms,
        failure: turn.failure.map(|failure| redact(&failure)),
        calls,
        objects: objects.filter_map(|(name, value)| Some((redact(&name), encoder.add(&value)?))).collect(),
    };
    let line = serde_json::to_string(&manifest)?;
    let name = digest(line.as_bytes());
    // Of a file that is cut off the blocks before are read.
    let mut packed = FrameEncoder::with_frame_info(FrameInfo::new().block_size(BlockSize::Max64KB), Vec::new());
    packed.write_all(encoder.objects.lines.as_bytes())?;
    let packed = packed.finish()?;
    let mut bytes = format!("{} {FORMAT} {name} {}\n{line}\n", read::MAGIC, digest(&packed)).into_bytes();
    bytes.extend(packed);
    Ok(Encoded { bytes, manifest: name })
}

impl Encoder<'_> {
    /// The digest of the value without secrets; none if it is no value without them.
    fn add(&mut self, value: &Value) -> Option<String> {
        let text = Text::of(value);
        let shown = (self.redact)(&text.text);
        if shown == text.text {
            return Some(self.objects.add(value, &text));
        }
        let value = serde_json::from_str(&shown).ok()?;
        Some(self.objects.add(&value, &Text::of(&value)))
    }

    fn shared(&mut self, value: Shared) -> Option<String> {
        let place = Arc::as_ptr(&value) as usize;
        if let Some((_, name)) = self.shared.get(&place) {
            return name.clone();
        }
        let name = self.add(&value);
        self.shared.insert(place, (value, name.clone()));
        name
    }

    fn call(&mut self, call: CallRecord) -> CallRow {
        let mut unrecorded = call.unrecorded;
        let mut kept = |name: Option<String>| {
            name.unwrap_or_else(|| {
                unrecorded.get_or_insert_with(|| "a secret stands where it cannot be replaced".to_owned());
                String::new()
            })
        };
        let ambient = json!({ "clock": call.clock, "monotonic": call.monotonic, "random": call.random });
        let imports = call.imports.into_iter().map(|import| {
            Value::Object(Map::from_iter([
                ("function".to_owned(), import.function.into()),
                ("arguments".to_owned(), import.arguments.into()),
                ("answer".to_owned(), import.answer),
            ]))
        });
        let imports = Value::Array(imports.collect());
        let row = CallRow {
            plugin: call.plugin,
            component: call.component,
            hook: call.hook,
            config: kept(self.shared(call.config)),
            turn: kept(self.shared(call.turn)),
            arguments: kept(self.add(&call.arguments)),
            ended: call.ended,
            answer: call.answer.map(|answer| kept(self.add(&answer))),
            fault: call.fault.map(|(name, message)| (name, (self.redact)(&message))),
            imports: kept(self.add(&imports)),
            ambient: kept(self.add(&ambient)),
            files: (!call.files.is_null()).then(|| kept(self.add(&call.files))),
            instance: call.instance,
            parent: call.parent,
            fuel: call.fuel,
            memory: call.memory,
            unrecorded: None,
        };
        CallRow { unrecorded: unrecorded.map(|reason| (self.redact)(&reason)), ..row }
    }
}
