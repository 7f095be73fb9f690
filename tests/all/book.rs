//! The pages of the book and the README are run: a page must show the output of the program. `tests/README.md` says how
//! a page is written.

mod links;
mod machine;
mod output;
mod page;
mod shell;

use machine::Machine;
use page::{Page, Step};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The top directory of the project.
pub(crate) fn root() -> PathBuf {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.find(|dir| dir.join("Cargo.lock").is_file()).expect("the package lies in the project").to_owned()
}

/// One test for each page, so that a failure names it.
macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        /// The pages with a test of their own.
        const PAGES: &[&str] = &[$($path),*];

        mod pages {
            $(#[test]
            fn $name() {
                super::run(&super::read($path));
            })*
        }
    };
}

pages! {
    readme: "README.md",
    guide_acp: "docs/src/guide/acp.md",
    guide_approvals: "docs/src/guide/approvals.md",
    guide_rules: "docs/src/guide/rules.md",
    guide_replay: "docs/src/guide/replay.md",
    guide_undo: "docs/src/guide/undo.md",
    guide_backup: "docs/src/guide/backup.md",
    guide_updating: "docs/src/guide/updating.md",
    guide_forget_person: "docs/src/guide/forget-person.md",
    guide_audit: "docs/src/guide/audit.md",
    guide_blame: "docs/src/guide/blame.md",
    guide_channels: "docs/src/guide/channels.md",
    guide_configuration: "docs/src/guide/configuration.md",
    guide_context: "docs/src/guide/context.md",
    guide_grants: "docs/src/guide/grants.md",
    guide_http: "docs/src/guide/http.md",
    guide_installing: "docs/src/guide/installing.md",
    guide_limits: "docs/src/guide/limits.md",
    guide_mcp: "docs/src/guide/mcp.md",
    guide_mcp_server: "docs/src/guide/mcp-server.md",
    guide_media: "docs/src/guide/media.md",
    guide_memory: "docs/src/guide/memory.md",
    guide_migrating: "docs/src/guide/migrating.md",
    guide_network: "docs/src/guide/network.md",
    guide_operations: "docs/src/guide/operations.md",
    guide_plugins: "docs/src/guide/plugins.md",
    guide_postgresql: "docs/src/guide/postgresql.md",
    guide_quarantine: "docs/src/guide/quarantine.md",
    guide_registries: "docs/src/guide/registries.md",
    guide_retention: "docs/src/guide/retention.md",
    guide_scripts: "docs/src/guide/scripts.md",
    guide_secrets: "docs/src/guide/secrets.md",
    guide_selectors: "docs/src/guide/selectors.md",
    guide_sessions: "docs/src/guide/sessions.md",
    guide_tapes: "docs/src/guide/tapes.md",
    guide_telemetry: "docs/src/guide/telemetry.md",
    guide_tokens: "docs/src/guide/tokens.md",
    guide_tools: "docs/src/guide/tools.md",
    guide_trust: "docs/src/guide/trust.md",
    guide_turns: "docs/src/guide/turns.md",
    guide_usage: "docs/src/guide/usage.md",
    tutorial_chat: "docs/src/tutorial/chat.md",
    tutorial_first_turn: "docs/src/tutorial/first-turn.md",
    tutorial_model: "docs/src/tutorial/model.md",
    tutorial_plugin_c: "docs/src/tutorial/plugin-c.md",
    tutorial_plugin_rust: "docs/src/tutorial/plugin-rust.md",
    tutorial_serve: "docs/src/tutorial/serve.md",
    tutorial_telegram: "docs/src/tutorial/telegram.md",
}

/// Reads a page of the project.
#[track_caller]
fn read(path: &str) -> Page {
    let text = fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    Page::parse(path, &text).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a page in a home and a workspace of its own, and compares what is printed with what it shows.
#[track_caller]
fn run(page: &Page) {
    if let Err(failure) = try_run(page) {
        panic!("{failure}");
    }
}

fn try_run(page: &Page) -> Result<(), String> {
    if page.steps.iter().all(|step| !matches!(step, Step::Run(_))) {
        return Ok(());
    }
    let mut machine = Machine::new(&page.answers);
    for step in &page.steps {
        match step {
            Step::Model => machine.configure_model(),
            Step::File { path, text } => machine.write(path, text),
            Step::Run(command) => {
                machine.run(command).map_err(|what| format!("{}:{}: {what}", page.path, command.line))?;
            }
        }
    }
    machine.finish().map_err(|what| format!("{}: {what}", page.path))
}

/// All Markdown files below a directory, relative to the top.
fn markdown(dir: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut dirs = vec![root().join(dir)];
    while let Some(dir) = dirs.pop() {
        for file in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let (path, name) = (file.path(), file.file_name().to_string_lossy().into_owned());
            let is_foreign = name.starts_with('.') && name != ".github" || name == "target" || name == "node_modules";
            // A link leads to documents that are found where they are.
            if is_foreign || path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                dirs.push(path);
            } else if name.ends_with(".md") {
                let relative = path.strip_prefix(root()).expect("it is below the top");
                found.insert(relative.to_string_lossy().into_owned());
            }
        }
    }
    found
}

#[test]
fn every_page_with_commands_has_a_test_of_its_own() {
    let pages = markdown("docs/src");
    for path in pages {
        let text = fs::read_to_string(root().join(&path)).expect("it can be read");
        let page = Page::parse(&path, &text).unwrap_or_else(|error| panic!("{error}"));
        let runs = page.steps.iter().any(|step| matches!(step, Step::Run(_)));
        let name = path.trim_start_matches("docs/src/").trim_end_matches(".md").to_lowercase().replace(['/', '-'], "_");
        let listed = PAGES.contains(&path.as_str());
        assert!(listed || !runs, "add `{name}: \"{path}\",` to `pages!` in tests/all/book.rs");
        assert!(runs || !listed, "remove `{path}` from `pages!` in tests/all/book.rs: nothing of it is run");
    }
    for path in PAGES {
        assert!(root().join(path).is_file(), "remove `{path}` from `pages!` in tests/all/book.rs: it is not there");
    }
}

#[test]
fn every_page_of_the_book_is_in_its_summary() {
    let pages = markdown("docs/src");
    if pages.is_empty() {
        return;
    }
    let summary = fs::read_to_string(root().join("docs/src/SUMMARY.md")).expect("a book has a summary");
    for path in pages.iter().filter(|path| !path.ends_with("SUMMARY.md")) {
        let path = path.trim_start_matches("docs/src/");
        let is_listed = summary.contains(&format!("({path})")) || summary.contains(&format!("(./{path})"));
        assert!(is_listed, "docs/src/SUMMARY.md does not list `{path}`, so the book would not have the page");
    }
}

/// A page that exists in this test alone.
fn sample(text: &str) -> Result<(), String> {
    try_run(&Page::parse("sample.md", text)?)
}

#[test]
fn a_page_whose_commands_print_the_shown_output_passes() {
    let page = r#"
<!-- file: notes.txt -->
```text
a note
```

```console
$ cat notes.txt
a note
$ NAME=you; cd / && cd "$HOME"/project
$ printf 'one\ntwo\nthree 3\n' | \
  cat -
one
...
three [..]
$ echo "hello, $NAME at $PWD"
hello, you at /home/you/project
```

<!-- model: The answer is 4. -->
```console
$ bub-wasm run "what is 2 + 2?"
The answer is 4.
```
"#;
    sample(page).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn a_command_in_the_background_is_waited_for_and_ends_with_its_page() {
    let page = r#"
```console
$ bub-wasm serve &
serving at http://127.0.0.1:8420
the owner's token is in /home/you/.bub/serve.token
`bub-wasm open` prints a link for a browser
$ kill -0 $!
```
"#;
    sample(page).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn a_page_that_shows_something_else_fails_with_its_line_and_the_difference() {
    let failure = sample("\n```console\n$ printf 'a\\nb\\n'\na\nc\n```\n").unwrap_err();
    assert_eq!(failure, "sample.md:3: `printf 'a\\nb\\n'` prints something else:\n  a\n- c\n+ b\n");
    let failure = sample("```console\n$ false\n```\n").unwrap_err();
    assert_eq!(failure, "sample.md:2: `false` fails with exit code 1 and the page shows nothing of it");
    let failure = sample("<!-- model: unused -->\n```console\n$ true\n```\n").unwrap_err();
    assert_eq!(failure, "sample.md: 1 of 1 scripted answers of the model were not asked for");
    let failure = sample("<!-- model: a -->\n```console\n$ bub-wasm run hi; bub-wasm run again\na\n...\n```\n");
    assert_eq!(failure.unwrap_err(), "sample.md: the model was asked 2 times and the page has 1 answer");
}

#[test]
fn a_page_that_hides_commands_from_the_test_is_refused() {
    for (text, what) in [
        (
            "```sh\ncargo run\n```\n",
            "sample.md:1: a `sh` block would not be run: mark it `console`, or write `<!-- no-run: REASON -->` before it",
        ),
        (
            "text\n\n<!-- no-run: -->\n```bash\ncargo run\n```\n",
            "sample.md:4: a `bash` block would not be run: mark it `console`, or write `<!-- no-run: REASON -->` before it",
        ),
        (
            "```console,no-run\n$ bub-wasm chat\n```\n",
            "sample.md:1: a `console,no-run` block needs an HTML comment before it that says why it is not run",
        ),
        ("```console\nbub-wasm run\n```\n", "sample.md:2: a `console` block begins with a line `$ COMMAND`"),
        ("<!-- model: a -->\nProse.\n", "sample.md:1: no block follows this comment"),
        ("```console\n$ true\n", "sample.md:1: the block does not end"),
    ] {
        assert_eq!(sample(text).unwrap_err(), what);
    }
    sample("<!-- no-run: it installs something -->\n```sh\ncargo install it\n```\n").unwrap();
    sample("<!-- it needs a keyboard -->\n```console,no-run\n$ bub-wasm chat\n```\n").unwrap();
}
