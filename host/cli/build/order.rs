//! The order of functions in the release program.

use std::env;
use std::path::Path;

/// Lets the linker put the functions that each start runs next to each other. Other linkers than LLD may refuse that.
pub fn arrange(root: &Path, has_lld: bool) {
    for name in ["PROFILE", "BUB_GLIBC"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    // The recipe of packages links by zig, whose linker takes this one of the two.
    if is_release && (has_lld || env::var_os("BUB_GLIBC").is_some()) {
        let order = root.join("host/cli/build/startup.ld");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", order.display());
    }
}
