//! `plugin new` in other languages: each project is made, built, tested, checked, added and used in a turn.
//!
//! Making and compiling an interpreter takes half a minute, so in Python two kinds are built, and the tests of the others run
//! natively; CI builds all of them (`cargo test --test all -- languages::projects --ignored`).

use super::toolchain::Language;
use crate::{home, plugin_kinds};
use bub_tests::Home;

const KINDS: [&str; 7] = ["tool", "prompt", "selector", "gate", "channel", "provider", "store"];

/// A new project, with the packages that it needs.
fn new(home: &Home, language: Language, kind: &str) -> String {
    let name = format!("{}-{kind}", language.name());
    let made = home.bub(["plugin", "new", &name, "--lang", language.name(), "--kind", kind]).finish();
    assert_eq!(made.code, Some(0), "{made}");
    let folder = home.workspace().join(&name);
    language.install(&folder, &folder.join("sdk"));
    name
}

/// Everything about a project of that kind.
#[track_caller]
fn works(language: Language, kind: &str) {
    if !language.is_installed() {
        return;
    }
    let home = home().strict();
    let name = new(&home, language, kind);
    // An interpreter takes a compiler that is itself not optimized longer than a stranger's file may take.
    home.configure(&format!("[plugins.{name}.limits]\ncompile_seconds = 600\n"));
    let run = |arguments: &[&str]| {
        let run = home.bub(arguments.iter().copied());
        let finished = language.environment().into_iter().fold(run, |run, (name, value)| run.env(name, value)).finish();
        assert_eq!(finished.code, Some(0), "{finished}");
        finished
    };
    let tested = run(&["plugin", "test", &name]);
    assert!(tested.stdout.ends_with(&format!("plugin `{name}` passes\n")), "{tested}");
    run(&["plugin", "add", &format!("{name}/{name}.wasm"), "--yes"]);
    run(&["plugin", "check", &name]);
    match kind {
        "tool" => plugin_kinds::counts(&home, &format!("{}_count", name.replace('-', "_"))),
        "prompt" => plugin_kinds::adds_rules(&home),
        "selector" => plugin_kinds::selects_the_last_exchange(&home, &name),
        "gate" => plugin_kinds::denies_blocked_commands(&home),
        "channel" => plugin_kinds::takes_a_message_and_posts_the_answer(home, &name),
        "provider" => plugin_kinds::answers_as_a_model(&home, &name),
        _ => plugin_kinds::keeps_the_conversation(&home, &name),
    }
}

macro_rules! projects {
    ($($(#[$ignore:meta])* $name:ident: $language:ident, $kind:literal;)*) => {
        $(#[test]
        $(#[$ignore])*
        fn $name() {
            works(Language::$language, $kind);
        })*
    };
}

projects! {
    a_tool_in_javascript_works: JavaScript, "tool";
    a_prompt_plugin_in_javascript_works: JavaScript, "prompt";
    a_selector_in_javascript_works: JavaScript, "selector";
    a_gate_in_javascript_works: JavaScript, "gate";
    a_channel_in_javascript_works: JavaScript, "channel";
    a_provider_in_javascript_works: JavaScript, "provider";
    a_store_in_javascript_works: JavaScript, "store";
    a_tool_in_go_works: Go, "tool";
    a_prompt_plugin_in_go_works: Go, "prompt";
    a_selector_in_go_works: Go, "selector";
    a_gate_in_go_works: Go, "gate";
    a_channel_in_go_works: Go, "channel";
    a_provider_in_go_works: Go, "provider";
    a_store_in_go_works: Go, "store";
    a_tool_in_c_works: C, "tool";
    a_prompt_plugin_in_c_works: C, "prompt";
    a_selector_in_c_works: C, "selector";
    a_gate_in_c_works: C, "gate";
    a_channel_in_c_works: C, "channel";
    a_provider_in_c_works: C, "provider";
    a_store_in_c_works: C, "store";
    a_tool_in_python_works: Python, "tool";
    a_gate_in_python_works: Python, "gate";
    #[ignore = "long"]
    a_prompt_plugin_in_python_works: Python, "prompt";
    #[ignore = "long"]
    a_selector_in_python_works: Python, "selector";
    #[ignore = "long"]
    a_channel_in_python_works: Python, "channel";
    #[ignore = "long"]
    a_provider_in_python_works: Python, "provider";
    #[ignore = "long"]
    a_store_in_python_works: Python, "store";
}

#[test]
fn the_tests_of_all_projects_pass_without_webassembly() {
    let home = home();
    for kind in KINDS {
        if Language::Python.is_installed() {
            let folder = home.workspace().join(new(&home, Language::Python, kind));
            Language::Python.run(&folder, &["python3", "-m", "unittest"], &[("PYTHONPATH", &folder.join("sdk"))]);
        }
        if Language::JavaScript.is_installed() {
            let folder = home.workspace().join(new(&home, Language::JavaScript, kind));
            Language::JavaScript.run(&folder, &["node", "--test"], &[]);
        }
        if Language::Go.is_installed() {
            let folder = home.workspace().join(new(&home, Language::Go, kind));
            Language::Go.run(&folder, &["go", "test", "."], &[]);
        }
        if Language::C.is_installed() {
            let folder = home.workspace().join(new(&home, Language::C, kind));
            Language::C.run(&folder, &["make", "test"], &[]);
        }
    }
}

#[test]
fn a_project_without_its_packages_says_how_to_get_them() {
    let home = home();
    let made = home.bub(["plugin", "new", "mine", "--lang", "javascript", "--kind", "tool"]).finish();
    assert_eq!(made.code, Some(0), "{made}");
    let tested = home.bub(["plugin", "test", "mine"]).finish();
    assert!(tested.code != Some(0) && tested.to_string().contains("`npm install` in this folder"), "{tested}");
}
