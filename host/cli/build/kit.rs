//! The files of the archive.

use crate::{lock, standalone};
use flate2::{Compression, GzBuilder};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;

/// Folders of the repository by their names in the archive. The ones that do not exist are left out.
const FOLDERS: [(&str, &str); 8] = [
    ("templates", "guests/templates"),
    ("wit", "wit"),
    ("wasi", "guests/wasi"),
    ("sdk", "guests/sdk"),
    ("sdk-python", "guests/sdk-python"),
    ("sdk-js", "guests/sdk-js"),
    ("sdk-go", "guests/sdk-go"),
    ("sdk-c", "guests/sdk-c"),
];

/// Folders that tools leave behind.
const LEFT_OUT: [&str; 5] = ["target", "node_modules", "__pycache__", ".pytest_cache", ".venv"];

/// The kinds of plugins, in the order in which they are offered.
const KINDS: [&str; 7] = ["tool", "prompt", "selector", "gate", "channel", "provider", "store"];

/// A file of the archive.
struct Packed {
    bytes: Vec<u8>,
    is_executable: bool,
}

/// All files by their paths in the archive; the order makes the archive reproducible.
pub struct Kit(BTreeMap<String, Packed>);

impl Kit {
    pub fn read(root: &Path) -> Self {
        let mut kit = Self(BTreeMap::new());
        for (name, folder) in FOLDERS {
            let folder = root.join(folder);
            println!("cargo::rerun-if-changed={}", folder.display());
            if folder.is_dir() {
                kit.add(name, &folder);
            }
        }
        kit.stand_alone(root);
        let adapter = WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER.to_vec();
        let adapter = Packed { bytes: adapter, is_executable: false };
        kit.0.insert("adapter/wasi_snapshot_preview1.reactor.wasm".to_owned(), adapter);
        kit
    }

    fn add(&mut self, name: &str, folder: &Path) {
        let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("`{}`: {error}", folder.display()));
        for entry in entries {
            let path = entry.unwrap_or_else(|error| panic!("`{}`: {error}", folder.display())).path();
            let file = path.file_name().and_then(|file| file.to_str()).expect("names of files are UTF-8");
            let about = path.symlink_metadata().unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
            let name = format!("{name}/{file}");
            // The tests of an SDK are no part of a project, those of a template are.
            let is_own_test = file == "tests" && !name.starts_with("templates/");
            if about.is_dir() {
                if !LEFT_OUT.contains(&file) && !is_own_test {
                    self.add(&name, &path);
                }
            } else if about.is_file() {
                // A link, such as that of an SDK to the contracts, is left out: templates name what they need.
                let bytes = fs::read(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
                self.0.insert(name, Packed { bytes, is_executable: about.permissions().mode() & 0o100 != 0 });
            }
        }
    }

    /// Makes the Rust SDK independent of the workspace of the guests.
    fn stand_alone(&mut self, root: &Path) {
        let guests = root.join("guests");
        let read = |path: PathBuf| {
            println!("cargo::rerun-if-changed={}", path.display());
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
        };
        let workspace = read(guests.join("Cargo.toml"));
        for manifest in ["sdk/Cargo.toml", "sdk/macros/Cargo.toml"] {
            let packed = self.0.get_mut(manifest).unwrap_or_else(|| panic!("`{manifest}` is packed"));
            let text = std::str::from_utf8(&packed.bytes).expect("a manifest is UTF-8");
            packed.bytes = standalone::manifest(text, &workspace).into_bytes();
        }
        let lock = lock::of(&read(guests.join("Cargo.lock")), "bub-guest");
        // So that `cargo fmt` of a project leaves the SDK as it is.
        for (name, text) in [("lock/Cargo.lock", lock), ("sdk/rustfmt.toml", read(root.join("rustfmt.toml")))] {
            self.0.insert(name.to_owned(), Packed { bytes: text.into_bytes(), is_executable: false });
        }
    }

    pub fn archive(&self) -> Vec<u8> {
        let mut archive = tar::Builder::new(GzBuilder::new().write(Vec::new(), Compression::best()));
        for (name, Packed { bytes, is_executable }) in &self.0 {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(if *is_executable { 0o755 } else { 0o644 });
            archive.append_data(&mut header, name, bytes.as_slice()).expect("memory can be written");
        }
        archive.into_inner().and_then(|gzip| gzip.finish()).expect("memory can be written")
    }

    /// The languages and their kinds, so that the command line knows them without unpacking the archive.
    pub fn table(&self) -> String {
        let mut languages: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for name in self.0.keys() {
            let mut parts = name.split('/');
            if let (Some("templates"), Some(language), Some(part), Some(_)) =
                (parts.next(), parts.next(), parts.next(), parts.next())
            {
                languages.entry(language).or_default().push(part);
            }
        }
        let mut table = String::from("&[\n");
        for (language, parts) in languages {
            let kinds: Vec<&str> = KINDS.into_iter().filter(|kind| parts.contains(kind)).collect();
            let _ = writeln!(table, "    ({language:?}, &{kinds:?}),");
        }
        table + "]\n"
    }
}
