//! Hands the target of this build to the crate: releases have a file for each.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=BUB_RELEASE_INDEX");
    println!("cargo::rerun-if-env-changed=BUB_RELEASE_PUBLIC_KEY");
    println!("cargo::rustc-env=BUB_TARGET={}", std::env::var("TARGET").unwrap_or_default());
}
