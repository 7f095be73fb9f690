//! A compact table of relocations (`DT_RELR`): the usual one has 24 bytes for each pointer in constant data, is read in full
//! at each start, and stays in memory.

use std::env;
use std::process::Command;

/// The first glibc whose loader reads the table.
const FIRST: (u32, u32) = (2, 36);

/// The variable of a build for older systems, such as `2.28`.
const OLDEST: &str = "BUB_GLIBC";

/// Asks the linker for it in targets of these kinds, where programs find the libc of this machine: a program with such a
/// table does not start with an older libc. Linkers that do not know the option say so, and link as before.
pub fn pack(kinds: &[&str]) {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let is_native = variable("HOST") == variable("TARGET");
    let is_glibc = variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    println!("cargo::rerun-if-env-changed={OLDEST}");
    // Packages name the oldest glibc that their program starts with; it is then linked against that one.
    let version = match env::var(OLDEST) {
        Ok(oldest) => parse(&oldest),
        Err(_) => version(),
    };
    if is_native && is_glibc && version.is_some_and(|version| version >= FIRST) {
        for kind in kinds {
            println!("cargo::rustc-link-arg-{kind}=-Wl,-z,pack-relative-relocs");
        }
    }
}

/// The version of this machine's glibc.
fn version() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    parse(text.trim().strip_prefix("glibc ")?)
}

fn parse(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
