//! The guests' own tests, which run on this machine and not in a sandbox.

use crate::plugin_new;
use std::env;
use std::path::Path;
use std::process::Command;

#[test]
fn the_guests_own_tests_pass() {
    let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guests");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(guests).args(["test", "--locked", "--quiet", "--target-dir"]);
    cargo.arg(plugin_new::target());
    // Of the outer cargo's settings, those that are about its own build must not reach the inner one.
    for (name, _) in env::vars_os() {
        let foreign = name.to_str().is_some_and(|name| {
            let own = ["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_TERM_"];
            name.starts_with("CARGO_") && !own.iter().any(|own| name.starts_with(own))
                || name.starts_with("RUSTC")
                || name.starts_with("RUSTFLAGS")
                || name.starts_with("RUSTDOC")
        });
        if foreign {
            cargo.env_remove(&name);
        }
    }
    // Their files stay in the target folder, and nothing reads their debug information. Projects of tests have the same settings.
    cargo.envs([("CARGO_PROFILE_DEV_DEBUG", "false"), ("CARGO_INCREMENTAL", "0")]);
    for profile in ["DEV", "DEV_BUILD_OVERRIDE"] {
        cargo.env(format!("CARGO_PROFILE_{profile}_STRIP"), "true");
        cargo.env(format!("CARGO_PROFILE_{profile}_CODEGEN_UNITS"), "1");
    }
    let _compiling = plugin_new::compiling();
    let tested = cargo.output().expect("cargo runs");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(tested.status.success(), "{}\n{}", said(&tested.stdout), said(&tested.stderr));
    assert!(said(&tested.stdout).contains("test result: ok."), "nothing was tested\n{}", said(&tested.stdout));
}
