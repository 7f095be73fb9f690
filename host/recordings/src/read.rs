//! Reads a file, and checks every digest in it. A file may come from anyone.

use super::FORMAT;
use super::manifest::{CallRow, Manifest};
use super::objects::{digest, unfold};
use super::record::{CallRecord, ImportRecord};
use bub_types::text::one_line;
use flate2::read::GzDecoder;
use lz4_flex::frame::FrameDecoder;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The version of the layout whose values are packed by gzip.
const GZIP: u32 = 1;

/// The version of the layout whose values are packed by LZ4.
const LZ4: u32 = 2;

/// The mark of the end of an LZ4 frame without a checksum (LZ4 Frame Format 1.6.4, "EndMark").
const LZ4_END: [u8; 4] = [0; 4];

/// How each file begins.
pub(crate) const MAGIC: &str = "bub-wasm recording";

/// The first line, at most, in bytes.
const MAX_FIRST: u64 = 256;

/// The manifest, at most, in bytes.
const MAX_MANIFEST: u64 = 32 << 20;

/// All objects, at most, in bytes.
const MAX_OBJECTS: u64 = 512 << 20;

/// Strings that are put into the values of one call, at most, in bytes.
const MAX_VALUES: usize = 256 << 20;

/// Why a file cannot be used, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// It cannot be read.
    Unreadable(String),
    /// It is no recording.
    NoRecording,
    /// A later program wrote it.
    Newer(String),
    /// It was changed after it was written.
    Edited(String),
    /// Its end is missing.
    CutOff,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(reason) => write!(f, "it cannot be read: {}", one_line(reason)),
            Self::NoRecording => f.write_str("it is no recording of a turn"),
            Self::Newer(format) => {
                write!(f, "its format is `{}`, and this program reads {FORMAT}: use a newer bub-wasm", one_line(format))
            }
            Self::Edited(what) => write!(f, "it was changed after it was recorded: {what}"),
            Self::CutOff => f.write_str("it is cut off: its end is missing"),
        }
    }
}

/// The two lines that a file begins with.
#[derive(Debug, Clone)]
pub struct RecordingHeader {
    /// The calls of the turn, and what else is known of it.
    pub manifest: Manifest,
    /// The digest of the manifest, as computed.
    pub digest: String,
}

/// A recording that was read.
#[derive(Debug)]
pub struct Recording {
    /// The calls of the turn, and what else is known of it.
    pub manifest: Manifest,
    /// The digest of the manifest.
    pub digest: String,
    /// What is wrong with its objects, if anything is. Calls whose values are there can be used all the same.
    pub problem: Option<Problem>,
    objects: HashMap<String, String>,
}

impl RecordingHeader {
    /// Reads the beginning of the file.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn read(path: &Path) -> Result<Self, Problem> {
        Self::take(&mut open(path)?).map(|(header, _, _)| header)
    }

    /// The header, the digest that the rest of the file has to have, and the version of its layout.
    fn take(file: &mut impl BufRead) -> Result<(Self, String, u32), Problem> {
        let first = line(file, MAX_FIRST)?.ok_or(Problem::NoRecording)?;
        let words = first.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(' ')).ok_or(Problem::NoRecording)?;
        let words: Vec<&str> = words.split(' ').collect();
        let format = words.first().copied().unwrap_or_default();
        let format = match format.parse::<u32>() {
            Ok(format @ GZIP..=FORMAT) => format,
            Ok(newer) if newer > FORMAT => return Err(Problem::Newer(newer.to_string())),
            _ => return Err(Problem::NoRecording),
        };
        let [_, expected, rest] = words[..] else { return Err(Problem::NoRecording) };
        let text = line(file, MAX_MANIFEST)?.ok_or(Problem::CutOff)?;
        let found = digest(text.as_bytes());
        if found != expected {
            return Err(Problem::Edited("its manifest does not have the digest that it names".to_owned()));
        }
        let manifest: Manifest = serde_json::from_str(&text).map_err(|error| {
            Problem::Edited(format!("its manifest is not understood: {}", one_line(&error.to_string())))
        })?;
        Ok((Self { manifest, digest: found }, rest.to_owned(), format))
    }
}

impl Recording {
    /// Reads the whole file.
    ///
    /// # Errors
    ///
    /// Nothing of it can be used. Where only some of its objects are missing, [`Self::problem`] says so.
    pub fn read(path: &Path) -> Result<Self, Problem> {
        let mut file = open(path)?;
        let (RecordingHeader { manifest, digest }, rest, format) = RecordingHeader::take(&mut file)?;
        let (objects, problem) = objects(file, &rest, format)?;
        let mut recording = Self { manifest, digest, problem, objects };
        if recording.problem.is_none() && !recording.is_complete() {
            recording.problem = Some(Problem::Edited("values that its manifest names are missing".to_owned()));
        }
        Ok(recording)
    }

    /// Whether all values of all calls are there.
    fn is_complete(&self) -> bool {
        let has = |name: &String| name.is_empty() || self.objects.contains_key(name);
        let of_call = |call: &CallRow| {
            let names = [&call.config, &call.turn, &call.arguments, &call.imports, &call.ambient];
            names.into_iter().chain(&call.answer).chain(&call.files).all(has)
        };
        self.manifest.calls.iter().all(of_call) && self.manifest.objects.values().all(has)
    }

    /// All texts of the objects, as JSON.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.objects.values().map(String::as_str)
    }

    /// A further value, by its name.
    pub fn object(&self, name: &str) -> Option<Value> {
        self.value(self.manifest.objects.get(name)?)
    }

    fn value(&self, name: &str) -> Option<Value> {
        unfold(&self.objects, name, &mut MAX_VALUES.clone())
    }

    /// The call of that index, with its values.
    ///
    /// # Errors
    ///
    /// A value is missing.
    pub fn call(&self, index: usize) -> Result<CallRecord, String> {
        #[derive(Deserialize)]
        struct Ambient {
            clock: Vec<f64>,
            monotonic: Vec<u64>,
            random: String,
        }
        let row = self.manifest.calls.get(index).ok_or("there is no such call")?;
        let missing = || "its values are missing from the recording".to_owned();
        let mut most = MAX_VALUES;
        let mut value = |name: &String| unfold(&self.objects, name, &mut most).ok_or_else(missing);
        let imports: Vec<ImportRecord> = serde_json::from_value(value(&row.imports)?).map_err(|_| missing())?;
        let ambient: Ambient = serde_json::from_value(value(&row.ambient)?).map_err(|_| missing())?;
        Ok(CallRecord {
            plugin: row.plugin.clone(),
            component: row.component.clone(),
            hook: row.hook.clone(),
            config: value(&row.config)?.into(),
            turn: value(&row.turn)?.into(),
            arguments: value(&row.arguments)?,
            ended: row.ended,
            answer: row.answer.as_ref().map(&mut value).transpose()?,
            fault: row.fault.clone(),
            imports,
            clock: ambient.clock,
            monotonic: ambient.monotonic,
            random: ambient.random,
            files: row.files.as_ref().map(&mut value).transpose()?.unwrap_or_default(),
            instance: row.instance,
            parent: row.parent,
            fuel: row.fuel,
            memory: row.memory,
            unrecorded: row.unrecorded.clone(),
        })
    }
}

fn open(path: &Path) -> Result<BufReader<File>, Problem> {
    let unreadable = |error: std::io::Error| Problem::Unreadable(error.to_string());
    // A pipe would be waited for.
    match path.metadata().map_err(unreadable)?.is_file() {
        true => Ok(BufReader::new(File::open(path).map_err(unreadable)?)),
        false => Err(Problem::NoRecording),
    }
}

/// The next line, without its end; none if the file ends in it.
fn line(file: &mut impl BufRead, most: u64) -> Result<Option<String>, Problem> {
    let mut bytes = Vec::new();
    let read = file.take(most).read_until(b'\n', &mut bytes);
    read.map_err(|error| Problem::Unreadable(error.to_string()))?;
    if bytes.pop() != Some(b'\n') {
        return Ok(None);
    }
    String::from_utf8(bytes).map(Some).map_err(|_| Problem::Edited("it is not text".to_owned()))
}

/// Objects by their digests, as far as they can be read, and what is wrong with them.
type Objects = (HashMap<String, String>, Option<Problem>);

fn objects(file: impl Read, expected: &str, format: u32) -> Result<Objects, Problem> {
    let mut packed = Vec::new();
    let read = file.take(MAX_OBJECTS).read_to_end(&mut packed);
    read.map_err(|error| Problem::Unreadable(error.to_string()))?;
    let is_same = digest(&packed) == expected;
    let (objects, problem) = match format {
        GZIP => lines(GzDecoder::new(&*packed)),
        _ => lines(FrameDecoder::new(&*packed)),
    };
    let changed = || match format {
        // The decoder takes a frame without the mark of its end as a whole one.
        LZ4 if !packed.ends_with(&LZ4_END) => Problem::CutOff,
        _ => Problem::Edited("its values do not have the digest that it names".to_owned()),
    };
    Ok((objects, problem.or_else(|| (!is_same).then(changed))))
}

fn lines(unpacked: impl Read) -> Objects {
    let mut objects = HashMap::new();
    let mut unpacked = BufReader::new(unpacked.take(MAX_OBJECTS));
    loop {
        let mut bytes = Vec::new();
        match unpacked.read_until(b'\n', &mut bytes) {
            Ok(0) => return (objects, None),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return (objects, Some(Problem::CutOff)),
            Err(_) => return (objects, Some(Problem::Edited("its values cannot be unpacked".to_owned()))),
        }
        if bytes.pop() != Some(b'\n') {
            return (objects, Some(Problem::CutOff));
        }
        match String::from_utf8(bytes) {
            Ok(text) => drop(objects.insert(digest(text.as_bytes()), text)),
            Err(_) => return (objects, Some(Problem::Edited("its values are not text".to_owned()))),
        }
    }
}
