//! The scripts of `docs/deploy/dist`: what they pack a program into, and the installer against mirrors of all kinds.

mod hostile;
mod image;
mod installer;
mod mirror;
mod packages;

use crate::book::root;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The only version that the scripts pack.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The program of this build.
const PROGRAM: &str = env!("CARGO_BIN_EXE_bub-wasm");

/// The target that an archive for this machine has in its name.
fn target() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

/// The name of that archive, without its ending.
fn package() -> String {
    format!("bub-wasm-{VERSION}-{}", target())
}

/// Runs a script of the folder, at the time of a commit, with little compression.
fn script(name: &str, arguments: &[&Path]) -> Output {
    let mut command = Command::new(root().join("docs/deploy/dist").join(name));
    command.args(arguments).env("SOURCE_DATE_EPOCH", "1764000000").env("BUB_DIST_LEVEL", "1");
    command.output().expect("the script starts")
}

/// The path that a script prints.
#[track_caller]
fn made(name: &str, arguments: &[&Path]) -> PathBuf {
    let output = script(name, arguments);
    assert!(output.status.success(), "{name}: {}", text(&output.stderr));
    PathBuf::from(text(&output.stdout).lines().last().expect("it prints a path"))
}

/// What another program prints.
#[track_caller]
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes a script that stands for a program.
fn program(path: &Path, lines: &str) {
    fs::create_dir_all(path.parent().expect("it has a folder")).expect("it can be made");
    fs::write(path, format!("#!/bin/sh\n{lines}\n")).expect("the script can be written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it can be started");
}
