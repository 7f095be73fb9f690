//! Builds the guests that the program carries, so that `cargo run` alone works on a fresh machine.

#[path = "build/linker.rs"]
mod linker;
#[path = "src/plugin/outline.rs"]
mod outline;
#[path = "build/relocations.rs"]
mod relocations;
#[path = "build/signatures.rs"]
mod signatures;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use outline::Outline;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TARGET: &str = "wasm32-wasip2";

/// The guests of `src/plugin/embedded.rs`.
const EMBEDDED: &[&str] = &[
    "builtin",
    "offline",
    "workspace",
    "shell",
    "web",
    "skills",
    "tapes",
    "memory",
    "context-builder",
    "telegram",
    "mcp",
];

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    let out = PathBuf::from(variable("OUT_DIR"));
    let guests = root.join("guests");
    // Examples are programs of their own, with all of the runtime in them.
    let kinds = ["examples"];
    relocations::pack(&kinds);
    linker::fold(&kinds);
    println!("cargo::rerun-if-changed={}", root.join("wit").display());
    println!("cargo::rerun-if-changed={}", guests.join("Cargo.toml").display());
    println!("cargo::rerun-if-changed={}", guests.join("Cargo.lock").display());
    println!("cargo::rerun-if-changed={}", guests.join(".cargo/config.toml").display());
    for guest in EMBEDDED {
        for part in ["src", "Cargo.toml", "manifest.json"] {
            let part = guests.join(guest).join(part);
            // Only a guest without `bub-guest` has a manifest in a file of its own.
            if part.exists() {
                println!("cargo::rerun-if-changed={}", part.display());
            }
        }
    }
    for library in ["../host/estimate", "sdk", "sdk/macros"] {
        println!("cargo::rerun-if-changed={}", guests.join(library).join("src").display());
    }
    let wit = root.join("wit");
    let signatures = signatures::table(&[&wit, &wit.join("trial")]);
    // The answers of plugins about themselves are kept for as long as they are asked in the same words.
    fs::write(out.join("contracts.sha256"), hex(&Sha256::digest(&signatures))).expect("OUT_DIR can be written");
    fs::write(out.join("signatures.rs"), signatures).expect("OUT_DIR can be written");
    require_target();
    let target_dir = guests_target(&out);
    build(&guests, &target_dir);
    for guest in EMBEDDED {
        // The names of files have no hyphens.
        let file = format!("{}.wasm", guest.replace('-', "_"));
        let built = target_dir.join(TARGET).join("release").join(file);
        let bytes = fs::read(&built).unwrap_or_else(|error| panic!("`{}`: {error}", built.display()));
        let write = |end: &str, bytes: &[u8]| {
            let path = out.join(format!("{guest}.{end}"));
            fs::write(&path, bytes).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
        };
        let mut compressed = ZlibEncoder::new(Vec::new(), Compression::best());
        compressed.write_all(&bytes).expect("a vector takes what is written");
        write("wasm.zlib", &compressed.finish().expect("a vector takes what is written"));
        // The outlines are written here: a start needs nothing else of guests whose compiled code is kept.
        write("rs", known(guest, &bytes).as_bytes());
    }
}

/// The outline of a guest, as Rust.
fn known(guest: &str, bytes: &[u8]) -> String {
    let Outline { exports, imports, manifest, has_two_manifests, is_whole } = Outline::read(bytes);
    assert!(is_whole && !has_two_manifests, "the guest `{guest}` is no component, or has two manifests");
    let manifest = manifest.unwrap_or_else(|| panic!("the guest `{guest}` has no manifest"));
    let manifest = std::str::from_utf8(manifest).expect("a manifest is UTF-8");
    let (digest, size) = (hex(&Sha256::digest(bytes)), bytes.len());
    format!(
        "EmbeddedOutline {{ digest: {digest:?}, size: {size}, exports: &{exports:?}, imports: &{imports:?}, manifest: {manifest:?} }}"
    )
}

/// The folder that guests are built in: one for all profiles, and for the tests, which build guests of the same workspace.
/// `out` is `TARGET/PROFILE/build/CRATE/out`.
fn guests_target(out: &Path) -> PathBuf {
    out.ancestors().nth(4).expect("cargo made OUT_DIR").join("guests")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets `{name}`"))
}

/// rust-toolchain.toml names the target, but rustup installs it by itself only where automatic installation is on.
fn require_target() {
    let sysroot = Command::new(variable("RUSTC")).args(["--print", "sysroot"]).output().expect("rustc runs");
    let sysroot = PathBuf::from(String::from_utf8_lossy(&sysroot.stdout).trim());
    if sysroot.join("lib/rustlib").join(TARGET).exists() {
        return;
    }
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    if !added.is_ok_and(|status| status.success()) {
        panic!("the guests need the target {TARGET}; run `rustup target add {TARGET}`");
    }
}

/// A cargo inside a cargo, with a target folder of its own: the outer cargo holds the lock of its own folder.
fn build(guests: &Path, target_dir: &Path) {
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .args(["build", "--release", "--locked", "--target", TARGET])
        .current_dir(guests)
        .env("CARGO_TARGET_DIR", target_dir);
    for guest in EMBEDDED {
        cargo.args(["--package", guest]);
    }
    // Settings for this machine's code, or for clippy, must not reach the guests.
    for name in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_BUILD_TARGET",
        "RUSTDOCFLAGS",
    ] {
        cargo.env_remove(name);
    }
    let status = cargo.status().expect("cargo runs");
    assert!(status.success(), "the guests do not build");
}
