//! Valid components that this host does not accept: unknown imports, imports of other types, and unsupported proposals.

use crate::home;
use crate::plugins::lists_as_failed;
use bub_tests::component::{idle_functions, with_idle_module, with_started_module};
use bub_tests::programs;
use std::fmt::Write;
use std::fs;

/// These bytes do not load, for that reason; the turn runs without them.
#[track_caller]
fn is_refused(bytes: &[u8], reason: &str) {
    let home = home();
    fs::write(home.bub_home().join("plugins/odd.wasm"), bytes).expect("the home can be written");
    home.configure("[plugins.odd.limits]\ncompile_seconds = 5");
    let finished = home.run(["ECHO:all the same"]).finish().says("[cli:local]\nall the same\n");
    assert!(finished.peak < 400 << 20, "it took {} MiB", finished.peak >> 20);
    finished.mentions("plugin `odd` did not load: ").mentions(reason);
    lists_as_failed(&home, "odd", reason);
}

#[track_caller]
fn component(text: &str) -> Vec<u8> {
    wat::parse_str(format!("(component {text})")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn an_unknown_import_is_named() {
    for name in ["wasi:nowhere/thing@0.2.0", "env:memory/all@1.0.0"] {
        is_refused(&component(&format!("(import \"{name}\" (instance (export \"do\" (func))))")), name);
    }
    let next = "(import \"bub:turn/turn@0.9.0\" (instance (export \"do\" (func))))";
    is_refused(&component(next), "it imports `bub:turn/turn@0.9.0`, which this host does not know; it offers 0.1.0");
}

#[test]
fn an_import_of_the_right_name_and_another_type_is_named() {
    let log = "(import \"bub:plugin/log@0.1.0\" (instance (export \"log\" (func (param \"level\" u32)))))";
    is_refused(&component(log), "bub:plugin/log@0.1.0");
    is_refused(&component("(import \"bub:plugin/log@0.1.0\" (func))"), "bub:plugin/log@0.1.0");
}

#[test]
fn ten_thousand_imports_are_refused_by_the_first_of_them() {
    let all = (0..10_000).fold(String::new(), |mut all, number| {
        let _ = write!(all, "(import \"some:where/i{number}@1.0.0\" (instance (export \"do\" (func))))");
        all
    });
    is_refused(&component(&all), "");
}

#[test]
fn an_export_of_the_right_name_and_another_type_is_refused() {
    let text = r#"
        (core module $m (func (export "f")))
        (core instance $i (instantiate $m))
        (func $f (canon lift (core func $i "f")))
        (instance $e (export "build-prompt" (func $f)))
        (export "bub:hooks/build-prompt@0.1.0" (instance $e))
    "#;
    is_refused(&component(text), "broke the contract: its export `bub:hooks/build-prompt@0.1.0` has another type: ");
    let none = text.replace("(export \"build-prompt\" (func $f))", "");
    is_refused(&component(&none), "build-prompt");
}

#[test]
fn a_component_that_is_no_plugin_is_refused() {
    is_refused(&component(""), "it exports none of this host's contracts");
    let nothing = "(instance $e) (export \"bub:hooks/make-tea@0.1.0\" (instance $e))";
    is_refused(&component(nothing), "it exports `bub:hooks/make-tea@0.1.0`, which is no contract of this host");
}

#[test]
fn types_inside_types_have_an_end() {
    let mut all = "(type $t0 (list u8))".to_owned();
    for number in 1..5_000 {
        let _ = write!(all, "(type $t{number} (list $t{}))", number - 1);
    }
    all.push_str("(import \"f\" (func (param \"all\" $t4999)))");
    is_refused(&component(&all), "");
    let nested = format!("{}{}", "(component ".repeat(2_000), ")".repeat(2_000));
    // The parser of the text format has a limit too, and reports it: then there is no such file.
    if let Ok(bytes) = wat::parse_str(format!("(component {nested})")) {
        is_refused(&bytes, "");
    }
}

/// Each of these is a step of WebAssembly that this host does not take.
const NOT_ACCEPTED: [&str; 7] = [
    "(module (table 10 externref))",
    "(module (memory i64 1))",
    "(module (memory 1 1 shared))",
    "(module (memory 1 (pagesize 1)))",
    "(module (tag (param i32)))",
    "(module (type (struct (field i32))))",
    "(module (func (param i64 i64 i64 i64) (result i64 i64) local.get 0 local.get 1 local.get 2 local.get 3 i64.add128))",
];

#[test]
fn a_proposal_that_is_not_accepted_is_refused_even_if_the_engine_supports_it() {
    let whole = fs::read(programs::PROMPT_UPPER).expect("it was built");
    for text in NOT_ACCEPTED {
        let module = wat::parse_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        is_refused(&with_idle_module(&whole, &module), "it does not compile: ");
    }
}

#[test]
fn tables_of_functions_that_grow_twice_are_too_much() {
    let text = r#"
        (module
            (table 0 funcref)
            (func $grow (drop (table.grow 0 (ref.null func) (i32.const 5000000))))
            (func $both call $grow call $grow)
            (start $both))
    "#;
    let whole = fs::read(programs::PROMPT_UPPER).expect("it was built");
    let module = wat::parse_str(text).expect("it is WebAssembly");
    is_refused(&with_started_module(&whole, &module), "out of memory: more than 64 MiB");
}

#[test]
fn a_million_functions_are_too_many_to_compile() {
    let whole = fs::read(programs::PROMPT_UPPER).expect("it was built");
    let bomb = with_idle_module(&whole, &idle_functions(1_000_000));
    assert!(bomb.len() < 5_000_000, "a small file is the point, and this has {} bytes", bomb.len());
    is_refused(&bomb, "it does not compile: it takes ");
}
