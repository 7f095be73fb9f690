//! The files of `docs/deploy`, as far as they concern the program. `docs/deploy/lint` checks their form.

use crate::book::root;
use crate::home;
use std::fs;

fn read(name: &str) -> String {
    fs::read_to_string(root().join("docs/deploy").join(name)).expect("the file is there")
}

/// The lines of a block that is indented further than the line that begins it, without that indentation.
fn block(text: &str, begins: &str) -> String {
    let mut lines = text.lines().skip_while(|line| line.trim() != begins).skip(1).peekable();
    let depth = lines.peek().expect("the block has lines").len() - lines.peek().unwrap().trim_start().len();
    let inside = |line: &&str| line.trim().is_empty() || line.len() - line.trim_start().len() >= depth;
    lines.take_while(inside).map(|line| line.get(depth..).unwrap_or_default().to_owned() + "\n").collect()
}

#[track_caller]
fn number(text: &str, key: &str) -> u64 {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(key)).unwrap_or_else(|| panic!("no `{key}`"));
    line.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
}

#[test]
fn the_configurations_in_the_files_are_accepted() {
    for (file, begins) in [("kubernetes.yaml", "config.toml: |"), ("compose.yaml", "content: |")] {
        let (home, config) = (home(), block(&read(file), begins));
        assert!(config.contains("tape_store = \"postgres://"), "{config}");
        fs::write(home.bub_home().join("config.toml"), config).unwrap();
        let shown = home.bub(["doctor", "--config", "--json"]).finish();
        assert!(shown.code == Some(0) && shown.stdout.contains("postgres://"), "{file}: {shown}");
        let unread = home.bub(["serve", "--check", "--insecure-http"]).finish();
        assert!(!unread.stderr.contains("config.toml"), "{file}: {unread}");
    }
}

#[test]
fn the_files_leave_time_to_drain_and_probe_served_paths() {
    let (kubernetes, compose) = (read("kubernetes.yaml"), read("compose.yaml"));
    let needed = number(&kubernetes, "drain_seconds =") + 10 + 5;
    assert!(number(&kubernetes, "terminationGracePeriodSeconds:") > needed);
    assert!(number(&compose, "stop_grace_period:") > number(&compose, "drain_seconds =") + 5);
    let served: Vec<&str> = bub_server::paths().into_iter().map(|(path, _)| path).collect();
    let probed: Vec<&str> =
        kubernetes.lines().filter_map(|line| line.split("httpGet: {path: ").nth(1)?.split(',').next()).collect();
    assert_eq!(probed, ["/livez", "/livez", "/readyz"]);
    assert!(probed.iter().all(|path| served.contains(path)), "{served:?}");
}

#[test]
fn the_compose_file_runs_the_image_of_a_release_read_only_with_its_health_check() {
    let (compose, kubernetes) = (read("compose.yaml"), read("kubernetes.yaml"));
    let image = format!("image: bub-wasm:{}\n", env!("CARGO_PKG_VERSION"));
    assert!(compose.contains(&image) && kubernetes.contains(&image), "both use the image of this version");
    assert!(compose.contains("read_only: true\n"), "{compose}");
    let made = fs::read_to_string(root().join("docs/deploy/dist/image")).expect("the file is there");
    let address = "http://127.0.0.1:8420/livez";
    assert!(made.contains(&format!("\"{address}\"")) && compose.contains(&format!("\"{address}\"")), "{compose}");
    for folder in ["/home/bub/.bub", "/home/bub/work"] {
        assert!(made.contains(&format!("\"{folder}\":{{}}")) && compose.contains(&format!(":{folder}\n")), "{folder}");
    }
}
