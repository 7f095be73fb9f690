//! Builds the guests, and the programs that only tests use, once; and writes a constant for each of them.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "wasm32-wasip2";

/// The guests of the workspace `guests/` that tests run by their path.
const GUESTS: [&str; 13] = [
    "builtin",
    "compact",
    "echo",
    "offline",
    "shell",
    "skills",
    "tapes-http",
    "telegram",
    "weather",
    "web",
    "webhook",
    "window",
    "workspace",
];

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for watched in ["programs/Cargo.toml", "programs/Cargo.lock", "programs/examples"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    // Modules that several programs share are beside them.
    for file in fs::read_dir(here.join("programs")).expect("programs is a directory").flatten() {
        if file.path().extension().is_some_and(|extension| extension == "rs") {
            println!("cargo::rerun-if-changed={}", file.path().display());
        }
    }
    for watched in
        ["programs/wit", "programs/wit_next", "programs/frozen-0.1.0", "../wit", "../guests", "../host/estimate"]
    {
        println!("cargo::rerun-if-changed={watched}");
    }

    want_target();
    let programs = programs(&here.join("programs/examples"));
    // The folder that host/runtime/build.rs builds the guests of the program in, so that each is built once.
    let target_dir = out.ancestors().nth(4).expect("cargo made OUT_DIR").join("guests");
    let packages: Vec<&str> = GUESTS.iter().flat_map(|guest| ["--package", guest]).collect();
    build(&here.join("../guests"), &target_dir, &packages);
    build(&here.join("programs"), &target_dir, &["--examples"]);
    build(&here.join("programs/frozen-0.1.0"), &target_dir, &["--locked"]);
    let built = target_dir.join(TARGET).join("release");

    let mut code = String::new();
    for program in &programs {
        constant(&mut code, program, &built.join("examples").join(file(program)));
    }
    constant(&mut code, "frozen", &built.join(file("frozen")));
    for guest in GUESTS {
        // The names of files and constants have no hyphens.
        let name = guest.replace('-', "_");
        constant(&mut code, &name, &built.join(file(&name)));
    }
    code.push_str("/// Calls the macro with the name of each program of `programs/examples`.\n");
    code.push_str("#[macro_export]\nmacro_rules! foreach_program {\n    ($each:ident) => {\n");
    for program in &programs {
        writeln!(code, "        $each!({program});").expect("a string takes what is written");
    }
    code.push_str("    };\n}\n");
    fs::write(out.join("programs.rs"), code).expect("OUT_DIR can be written");
}

fn file(name: &str) -> String {
    format!("{name}.wasm")
}

/// One file is one program.
fn programs(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .expect("programs/examples is a directory")
        .filter_map(|file| file.expect("its files can be listed").path().file_stem()?.to_str().map(str::to_owned))
        .collect();
    names.sort();
    names
}

fn constant(code: &mut String, name: &str, wasm: &Path) {
    assert!(wasm.is_file(), "`{}` was not built: is there an [[example]] named `{name}`?", wasm.display());
    writeln!(code, "/// Where `{name}.wasm` is.\npub const {}: &str = {wasm:?};", name.to_uppercase())
        .expect("a string takes what is written");
}

/// `rust-toolchain.toml` names the target, but rustup installs nothing by itself where RUSTUP_AUTO_INSTALL=0.
fn want_target() {
    let sysroot = Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()))
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .expect("rustc runs");
    let libraries = String::from_utf8_lossy(&sysroot.stdout);
    if Path::new(libraries.trim()).is_dir() {
        return;
    }
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    assert!(added.is_ok_and(|status| status.success()), "the tests need `rustup target add {TARGET}`");
}

/// A cargo inside cargo: of the outer one's settings, those that are about this machine's target must not reach it.
fn build(workspace: &Path, target_dir: &Path, what: &[&str]) {
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets CARGO"));
    cargo
        .current_dir(workspace)
        .args(["build", "--release", "--target", TARGET, "--target-dir"])
        .arg(target_dir)
        .args(what);
    for (name, _) in env::vars_os() {
        let foreign = name.to_str().is_some_and(|name| {
            let own = ["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_TERM_"];
            name.starts_with("CARGO_") && !own.iter().any(|own| name.starts_with(own))
                || name.starts_with("RUSTC")
                || name.starts_with("RUSTFLAGS")
                || name.starts_with("DEP_")
        });
        if foreign {
            cargo.env_remove(&name);
        }
    }
    let status = cargo.status().expect("cargo runs");
    assert!(status.success(), "the guests of `{}` do not build", workspace.display());
}
