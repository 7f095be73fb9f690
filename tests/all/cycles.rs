//! Which files of a crate import each other, read from their `use` lines and paths.
//!
//! `cargo test -p bub-wasm --test all -- cycles --nocapture` prints the crate graph and the largest cycle of each crate.

mod imports;

use imports::{Files, largest_cycle};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The most files that may import each other.
const LIMIT: usize = 5;

#[test]
fn no_more_than_five_files_of_a_crate_import_each_other() {
    let mut report = String::new();
    let mut wrong = Vec::new();
    for (name, dir) in crates() {
        let files = Files::read(&dir.join("src"));
        let cycle = largest_cycle(&files);
        let below = dependencies(&dir).join(" ");
        writeln!(report, "{name}: {} files, largest cycle {}; uses {below}", files.len(), cycle.len())
            .expect("a string");
        if cycle.len() > LIMIT {
            wrong.push(format!("{name}: {} files import each other: {}", cycle.len(), cycle.join(", ")));
        }
    }
    println!("{report}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn crates() -> BTreeMap<String, PathBuf> {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in `host`");
    let entries = fs::read_dir(host).expect("`host` is a directory").map(|entry| entry.expect("it can be listed"));
    entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())).collect()
}

/// The crates of `host/` that a crate depends on.
fn dependencies(dir: &Path) -> Vec<String> {
    let manifest = fs::read_to_string(dir.join("Cargo.toml")).expect("a crate has a manifest");
    let normal = manifest.split("[dev-dependencies]").next().unwrap_or_default();
    let names = normal.lines().filter_map(|line| line.strip_prefix("bub-")?.split(['.', ' ']).next());
    names.map(str::to_owned).collect()
}
