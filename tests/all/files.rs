//! Files in `$BUB_HOME/plugins` that are named like components and are not: each is named in a warning, and the turn
//! runs without it.

use crate::home;
use bub_tests::{Home, programs};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

fn file(home: &Home) -> PathBuf {
    home.bub_home().join("plugins/x.wasm")
}

#[track_caller]
fn is_left_out(home: &Home) {
    let finished = home.run(["ECHO:all the same"]).finish().says("[cli:local]\nall the same\n");
    finished.mentions("plugin `x` did not load: ");
    crate::plugins::lists_as_failed(home, "x", "");
}

#[track_caller]
fn these_bytes_are_left_out(bytes: &[u8]) {
    let home = home();
    fs::write(file(&home), bytes).expect("the home can be written");
    is_left_out(&home);
}

#[test]
fn a_pipe() {
    let home = home();
    let made = Command::new("mkfifo").arg(file(&home)).status().expect("mkfifo runs");
    assert!(made.success());
    is_left_out(&home);
}

#[test]
fn a_directory() {
    let home = home();
    fs::create_dir(file(&home)).expect("the home can be written");
    is_left_out(&home);
}

#[test]
fn a_device() {
    let home = home();
    symlink("/dev/zero", file(&home)).expect("the home can be written");
    is_left_out(&home);
}

#[test]
fn a_link_to_nothing() {
    let home = home();
    symlink("nowhere.wasm", file(&home)).expect("the home can be written");
    is_left_out(&home);
}

#[test]
fn an_empty_file() {
    these_bytes_are_left_out(b"");
}

#[test]
fn a_program_of_this_machine() {
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0".to_vec();
    elf.resize(4096, 0);
    these_bytes_are_left_out(&elf);
}

#[test]
fn a_core_module() {
    these_bytes_are_left_out(b"\0asm\x01\0\0\0");
}

#[test]
fn a_component_that_is_cut_off() {
    let whole = fs::read(programs::PROMPT_UPPER).expect("the program was built");
    these_bytes_are_left_out(&whole[..whole.len() - 100]);
}

/// Compiled code is native code: taken from anywhere but the cache it would be whatever its writer wants.
#[test]
fn compiled_code() {
    home().run(["ECHO:hi"]).finish().says("[cli:local]\nhi\n");
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled");
    let mut files = fs::read_dir(cache).expect("the tests keep compiled code here").flatten().map(|file| file.path());
    let compiled = files.find(|path| path.extension().is_some_and(|extension| extension == "cwasm"));
    let kept = fs::read(compiled.expect("the turn above has left some")).expect("it can be read");
    // As the cache stores it, with a checksum of 4 bytes at its end, and as the compiler returns it.
    these_bytes_are_left_out(&kept);
    these_bytes_are_left_out(&kept[..kept.len() - 4]);
}
