//! The directories that a grant opens, and those that none does.

use crate::home;
use bub_tests::{Finished, Home, programs};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// A home whose `trier` was given these grants and tries them all.
fn trying(home: &Home, grants: &[String]) -> Finished {
    let all: Vec<String> = grants.iter().cloned().chain(["hook:run-model".to_owned()]).collect();
    home.configure(&format!("[plugins.trier]\nfollow = true\ngrants = {all:?}"));
    home.configure(&format!("[plugins.trier.config]\ntries = {grants:?}"));
    home.plugin("trier", programs::TRIER);
    home.run(["hi"]).watched().finish().says("[cli:local]\ntried\n")
}

#[track_caller]
fn outcomes(finished: &Finished) -> Vec<Value> {
    finished.saw_hook("run-model").into_iter().map(|seen| seen["try"].clone()).collect()
}

/// A directory beside the home, with something to read in it.
fn beside(home: &Home, name: &str) -> PathBuf {
    let dir = home.bub_home().with_file_name(name);
    fs::create_dir_all(&dir).expect("the test's directory can be written");
    fs::write(dir.join("planted"), "what stands there").expect("it can be written");
    dir
}

#[test]
fn no_grant_opens_the_home_its_parents_or_its_contents() {
    let home = home().bare().strict();
    let (dir, above) = (home.bub_home(), home.bub_home().with_file_name(""));
    fs::write(dir.join("planted"), "a key").expect("it can be written");
    fs::write(above.join("planted"), "a key").expect("it can be written");
    fs::write(dir.join("plugins/planted"), "a key").expect("it can be written");
    let link = above.join("link");
    symlink(&dir, &link).expect("a link");
    let paths = [dir.clone(), above, dir.join("plugins"), link, dir.join("../home"), PathBuf::from("/")];
    let grants: Vec<String> =
        paths.iter().flat_map(|path| ["ro", "rw"].map(|mode| format!("fs:{}:{mode}", path.display()))).collect();
    let finished = trying(&home, &grants);
    let outcomes = outcomes(&finished);
    assert_eq!(outcomes.len(), grants.len(), "{finished}");
    for outcome in outcomes {
        assert!(outcome["ok"].is_null(), "{outcome}\n{finished}");
    }
    assert!(finished.stderr.contains("is where bub-wasm keeps its own files, or holds it"), "{finished}");
    assert!(!dir.join("written").exists() && !dir.join("plugins/written").exists(), "{finished}");
}

#[test]
fn a_link_that_leads_out_of_a_directory_leads_nowhere() {
    let home = home().bare().strict();
    let (open, closed) = (beside(&home, "open"), beside(&home, "closed"));
    fs::write(closed.join("planted"), "a key").expect("it can be written");
    fs::remove_file(open.join("planted")).expect("it is there");
    symlink("../closed/planted", open.join("planted")).expect("a link");
    symlink(closed.join("written"), open.join("written")).expect("a link");
    let finished = trying(&home, &["ro", "rw"].map(|mode| format!("fs:{}:{mode}", open.display())));
    for outcome in outcomes(&finished) {
        assert!(outcome["ok"].is_null(), "{outcome}\n{finished}");
    }
    assert!(!closed.join("written").exists(), "{finished}");
}

#[test]
fn a_read_only_directory_is_not_written() {
    let home = home().bare().strict();
    let open = beside(&home, "open");
    let finished = trying(&home, &[format!("fs:{}:ro", open.display())]);
    assert_eq!(outcomes(&finished)[0]["ok"], "what stands there", "{finished}");
    assert!(!open.join("must-not-be").exists(), "{finished}");
}

#[test]
fn a_directory_that_is_not_there_is_named_and_the_turn_runs() {
    let home = home().bare().strict();
    let finished = trying(&home, &["fs:/nowhere/at/all:ro".to_owned()]);
    assert!(outcomes(&finished)[0]["ok"].is_null(), "{finished}");
    finished.mentions("plugin `trier` does not get `fs:/nowhere/at/all:ro`");
}
