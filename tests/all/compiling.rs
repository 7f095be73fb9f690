//! Compiling: in a process of its own, within bounds, and once.

use crate::home;
use bub_tests::component::{idle_functions, live_ranges, with_idle_module};
use bub_tests::{Finished, Home, Run, programs};
use std::fs;
use std::path::PathBuf;

/// A home without embedded guests and with a cache of its own, where `bomb` is a plugin with that core module in it.
fn with_bomb(module: &[u8], limits: &str) -> Home {
    let home = home().bare();
    let bytes = fs::read(programs::PROMPT_UPPER).expect("it was built");
    fs::write(home.bub_home().join("plugins/bomb.wasm"), with_idle_module(&bytes, module)).expect("it can be written");
    home.configure(&format!("[plugins.bomb.limits]\n{limits}"));
    home
}

fn cache(home: &Home) -> PathBuf {
    home.bub_home().join("cache")
}

fn run(home: &Home) -> Run<'_> {
    home.run(["hi"]).env("BUB_CACHE", cache(home))
}

/// The file of the cache whose name ends like that.
#[track_caller]
fn kept(home: &Home, end: &str) -> PathBuf {
    let files = fs::read_dir(cache(home)).expect("the cache is there").flatten().map(|file| file.path());
    let mut files = files.filter(|path| path.to_string_lossy().ends_with(end));
    files.next().unwrap_or_else(|| panic!("nothing in the cache ends with `{end}`"))
}

/// It does not load for that reason, and the turn runs without it in a process that stays small.
#[track_caller]
fn is_refused(home: &Home, reason: &str) -> Finished {
    let finished = run(home).finish().says("[cli:local]\nhi\n");
    assert!(finished.peak < 200_000_000, "compiling was to happen elsewhere, but {} bytes are here", finished.peak);
    finished.mentions(&format!("plugin `bomb` did not load: it does not compile: {reason}"))
}

#[test]
fn a_module_in_which_nothing_is_wrong_compiles_within_the_same_bounds() {
    let home = with_bomb(&live_ranges(20), "compile_seconds = 60\ncompile_mib = 256");
    run(&home).finish().says("[cli:local]\nHI\n");
}

#[test]
fn a_file_that_takes_too_long_to_compile_is_refused_and_remembered() {
    let module = live_ranges(2_000);
    assert!(module.len() < 200_000, "a small file is the point, and this has {} bytes", module.len());
    let home = with_bomb(&module, "compile_seconds = 1");
    let reason = "it takes longer than 1 s to compile; `compile_seconds` in its `limits` raises that";
    is_refused(&home, reason);
    // The remembered failure is used: the component is not compiled again.
    let note = kept(&home, ".refused");
    let text = fs::read_to_string(&note).expect("it can be read");
    fs::write(&note, text.replace("it takes longer", "as was found out, it takes longer")).expect("it can be written");
    is_refused(&home, "as was found out, it takes longer than 1 s");
}

#[test]
fn a_file_that_takes_too_much_memory_to_compile_is_refused_and_remembered() {
    let home = with_bomb(&idle_functions(60_000), "compile_mib = 256\ncompile_seconds = 600");
    is_refused(&home, "it takes more than 256 MiB to compile; `compile_mib` in its `limits` raises that");
    kept(&home, ".refused");
}

#[test]
fn a_rejected_file_is_compiled_again_with_higher_limits() {
    let home = with_bomb(&live_ranges(20), "compile_seconds = 60");
    run(&home).finish().says("[cli:local]\nHI\n");
    let code = kept(&home, ".cwasm");
    fs::remove_file(&code).expect("it is there");
    let note = r#"{"reason": "it was too much", "seconds": 60, "memory_mib": 2048}"#;
    write_private(&code.with_extension("refused"), note);
    is_refused(&home, "it was too much");
    home.configure("[plugins.bomb.limits]\ncompile_seconds = 61");
    run(&home).finish().says("[cli:local]\nHI\n");
}

fn write_private(path: &PathBuf, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text).expect("it can be written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("it is ours");
}

#[test]
fn bytes_that_are_not_a_component_are_rejected_with_the_compilers_message_and_not_remembered() {
    let home = home().bare();
    fs::write(home.bub_home().join("plugins/bomb.wasm"), b"\0asm\x0d\0\x01\0\x01\x05nope!").expect("it can be written");
    is_refused(&home, "");
    // The directory also holds data derived from tapes.
    let files = fs::read_dir(cache(&home)).expect("the cache is there").map(|file| file.expect("a file").file_name());
    assert_eq!(files.filter(|name| name != "index").count(), 0, "nothing was compiled and nothing broke a bound");
}
