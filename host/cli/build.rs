//! Packs what `plugin new` makes projects of: the templates, the contracts and the SDKs, as one compressed archive. Asks the
//! linker for a compact table of relocations, to keep identical functions once, and to order those of a start.

#[path = "build/kit.rs"]
mod kit;
#[path = "../runtime/build/linker.rs"]
mod linker;
#[path = "build/lock.rs"]
mod lock;
#[path = "build/order.rs"]
mod order;
#[path = "../runtime/build/relocations.rs"]
mod relocations;
#[path = "build/standalone.rs"]
mod standalone;

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let variable = |name: &str| PathBuf::from(env::var(name).unwrap_or_else(|_| panic!("cargo sets `{name}`")));
    let root = variable("CARGO_MANIFEST_DIR").join("../..");
    let out = variable("OUT_DIR");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    let kit = kit::Kit::read(&root);
    fs::write(out.join("kit.tar.gz"), kit.archive()).expect("OUT_DIR can be written");
    fs::write(out.join("kit.rs"), kit.table()).expect("OUT_DIR can be written");
    let kinds = ["bins", "tests"];
    relocations::pack(&kinds);
    order::arrange(&root, linker::fold(&kinds));
}
