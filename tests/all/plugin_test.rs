//! `plugin test`: its reports on projects with one error each. The projects are built by `cp`.

use crate::{home, plugin_wrong};
use bub_tests::component::with_section;
use bub_tests::{Finished, Home, programs};
use std::fs;
use std::path::Path;

/// A project whose build is to copy that component.
pub(crate) fn project(home: &Home, name: &str, component: &str) {
    with_build(home, name, &format!("cp {component} plugin.wasm"));
}

fn with_build(home: &Home, name: &str, build: &str) {
    let text = format!(
        "name = {name:?}\nlanguage = \"other\"\nbuild = {build:?}\ntest = \"true\"\nartifact = \"plugin.wasm\"\n"
    );
    fs::write(home.workspace().join("bub-plugin.toml"), text).expect("the workspace can be written");
}

pub(crate) fn test(home: &Home) -> Finished {
    home.bub(["plugin", "test"]).finish()
}

/// It fails, says this on one of its lines, and names the steps that fail.
#[track_caller]
fn fails(finished: &Finished, words: &[&str], steps: &str) {
    assert_eq!(finished.code, Some(1), "{finished}");
    for word in words {
        assert!(finished.stdout.contains(word), "expected `{word}`\n{finished}");
    }
    assert!(finished.stdout.trim_end().ends_with(&format!("fails: {steps}")), "{finished}");
}

#[test]
fn a_directory_without_a_project_is_refused_with_the_command_that_makes_one() {
    test(&home()).refuses(&["there is no `./bub-plugin.toml`", "bub-wasm plugin new NAME"]);
}

#[test]
fn a_wrong_project_file_is_refused_with_the_error() {
    let whole = "name = \"a\"\nlanguage = \"c\"\nbuild = \"true\"\nartifact = \"a.wasm\"\n";
    for (text, what) in [
        ("", "missing field `name`"),
        ("name = \"a\"\nlanguage = [", "line 2"),
        (&whole.replace("\"a\"", "\"A\""), "`name` is `A`"),
        (&whole.replace("\"a\"", "\"a\\u001b[31m\""), "`name` is `a"),
        (&whole.replace("\"true\"", "[]"), "`build` has no command"),
        (&whole.replace("\"true\"", "\" \""), "`build` has an empty command"),
        (&whole.replace("a.wasm", "../a.wasm"), "`artifact` is `../a.wasm`: it must be a path inside of the project"),
        (&whole.replace("a.wasm", "/etc/a.wasm"), "it must be a path inside of the project"),
        (&format!("{whole}bulid = \"x\"\n"), "unknown field `bulid`"),
        (&format!("{whole}#{}\n", "x".repeat(100_000)), "larger than 64 KiB"),
    ] {
        let home = home();
        fs::write(home.workspace().join("bub-plugin.toml"), text).expect("the workspace can be written");
        let refused = test(&home).refuses(&["bub-plugin.toml`", what]);
        assert!(!refused.stderr.contains('\u{1b}'), "{refused}");
    }
}

#[test]
fn a_missing_toolchain_is_named_with_how_to_get_it() {
    let home = home();
    with_build(&home, "a", "componentize-py-of-nobody build");
    let file = home.workspace().join("bub-plugin.toml");
    let text = fs::read_to_string(&file).expect("it was written");
    fs::write(&file, text + "[needs]\ncomponentize-py-of-nobody = \"pip install componentize-py\"\n").expect("a file");
    let words = [
        "`componentize-py-of-nobody` is not in the PATH, and `build` of bub-plugin.toml needs it",
        "to get it: pip install componentize-py",
    ];
    fails(&test(&home), &words, "build");
}

#[test]
fn a_new_project_is_made_without_a_toolchain_and_its_test_names_the_missing_tool() {
    let home = home();
    let made = home.bub(["plugin", "new", "mine", "--lang", "rust", "--kind", "tool"]).env("PATH", "/nowhere").finish();
    let hint = "`cargo` is not in the PATH, and `build` of bub-plugin.toml needs it; to get it: install Rust from";
    assert!(made.code == Some(0) && made.stdout.contains(hint), "{made}");
    fails(&home.bub(["plugin", "test", "mine"]).env("PATH", "/nowhere").finish(), &[hint], "build");
}

#[test]
fn a_build_and_tests_that_fail_are_reported_with_the_end_of_their_output() {
    let home = home();
    with_build(&home, "a", "echo one; printf 'the \\033[31mreason\\n' >&2; exit 3");
    let finished = test(&home);
    fails(&finished, &["exit status: 3", "reason"], "build");
    assert!(!finished.stdout.contains('\u{1b}'), "{finished}");
    project(&home, "a", programs::PROMPT_UPPER);
    let file = home.workspace().join("bub-plugin.toml");
    let text = fs::read_to_string(&file).expect("it was written");
    fs::write(&file, text.replace("test = \"true\"", "test = \"echo broken test; false\"")).expect("a file");
    // The other steps run all the same.
    fails(&test(&home), &["tests  failed", "broken test", "check  ok"], "tests");
}

#[test]
fn a_build_that_does_not_make_the_artifact_is_reported() {
    let home = home();
    with_build(&home, "a", "true");
    fails(&test(&home), &["`artifact` of bub-plugin.toml is `./plugin.wasm`, and the build did not make it"], "check");
}

/// Builds that make something that is no plugin, or a bad one: each is named with its cause and what mends it.
#[test]
fn a_component_that_is_wrong_is_reported_with_the_cause_and_the_fix() {
    let good = fs::read(programs::PROMPT_UPPER).expect("it was built");
    let wrong_manifest = with_section(&good, "bub:manifest", b"{\"wants\": 1}");
    let other_version = fs::read(programs::FAULT_UNKNOWN_VERSION).expect("it was built");
    let other_type = plugin_wrong::commands_that_are_text();
    let module = wat::parse_str("(module)").expect("a module");
    for (bytes, words) in [
        (
            wrong_manifest,
            [
                "its manifest is not understood: invalid type: integer `1`, expected a sequence at line 1 column 11",
                "fix: correct the manifest, then build and try again: bub-wasm plugin test",
            ],
        ),
        (
            other_version,
            ["0.1.0", "fix: build it with the contracts of this program; a project with them: bub-wasm plugin new"],
        ),
        (other_type, ["`list-commands` is `func() -> string`", "a project with them: bub-wasm plugin new"]),
        (module, ["it is a core module, and no component", "wasm-tools component new"]),
    ] {
        let home = home();
        let file = home.workspace().join("made.wasm");
        fs::write(&file, bytes).expect("the workspace can be written");
        project(&home, "a", "made.wasm");
        fails(&test(&home), &["`./plugin.wasm` does not load", words[0], words[1]], "check");
    }
}

#[test]
fn a_panic_and_an_endless_loop_are_reported_with_hook_sample_and_fix() {
    let home = home();
    project(&home, "a", programs::FAULT_PANIC);
    let words = [
        "hook `build-prompt`, a first message: panicked: ",
        "guest says no: 42",
        "fix: return an `error` where it panics",
    ];
    fails(&test(&home), &words, "check");
    let home = self::home();
    project(&home, "a", programs::FAULT_SPIN);
    home.configure("[limits]\nfuel = 5_000_000");
    fails(&test(&home), &["out of fuel after", "fix: do less in one call"], "check");
}

#[test]
fn a_configuration_that_does_not_fit_is_reported_with_its_file() {
    let home = home();
    project(&home, "weather", programs::WEATHER);
    let file = home.workspace().join("bub-plugin.toml");
    let text = fs::read_to_string(&file).expect("it was written");
    fs::write(&file, format!("config = \"example.toml\"\n{text}")).expect("a file");
    let example = home.workspace().join("example.toml");
    for (content, words) in [
        (None, "`./example.toml`"),
        (Some("[plugins.weather"), "`./example.toml`"),
        (Some("[plugins.other.config]\n"), "`./example.toml` has no table `[plugins.weather.config]`"),
        (Some("[plugins.weather.config]\nserver = 1\n"), "[plugins.weather.config]"),
    ] {
        if let Some(content) = content {
            fs::write(&example, content).expect("the workspace can be written");
        }
        fails(&test(&home), &[words], "check");
    }
    fs::write(&example, "[plugins.weather.config]\nserver = \"https://a.org\"\n").expect("a file");
    assert_eq!(test(&home).code, Some(0));
}

#[test]
fn a_project_elsewhere_is_tested_by_its_directory() {
    let home = home();
    project(&home, "a", programs::PROMPT_UPPER);
    let inner = home.workspace().join("inner");
    fs::create_dir(&inner).expect("a directory");
    fs::rename(home.workspace().join("bub-plugin.toml"), inner.join("bub-plugin.toml")).expect("it is there");
    let tested = home.bub(["plugin", "test", "inner"]).finish();
    assert!(tested.code == Some(0) && Path::new(&inner).join("plugin.wasm").is_file(), "{tested}");
}
