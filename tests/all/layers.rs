//! Rules for the crates of `host/` that cargo's dependency graph cannot express.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The crates that know WebAssembly. All others can be built and tested without wasmtime, and without the guests that
/// `bub-tests` builds.
const WASM: [&str; 7] = ["acp", "cli", "gateway", "mcp", "runtime", "server", "types"];

#[test]
fn only_the_runtime_and_the_crates_above_it_use_wasmtime() {
    for (name, manifest) in manifests() {
        let names_wasm =
            ["wasmtime", "wasmparser", "bub-runtime", "bub-gateway", "bub-acp", "bub-mcp", "bub-server", "bub-tests"]
                .iter()
                .any(|dependency| manifest.lines().any(|line| line.split(['.', ' ']).next() == Some(*dependency)));
        assert!(!names_wasm || WASM.contains(&name.as_str()), "`bub-{name}` depends on wasm");
    }
}

#[test]
fn only_the_bindings_generate_bindings() {
    let files: Vec<PathBuf> = sources(&host()).into_iter().filter(|path| read(path).contains("bindgen!(")).collect();
    assert_eq!(files, [host().join("runtime/src/guest/bindings.rs")]);
}

#[test]
fn run_turn_fits_into_its_file() {
    let lines = read(&host().join("runtime/src/turn/pipeline.rs")).lines().count();
    assert!(lines <= 170, "pipeline.rs has {lines} lines; the main path is to be read at once");
}

#[test]
fn plugins_do_not_depend_on_their_callers() {
    let upper = ["channel", "error", "guest", "hooks", "host", "imports", "turn"].map(|name| format!("crate::{name}"));
    for path in sources(&host().join("runtime/src/plugin")) {
        let text = read(&path);
        let known = upper.iter().find(|module| text.contains(module.as_str()));
        assert_eq!(known, None, "`{}` imports a layer above it", path.display());
    }
}

#[test]
fn a_crate_leaves_out_a_phase_of_its_tests_only_if_that_is_empty() {
    for (name, manifest) in manifests() {
        let library = manifest.split("\n[").find(|section| section.starts_with("lib]")).unwrap_or_default();
        let has = |line: &str| library.lines().any(|other| other == line);
        let (no_tests, no_examples) = (has("test = false"), has("doctest = false"));
        for path in sources(&host().join(&name).join("src")) {
            let text = read(&path);
            let has_tests = text.contains("#[test]") || text.contains("#[tokio::test");
            assert!(!(has_tests && no_tests), "no test of `{}` runs", path.display());
            let has_examples = text.lines().any(|line| matches!(line.trim(), "/// ```" | "//! ```"));
            assert!(!(has_examples && no_examples), "no example of `{}` runs", path.display());
        }
    }
}

fn manifests() -> BTreeMap<String, String> {
    let crates = fs::read_dir(host()).expect("it is a directory");
    crates
        .map(|entry| entry.expect("it can be listed"))
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), read(&entry.path().join("Cargo.toml"))))
        .collect()
}

fn host() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it lies in `host`").to_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("it can be read")
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).expect("it is a directory") {
        let path = entry.expect("it can be listed").path();
        match path.is_dir() {
            true => files.extend(sources(&path)),
            false if path.extension().is_some_and(|end| end == "rs") => {
                files.push(path);
            }
            false => {}
        }
    }
    files
}
