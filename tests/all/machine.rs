//! Machines that have little, and guests that want much.

use crate::home;
use bub_tests::{Home, programs};

/// A guest that may have 512 MiB, more than a slot of the pool holds, and takes `amount` of it.
fn big_guest(amount: u64) -> Home {
    let home = home();
    home.configure("[plugins.glutton.limits]\nmemory_mib = 512");
    home.configure(&format!("[plugins.glutton.config]\ndeed = \"allocate\"\namount = {amount}"));
    home.plugin("glutton", programs::GLUTTON);
    home
}

#[test]
fn a_turn_runs_in_little_address_space() {
    for kib in ["4000000", "8000000"] {
        let home = home();
        let run = home.run(["ECHO:small"]).under(&format!("ulimit -v {kib}"));
        run.finish().says("[cli:local]\nsmall\n");
    }
}

#[test]
fn a_limit_holds_in_little_address_space() {
    let home = home();
    home.plugin("fault_memory", programs::FAULT_MEMORY);
    let finished = home.run(["hi"]).under("ulimit -v 4000000").finish();
    finished.fails("hook `build-prompt` of plugin `fault_memory`: out of memory: more than 64 MiB");
}

#[test]
fn one_guest_may_have_more_memory_than_a_slot_of_the_pool() {
    big_guest(300).run(["hi"]).finish().says("[cli:local]\nfull\n");
}

#[test]
fn beyond_the_pool_the_limit_holds_as_well() {
    let home = big_guest(700);
    let finished = home.run(["hi"]).finish();
    finished.fails("hook `run-model-stream` of plugin `glutton`: out of memory: more than 512 MiB");
    home.remove_plugin("glutton");
    home.run(["ECHO:next"]).finish().says("[cli:local]\nnext\n");
}
