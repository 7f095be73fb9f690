//! Arguments for the linker that make programs and their tests smaller.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Lets the linker keep identical functions once in targets of these kinds. Other linkers than LLD may refuse that. Returns
/// whether it is LLD.
pub fn fold(kinds: &[&str]) -> bool {
    for name in ["TARGET", "HOST", "RUSTC_LINKER", "CARGO_ENCODED_RUSTFLAGS"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let has_lld = links_with_lld();
    for kind in kinds.iter().filter(|_| has_lld) {
        println!("cargo::rustc-link-arg-{kind}=-Wl,--icf=all");
    }
    has_lld
}

/// Whether rustc links with the LLD that it brings along, its default on this target alone.
fn links_with_lld() -> bool {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    let is_target = ["TARGET", "HOST"].iter().all(|name| env::var(name).is_ok_and(|target| target == TARGET));
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_default = env::var_os("RUSTC_LINKER").is_none()
        && !["linker", "fuse-ld", "link-self-contained"].iter().any(|word| flags.contains(word));
    // The compilers of some distributions come without it, and then link with the system's.
    is_target && is_default && sysroot_has(&format!("lib/rustlib/{TARGET}/bin/gcc-ld/ld.lld"))
}

fn sysroot_has(file: &str) -> bool {
    let rustc = env::var_os("RUSTC").expect("cargo sets `RUSTC`");
    let printed = Command::new(rustc).args(["--print", "sysroot"]).output();
    printed.is_ok_and(|printed| {
        let sysroot = String::from_utf8_lossy(&printed.stdout).trim().to_owned();
        fs::exists(Path::new(&sysroot).join(file)).unwrap_or(false)
    })
}
