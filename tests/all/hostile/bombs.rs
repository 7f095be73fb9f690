//! Components that do their harm when they are loaded: in the functions that run once, and by their mere shape.

use super::{LITTLE_FUEL, NO_FUEL, be, hostile};
use crate::home;
use bub_tests::component::{CoreModule, with_core_module};
use bub_tests::{Finished, Home, programs};
use std::fs;

#[test]
fn a_plugin_whose_manifest_never_ends_is_rejected() {
    for mode in ["describe", "list-tools"] {
        let home = hostile(mode, LITTLE_FUEL);
        let finished = home.run(["hi"]).finish().says("[cli:local]\nhi\n");
        finished.mentions(&format!("plugin `hostile` did not load: hook `load` of plugin `hostile`: {NO_FUEL}"));
        be(&home, "");
        home.run(["hi"]).finish().says("[cli:local]\nalive\n");
    }
}

/// `prompt_upper` with that core module, so many times.
fn with(module: CoreModule, instances: usize) -> Home {
    let home = home();
    let bytes = fs::read(programs::PROMPT_UPPER).expect("it was built");
    let bomb = with_core_module(&bytes, &module, instances);
    fs::write(home.bub_home().join("plugins/bomb.wasm"), bomb).expect("the home can be written");
    home.configure(&format!("[plugins.bomb.limits]\n{LITTLE_FUEL}"));
    home
}

/// It does not load, and the turn runs without it.
#[track_caller]
fn is_refused(home: &Home, before: &str, reason: &str) -> Finished {
    let finished = home.run(["ECHO:all the same"]).under(before).finish().says("[cli:local]\nall the same\n");
    finished.mentions("plugin `bomb` did not load: ").mentions(reason)
}

const AS_IT_IS: &str = ":";

/// Not enough address space for a pool: everything is made when it is wanted.
const LITTLE_SPACE: &str = "ulimit -v 4000000";

#[test]
fn a_plugin_that_takes_nothing_more_loads_as_before() {
    let home = with(CoreModule { pages: 1, ..CoreModule::default() }, 2);
    let finished = home.run(["ECHO:all the same"]).finish();
    // It writes prompts in capitals.
    assert!(finished.code == Some(0) && !finished.stderr.contains("did not load"), "{finished}");
}

#[test]
fn a_start_function_that_never_comes_back_costs_the_plugins_own_fuel() {
    let home = with(CoreModule { spins: true, ..CoreModule::default() }, 1);
    is_refused(&home, AS_IT_IS, &format!("hook `load` of plugin `bomb`: {NO_FUEL}"));
}

#[test]
fn two_memories_that_are_too_much_together_are_too_much() {
    let home = with(CoreModule { pages: 600, ..CoreModule::default() }, 2);
    is_refused(&home, AS_IT_IS, "hook `load` of plugin `bomb`: out of memory: more than 64 MiB");
}

#[test]
fn sixty_memories_are_too_much_with_and_without_a_pool() {
    let home = with(CoreModule { pages: 1_600, ..CoreModule::default() }, 60);
    is_refused(&home, AS_IT_IS, "");
    is_refused(&home, LITTLE_SPACE, "out of memory: more than 64 MiB");
}

#[test]
fn a_thousand_instances_are_too_many_with_a_pool_and_harmless_without() {
    let home = with(CoreModule { pages: 1, ..CoreModule::default() }, 990);
    is_refused(&home, AS_IT_IS, "");
    let finished = home.run(["ECHO:all the same"]).under(LITTLE_SPACE).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
}

#[test]
fn tables_count_as_memory() {
    let home = with(CoreModule { tables: (2, 9_000_000), ..CoreModule::default() }, 1);
    is_refused(&home, AS_IT_IS, "");
    is_refused(&home, LITTLE_SPACE, "out of memory: more than 64 MiB");
}

#[test]
fn many_tables_that_are_too_much_together_are_too_much() {
    let home = with(CoreModule { tables: (40, 250_000), ..CoreModule::default() }, 1);
    is_refused(&home, AS_IT_IS, "");
    is_refused(&home, LITTLE_SPACE, "out of memory: more than 64 MiB");
}
