//! Programs of others, from npm and PyPI: clients of protocols, and what plays the page.
//!
//! They are installed once, into the target folder, by a run of long tests and by `--ignored`. A plain `cargo test` uses what
//! is there, and fetches nothing.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where they are put: they outlive a test.
pub(crate) fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A script of ours that uses them.
pub(crate) fn source(name: &str) -> String {
    format!("{}/../../tests/clients/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn runs(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Whether this run may fetch packages.
fn may_install() -> bool {
    let asked = |argument: String| matches!(argument.as_str(), "--ignored" | "--include-ignored");
    bub_test_support::tier::is_full() || std::env::args().any(asked)
}

/// Says that something is not there. Not by a macro: the test runner keeps what those print to itself.
pub(crate) fn absent(what: &str) {
    let why = if may_install() { "cannot be installed here" } else { "is not installed; `BUB_TESTS=full` installs it" };
    let mut err = std::io::stderr();
    let _ = writeln!(err, "\nnot tested: {what} {why}");
}

/// A Python that has that package, or none. `module` is what the package is imported as.
pub(crate) fn python(package: &str, version: &str, module: &str) -> Option<PathBuf> {
    let dir = place(&format!("python-{package}"));
    let python = dir.join("bin/python");
    let knows = || runs(Command::new(&python).args(["-c", &format!("import {module}")]));
    let install = || {
        runs(Command::new("python3").args(["-m", "venv"]).arg(&dir))
            && runs(Command::new(&python).args(["-m", "pip", "install", "--quiet", &format!("{package}=={version}")]))
    };
    if knows() || (may_install() && install() && knows()) {
        return Some(python);
    }
    absent(&format!("`{package}` for Python"));
    None
}

/// A folder in which Node finds that package, or none.
pub(crate) fn node(package: &str, version: &str) -> Option<PathBuf> {
    let dir = place(&format!("node-{}", package.replace(['@', '/'], "-")));
    let is_there = || dir.join("node_modules").join(package).join("package.json").is_file();
    let install = || {
        let named = format!("{package}@{version}");
        runs(Command::new("npm").args(["install", "--silent", "--no-save", "--prefix"]).arg(&dir).arg(named))
    };
    if runs(Command::new("node").arg("--version")) && (is_there() || (may_install() && install() && is_there())) {
        return Some(dir);
    }
    absent(&format!("`{package}` for Node"));
    None
}

/// A package that cannot be had is a failure where nothing may be left out, as in `.ci/run`.
pub(crate) fn required<T>(package: Option<T>) -> Option<T> {
    let may_miss = std::env::var_os("BUB_LANGUAGES").is_none_or(|which| which != "all");
    assert!(package.is_some() || may_miss, "the package is not installed");
    package
}
