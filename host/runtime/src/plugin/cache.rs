//! Compiled code, kept between runs.
//!
//! A compiled component is native code: loading a file of another author would give up the sandbox. So the folder
//! must be ours and closed to others, and a file counts only with the checksum that was written with it.

use super::checked::{CHECKED, Checked};
use super::code::Introduction;
use super::digest::digest;
use super::image;
use super::loaded::Plugin;
use super::private::{DRAFT, Listed, PrivateDir};
use bub_tape::network_file_system;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;
use wasmtime::Engine;
use wasmtime::component::Component;

/// Files that are kept. A directory of plugins holds 64, each with two files, and a cache may serve several homes.
const MAX_FILES: usize = 512;

/// Bytes of all files together. A Python guest has 50 MB when it is compiled, any other a few.
const MAX_BYTES: u64 = 2 << 30;

/// The digest of the contracts that this program was built with.
const CONTRACTS: &str = include_str!(concat!(env!("OUT_DIR"), "/contracts.sha256"));

/// The largest note of a refusal, in bytes.
const MAX_NOTE: u64 = 4096;

/// The largest answer of a plugin about itself that is kept, in bytes.
const MAX_DESCRIBED: u64 = 4 << 20;

/// The suffix of such an answer.
const DESCRIBED: &str = ".described";

/// A folder of compiled components, of notes on those that could not be compiled, and of what plugins said of themselves.
pub struct Cache {
    dir: Option<PrivateDir>,
    trouble: Option<String>,
    /// Whether it lies on another machine.
    is_remote: bool,
    /// Whether code that was compiled quickly was loaded from it or put into it.
    has_quick: AtomicBool,
}

/// Which compiled code: of which bytes, for which engine.
pub(super) struct Key(String);

impl Key {
    pub(super) fn new(engine: &Engine, digest: &str) -> Self {
        let mut hasher = std::hash::DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Self(format!("{digest}-{:016x}", hasher.finish()))
    }

    /// That of the code that was compiled quickly.
    pub(super) fn quick(&self) -> Self {
        Self(format!("{}-quick", self.0))
    }

    fn code(&self) -> String {
        format!("{}.cwasm", self.0)
    }

    fn note(&self) -> String {
        format!("{}.refused", self.0)
    }
}

/// Why a component was not compiled, and within which bounds that was.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) reason: String,
    pub(super) seconds: u64,
    pub(super) memory_mib: u64,
}

/// The cached introductions of plugins: plugins are asked once, and again when their bytes, their configuration or the
/// contracts change.
pub(super) struct Described;

impl Described {
    /// The introduction of the plugin.
    pub(super) fn read(cache: &Cache, plugin: &Plugin) -> Option<Introduction> {
        cache.described(&Self::name(plugin))
    }

    /// Keeps it.
    pub(super) fn keep(cache: &Cache, plugin: &Plugin, answer: &Introduction) {
        match serde_json::to_vec(answer) {
            Ok(text) if text.len() as u64 <= MAX_DESCRIBED => cache.put(&Self::name(plugin), &[&text]),
            Ok(_) => {}
            Err(error) => tracing::debug!("what plugin `{}` says of itself was not kept: {error}", plugin.name),
        }
    }

    fn name(plugin: &Plugin) -> String {
        let config = serde_json::to_vec(&plugin.config).unwrap_or_default();
        let seen = digest(&[CONTRACTS.as_bytes(), &config].concat());
        format!("{}-{}{DESCRIBED}", plugin.digest, &seen[..16])
    }
}

impl Cache {
    /// Opens `dir`, and creates it if it is missing. A directory that another user owns or may write to is not used:
    /// everything is then compiled anew, and a warning says why.
    pub fn open(dir: &Path) -> Self {
        match PrivateDir::open(dir) {
            Ok(opened) => {
                let is_remote = network_file_system(dir).is_ok_and(|kind| kind.is_some());
                Self { dir: Some(opened), trouble: None, is_remote, has_quick: AtomicBool::new(false) }
            }
            Err(reason) => {
                let trouble = format!("compiled code is not kept: `{}` {reason}", dir.display());
                tracing::warn!("{trouble}");
                Self { dir: None, trouble: Some(trouble), is_remote: false, has_quick: AtomicBool::new(false) }
            }
        }
    }

    /// Why nothing is kept, if nothing is.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// The component, if it is there, whole, and made for this engine.
    pub(super) fn component(&self, engine: &Engine, key: &Key) -> Option<Component> {
        let name = key.code();
        let dir = self.dir.as_ref()?;
        let file = dir.file(&name)?;
        // Before the check: a change during it is another state.
        let state = Checked::of(&file);
        let is_noted = state.as_ref().is_some_and(|state| state.is_noted(dir, &name));
        let Ok(Some(code)) = (if is_noted { image::length(&file) } else { image::whole(&file) }) else {
            tracing::debug!("`{name}` is damaged, and compiled again");
            return None;
        };
        if let Some(state) = state.filter(|_| !is_noted) {
            state.note(dir, &name);
        }
        match self.load(engine, &file, code) {
            Ok(component) => Some(component),
            Err(error) => {
                tracing::debug!("`{name}` does not fit: {error:#}");
                None
            }
        }
    }

    /// The component of a file that is whole. One that lies on another machine is not mapped: that machine could take it
    /// away from under us, and the next page of it would end this process.
    fn load(&self, engine: &Engine, file: &File, code: u64) -> wasmtime::Result<Component> {
        // SAFETY: the folder is ours and closed to others, so is the file, and the checksum behind the code says that it is
        // what this program wrote. It is never written again: a new file replaces it by name. wasmtime checks
        // that it was made for this engine.
        #[allow(unsafe_code, reason = "these are the two ways of loading compiled code; the checks stand above")]
        unsafe {
            if !self.is_remote
                && let Ok(component) = image::map(engine, file)
            {
                return Ok(component);
            }
            image::copy(engine, file, code)
        }
    }

    /// Whether compiled code is there. Whether it is whole is seen when it is loaded.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.dir.as_ref().is_some_and(|dir| dir.file(&key.code()).is_some())
    }

    /// The component that was compiled quickly, under the same conditions.
    pub(super) fn quick_component(&self, engine: &Engine, key: &Key) -> Option<Component> {
        let component = self.component(engine, &key.quick())?;
        self.has_quick.store(true, Ordering::Relaxed);
        Some(component)
    }

    /// Keeps code that was compiled quickly.
    pub(super) fn keep_quick(&self, key: &Key, code: &[u8]) {
        self.keep(&key.quick(), code);
        self.has_quick.store(true, Ordering::Relaxed);
    }

    /// The folder, if code that was compiled quickly was loaded from it or put into it.
    pub(super) fn dir_with_quick(&self) -> Option<&Path> {
        self.dir.as_ref().filter(|_| self.has_quick.load(Ordering::Relaxed)).map(PrivateDir::path)
    }

    /// Held by the one process that compiles what was compiled quickly; none while another process holds it.
    pub(super) fn lock(&self) -> Option<File> {
        self.dir.as_ref()?.lock().ok()
    }

    /// Keeps compiled code.
    pub(super) fn keep(&self, key: &Key, code: &[u8]) {
        self.put(&key.code(), &[code, &image::checksum(code)]);
    }

    /// Removes the code that was compiled quickly, because there is better.
    pub(super) fn remove_quick(&self, key: &Key) {
        if let Some(dir) = &self.dir {
            // Most often there is none.
            let _ = remove(dir, &key.quick().code());
        }
    }

    /// Why those bytes were not compiled the last time; none if they were compiled, or never tried.
    pub(super) fn refused(&self, key: &Key) -> Option<Note> {
        serde_json::from_slice(&self.dir.as_ref()?.read(&key.note(), MAX_NOTE)?).ok()
    }

    /// Remembers that those bytes cannot be compiled, so that they are not compiled at each start.
    pub(super) fn remember(&self, key: &Key, note: &Note) {
        match serde_json::to_vec(note) {
            Ok(text) => self.put(&key.note(), &[&text]),
            Err(error) => tracing::debug!("a refusal was not kept: {error}"),
        }
    }

    /// The introduction of a plugin, under that name.
    fn described(&self, name: &str) -> Option<Introduction> {
        serde_json::from_slice(&self.dir.as_ref()?.read(name, MAX_DESCRIBED)?).ok()
    }

    fn put(&self, name: &str, parts: &[&[u8]]) {
        let Some(dir) = &self.dir else { return };
        let bytes = parts.iter().map(|part| part.len() as u64).sum();
        if let Err(error) = make_room(dir, name, bytes).and_then(|()| dir.write(name, parts)) {
            tracing::debug!("`{name}` was not kept: {error}");
        }
    }
}

/// Takes away what was used longest ago, until there is room for so many bytes more under that name.
fn make_room(dir: &PrivateDir, name: &str, bytes: u64) -> std::io::Result<()> {
    let is_ours = |file: &Listed| [".cwasm", ".refused", DESCRIBED, DRAFT].iter().any(|end| file.name.ends_with(end));
    let (notes, all): (Vec<Listed>, Vec<Listed>) =
        dir.list()?.into_iter().filter(|file| !file.is_dir).partition(|file| file.name.ends_with(CHECKED));
    let used: HashMap<&str, SystemTime> =
        notes.iter().filter_map(|note| Some((note.name.strip_suffix(CHECKED)?, note.modified))).collect();
    let mut files: Vec<Listed> = all.into_iter().filter(is_ours).collect();
    for file in &mut files {
        file.modified = used.get(file.name.as_str()).copied().map_or(file.modified, |used| used.max(file.modified));
    }
    files.retain(|file| file.name != name);
    files.sort_by_key(|file| file.modified);
    let (mut left, mut held) = (files.len(), files.iter().map(|file| file.bytes).sum::<u64>());
    for file in &files {
        if left < MAX_FILES && held.saturating_add(bytes) <= MAX_BYTES {
            break;
        }
        remove(dir, &file.name)?;
        left -= 1;
        held = held.saturating_sub(file.bytes);
    }
    Ok(())
}

/// Removes a file, and the note about it.
fn remove(dir: &PrivateDir, name: &str) -> std::io::Result<()> {
    dir.remove(name)?;
    dir.remove(&format!("{name}{CHECKED}"))
}
