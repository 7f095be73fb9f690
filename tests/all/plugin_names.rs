//! Valid and reserved names of plugins.

use crate::home;
use crate::plugin_add::described;
use bub_tests::{Home, programs};
use serde_json::json;
use std::fs;
use std::path::PathBuf;

/// Names that look like others, differ from them in case or by a dot, or are the host's, with the expected message.
const REFUSED: [(&str, &str); 8] = [
    ("sh\u{435}ll", "`е` (U+0435) is none of them"),
    ("Builtin", "`B` (U+0042) is none of them"),
    ("shell.", "`.` (U+002E) is none of them"),
    ("context-builder.recall", "`.` (U+002E) is none of them"),
    ("two words", ": U+0020 is none of them"),
    ("-notes", "it begins with `-`"),
    ("spill", "the name is reserved: the host calls the sidecar of long tool results by it"),
    ("simple", "the name is reserved"),
];

fn copied(dir: PathBuf, name: &str) -> PathBuf {
    fs::create_dir_all(&dir).expect("a directory");
    let path = dir.join(format!("{name}.wasm"));
    fs::copy(programs::PROMPT_UPPER, &path).expect("a file");
    path
}

fn strict() -> Home {
    home().bare().strict()
}

#[test]
fn a_name_that_reads_like_another_or_is_the_hosts_is_refused_wherever_a_plugin_gets_one() {
    for (name, what) in REFUSED {
        let home = strict();
        copied(home.bub_home().join("plugins"), name);
        let finished = home.run(["hi"]).finish().says("[cli:local]\nhi\n");
        finished.mentions(&format!("plugin `{name}` did not load: ")).mentions(what).mentions("rename the file");

        let home = strict();
        let file = copied(home.workspace().to_owned(), name);
        let file = file.to_str().expect("UTF-8");
        // A name that begins with `-` is an option to the command line.
        let given = format!("--name={name}");
        home.bub(["plugin", "add", file]).finish().refuses(&[
            "is not a name for a plugin",
            what,
            "--name gives it another",
        ]);
        home.bub(["plugin", "add", programs::PROMPT_UPPER, &given]).finish().refuses(&[what]);
        home.bub(["plugin", "check", file]).finish().refuses(&["does not load", what]);
        assert_eq!(fs::read_dir(home.bub_home().join("plugins")).expect("it is there").count(), 0);

        let manifest = described(programs::PROMPT_UPPER, &json!({ "name": name }));
        fs::write(home.bub_home().join("plugins/mine.wasm"), manifest).expect("a file");
        let finished = home.run(["hi"]).finish().says("[cli:local]\nhi\n");
        finished.mentions(&format!("plugin `mine` did not load: it calls itself `{name}`")).mentions(what);

        home.configure(&format!("[plugins.\"{name}\"]\nenabled = false"));
        home.run(["hi"]).finish().refuses(&[&format!("`[plugins.{name}]` of config.toml"), what, "rename the table"]);
    }
}

#[test]
fn a_file_of_a_workspace_with_such_a_name_is_not_even_offered_for_trust() {
    for (name, what) in REFUSED {
        let home = strict();
        copied(home.workspace().join(".bub/plugins"), name);
        let finished = home.run(["hi"]).finish().says("[cli:local]\nhi\n").mentions(what);
        assert!(!finished.stderr.contains("plugin trust"), "{finished}");
    }
}

/// The plugin selects, and forks the sidecar of its own name eight deep where it may open it.
#[test]
fn a_dropped_in_file_that_is_named_as_a_sidecar_does_not_open_it() {
    for name in ["spill", "context-builder.recall"] {
        let home = home();
        fs::copy(programs::CHOOSY, home.bub_home().join(format!("plugins/{name}.wasm"))).expect("a file");
        let finished = home.strict().run(["ECHO:alive"]).watched().finish().says("[cli:local]\nalive\n");
        assert!(finished.saw_hook("selector").is_empty(), "{finished}");
        finished.mentions(&format!("plugin `{name}` did not load"));
    }
}
