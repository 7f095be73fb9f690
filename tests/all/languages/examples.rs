//! The weather plugin in other languages: its own tests, and the behaviour of the one in Rust.

use super::toolchain::Language;
use crate::book::root;
use crate::weather;
use std::fs;
use std::path::Path;

/// Its page shows only what the example has, or its tests.
#[track_caller]
fn page_shows_the_source(language: Language, marks: &[&str], sources: &[&str]) {
    let page = root().join(format!("docs/src/tutorial/plugin-{}.md", language.name()));
    let page = fs::read_to_string(page).expect("it is there");
    let folder = root().join(format!("guests/examples/weather-{}", language.name()));
    let read = |name: &&str| fs::read_to_string(folder.join(name)).expect("it is there");
    let source = sources.iter().map(read).collect::<Vec<_>>().join("\n\n");
    let marks = marks.iter().map(|mark| format!("```{mark}\n"));
    let blocks = marks.flat_map(|mark| page.split(&mark).skip(1).collect::<Vec<_>>());
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    // The selector at the end of a page is another source.
    let blocks: Vec<&str> = blocks.filter(|block| !block.contains("{{#include")).collect();
    assert!(blocks.len() > 3, "{blocks:?}");
    for part in blocks.iter().flat_map(|block| block.split("\n\n")) {
        assert!(source.contains(part.trim_end()), "the page shows what the example does not have:\n{part}");
    }
}

/// A copy of the example in a folder where it can be built.
fn copy(language: Language, home: &bub_tests::Home) -> std::path::PathBuf {
    let (from, to) = (root().join(format!("guests/examples/weather-{}", language.name())), home.workspace().join("it"));
    fs::create_dir_all(&to).expect("the workspace can be written");
    for entry in fs::read_dir(from).expect("it is there").map(|entry| entry.expect("an entry")) {
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("the workspace can be written");
        }
    }
    to
}

/// Runs the tests of the example, builds it and uses it.
#[track_caller]
fn works(language: Language, sdk: &str, test: &[&str], build: &[&str]) {
    if !language.is_installed() {
        return;
    }
    let home = crate::home();
    let sdk = root().join("guests").join(sdk);
    let folder = copy(language, &home);
    language.install(&folder, &sdk);
    let path: &[(&str, &Path)] = &[("PYTHONPATH", &sdk)];
    language.run(&folder, test, path);
    language.run(&folder, build, path);
    let component = folder.join("weather.wasm").to_string_lossy().into_owned();
    weather::asks_with_the_key(&component);
    weather::refuses_and_reports_failures(&component);
}

#[test]
fn the_weather_plugin_in_python_behaves_like_that_in_rust() {
    let build = ["python3", "-m", "bub_guest", "build", "weather.py"];
    works(Language::Python, "sdk-python", &["python3", "-m", "unittest"], &build);
}

#[test]
fn the_weather_plugin_in_javascript_behaves_like_that_in_rust() {
    let build = ["node_modules/.bin/bub-guest", "build", "weather.js"];
    works(Language::JavaScript, "sdk-js", &["node", "--test"], &build);
}

/// The same for a language whose SDK comes into the project from the program, in these folders.
#[track_caller]
fn works_in_a_project(language: Language, sdk: &[&str], test: &[&str], build: &[&str]) {
    if !language.is_installed() {
        return;
    }
    let home = crate::home();
    let made = home.bub(["plugin", "new", "it", "--lang", language.name(), "--kind", "tool"]).finish();
    assert_eq!(made.code, Some(0), "{made}");
    let (made, folder) = (home.workspace().join("it"), home.workspace().join("weather"));
    copy_all(&root().join(format!("guests/examples/weather-{}", language.name())), &folder);
    for part in sdk {
        copy_all(&made.join(part), &folder.join(part));
    }
    language.install(&folder, &folder.join("sdk"));
    language.run(&folder, test, &[]);
    language.run(&folder, build, &[]);
    let component = folder.join("weather.wasm").to_string_lossy().into_owned();
    weather::asks_with_the_key(&component);
    weather::refuses_and_reports_failures(&component);
}

#[test]
fn the_weather_plugin_in_go_behaves_like_that_in_rust() {
    works_in_a_project(Language::Go, &["sdk"], &["go", "test", "."], &["go", "run", "./sdk/build"]);
}

#[test]
fn the_weather_plugin_in_c_behaves_like_that_in_rust() {
    works_in_a_project(Language::C, &["sdk", "wit/deps"], &["make", "test"], &["make"]);
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the workspace can be written");
    for entry in fs::read_dir(from).expect("it is there").map(|entry| entry.expect("an entry")) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("the workspace can be written");
        }
    }
}

#[test]
fn the_pages_of_the_book_show_the_sources_of_the_examples() {
    page_shows_the_source(Language::Python, &["python"], &["weather.py", "test_weather.py"]);
    page_shows_the_source(Language::JavaScript, &["javascript"], &["weather.js", "weather.test.js"]);
    let exports = ["tools_tools/tools.go", "hooks_system_prompt/system_prompt.go"];
    let exports = exports.map(|file| format!("exports/export_bub_{file}"));
    let sources = ["weather.go", "weather_test.go", "plugin.wit", "manifest.json", &exports[0], &exports[1]];
    page_shows_the_source(Language::Go, &["go", "wit", "json"], &sources);
    let sources =
        ["src/weather.c", "src/weather.h", "src/exports.c", "tests/test.c", "wit/plugin.wit", "manifest.json"];
    page_shows_the_source(Language::C, &["c", "wit", "json"], &sources);
}

#[test]
fn the_sdks_pass_their_own_tests() {
    if Language::Python.is_installed() {
        let sdk = root().join("guests/sdk-python");
        Language::Python.run(&sdk, &["python3", "-m", "unittest", "discover", "tests"], &[("PYTHONPATH", &sdk)]);
    }
    if Language::JavaScript.is_installed() {
        Language::JavaScript.run(&root().join("guests/sdk-js"), &["node", "--test"], &[]);
    }
}
