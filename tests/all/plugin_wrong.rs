//! Files that are no plugins, each refused with what helps.

use crate::plugin_add::{file, new, plugin};
use bub_tests::component::with_section;
use bub_tests::programs;
use std::fs;

/// `plugin add` of these bytes refuses them in one line with these words.
#[track_caller]
fn is_refused(bytes: &[u8], words: &[&str]) {
    let home = new();
    let path = file(&home, "wrong.wasm", bytes);
    plugin(&home, ["add", path.to_str().expect("UTF-8")]).refuses(&["wrong.wasm` is not added"]).refuses(words);
    assert!(!home.bub_home().join("plugins/wrong.wasm").exists());
}

#[track_caller]
fn component(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A component that exports `commands` with these two functions, of a module that starts with that function.
fn commands(list: &str, run: &str, start: &str) -> Vec<u8> {
    component(&format!(
        r#"(component
            (core module $m
                (func (export "f") (result i32) i32.const 0)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 0)
                {start}
                (memory (export "memory") 1))
            (core instance $i (instantiate $m))
            {list}
            {run}
            (instance $e (export "list-commands" (func $list)) (export "run-command" (func $run)))
            (export "bub:hooks/commands@0.1.0" (instance $e)))"#
    ))
}

const TEXT: &str = r#"(func $list (result string) (canon lift (core func $i "f") (memory (core memory $i "memory"))))"#;
const RUN: &str = r#"(func $run (result string) (canon lift (core func $i "f") (memory (core memory $i "memory"))))"#;

#[test]
fn a_core_module_is_rejected_with_how_to_make_a_component() {
    is_refused(
        &component("(module)"),
        &["it is a core module, and no component", "`wasm32-wasip2`", "`wasm-tools component new`"],
    );
}

#[test]
fn a_component_with_the_async_abi_is_rejected_with_how_to_build_it_without() {
    let bytes = component("(component (core func $cancel (canon task.cancel)))");
    is_refused(&bytes, &["it uses the async ABI of the Component Model", "`--sync`"]);
}

#[test]
fn an_export_of_another_type_names_the_function_and_both_types() {
    is_refused(
        &commands(TEXT, RUN, ""),
        &[
            "its export `bub:hooks/commands@0.1.0` has another type: `list-commands` is `func() -> string`",
            "and the contract says `func() -> list<record { name: string, about: string }>`",
            "; build it with the contracts of this program; a project with them: bub-wasm plugin new",
        ],
    );
}

/// The same, for other tests.
pub(crate) fn commands_that_are_text() -> Vec<u8> {
    commands(TEXT, RUN, "")
}

#[test]
fn an_export_of_an_unknown_version_names_the_offered_ones_and_how_to_get_their_contracts() {
    is_refused(
        &fs::read(programs::FAULT_UNKNOWN_VERSION).expect("it was built"),
        &[
            "it exports `bub:hooks/build-prompt@0.9.0`, which this host does not know; it offers 0.1.0",
            "; build it with the contracts of this program; a project with them: bub-wasm plugin new",
        ],
    );
}

#[test]
fn a_manifest_that_does_not_parse_names_the_place_and_the_command_that_tries_again() {
    let good = fs::read(programs::PROMPT_UPPER).expect("it was built");
    for (manifest, what) in [
        ("{\"wants\": 1}", "invalid type: integer `1`, expected a sequence at line 1 column 11"),
        ("{\"wants\": [", "EOF while parsing"),
        ("{\"wnats\": []}", "unknown field `wnats`"),
        ("{\"wants\": [{\"grant\": \"hok:selector\", \"why\": \"\"}]}", "wants `hok:selector`, which is not a grant"),
    ] {
        is_refused(
            &with_section(&good, "bub:manifest", manifest.as_bytes()),
            &[what, "; correct the manifest, then build and try again: bub-wasm plugin test"],
        );
    }
}

#[test]
fn an_export_that_lacks_a_function_names_it() {
    let bytes = component(
        r#"(component
            (core module $m (func (export "f") (result i32) i32.const 0) (memory (export "memory") 1))
            (core instance $i (instantiate $m))
            (func $list (result string) (canon lift (core func $i "f") (memory (core memory $i "memory"))))
            (instance $e (export "list-commands" (func $list)))
            (export "bub:hooks/commands@0.1.0" (instance $e)))"#,
    );
    is_refused(&bytes, &["`bub:hooks/commands@0.1.0`", "`run-command`"]);
}

#[test]
fn each_function_of_each_contract_has_the_type_that_the_message_would_say() {
    // All plugins of the tests export what the contracts say: none may be told otherwise.
    for program in [programs::SCRIPTED, programs::HOSTILE, programs::WEBHOOK, programs::KEEPER, programs::COMMANDER] {
        let home = new();
        let bytes = with_section(&fs::read(program).expect("it was built"), "other", b"");
        let path = file(&home, "right.wasm", &bytes);
        let added = plugin(&home, ["add", path.to_str().expect("UTF-8")]);
        assert_eq!(added.code, Some(0), "{added}");
    }
}

/// Names as compilers write them: the report shows the author's names.
#[test]
fn a_guest_that_runs_out_of_fuel_names_the_functions_that_ran() {
    let start = r#"
        (func $_ZN5notes5count17h0123456789abcdefE (loop $again (br $again)))
        (func $_ZN5notes4main17h0123456789abcdefE (call $_ZN5notes5count17h0123456789abcdefE))
        (start $_ZN5notes4main17h0123456789abcdefE)"#;
    let home = new();
    home.configure("[limits]\nfuel = 5_000_000");
    let path = file(&home, "endless.wasm", &commands(TEXT, RUN, start));
    let words = "out of fuel after 5000000 units, in `notes::count`, called from `notes::main`";
    plugin(&home, ["add", path.to_str().expect("UTF-8")]).refuses(&[words]);
}

#[test]
fn a_guest_without_names_that_runs_out_of_fuel_is_reported_without_functions() {
    let home = new();
    home.configure("[limits]\nfuel = 5_000_000");
    let start = "(func (loop br 0)) (start 2)";
    let path = file(&home, "endless.wasm", &commands(TEXT, RUN, start));
    let refused = plugin(&home, ["add", path.to_str().expect("UTF-8")]).refuses(&["out of fuel after 5000000 units"]);
    assert!(!refused.stderr.contains("units, in"), "{refused}");
}
