//! Programs under bubblewrap, started by the crate alone. Most tests are of the whole program: `tests/all/sandbox`.

use bub_sandbox::{Backend, Confinement, Limits, Network, Private, Sandbox, Setting};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A place with a workspace and a home.
struct Place {
    root: tempfile::TempDir,
    private: Private,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a directory");
        for name in ["ws", "home"] {
            fs::create_dir(root.path().join(name)).expect("a directory");
        }
        Self { root, private: Private::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().expect("it is there").join(name)
    }

    fn confinement(&self) -> Confinement {
        Confinement {
            workspace: self.path("ws"),
            home: Some(self.path("home")),
            private: self.private.of_session("s").expect("a directory"),
            read: Vec::new(),
            write: Vec::new(),
            keep: Vec::new(),
            hide: Vec::new(),
            network: Network::Off,
            limits: Limits::default(),
        }
    }
}

/// What the command prints; none if there is no bubblewrap.
fn run(confinement: &Confinement, command: &str) -> Option<String> {
    let sandbox = Sandbox::find(Setting::Bwrap, Path::new("/proc/self/exe"));
    if *sandbox.backend() == Backend::None {
        println!("skipped: {}", sandbox.why().join("; "));
        return None;
    }
    let wrapped = sandbox.wrap(confinement, &confinement.workspace).expect("it can be held");
    let (program, arguments) = wrapped.words.split_first().expect("there are words");
    let output = Command::new(program).args(arguments).args(["sh", "-c", command]).output().expect("it starts");
    Some(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

#[test]
fn of_two_rules_for_one_place_the_stricter_holds_and_of_nested_ones_the_inner() {
    let place = Place::new();
    for (file, text) in
        [("ws/kept/f", "kept"), ("ws/hidden/f", "hidden"), ("ws/hidden/shown/f", "shown"), ("ws/f", "f")]
    {
        let file = place.path(file);
        fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        fs::write(file, text).expect("a file");
    }
    let mut confinement = place.confinement();
    confinement.keep = vec![place.path("ws/kept")];
    confinement.hide = vec![place.path("ws/hidden"), place.path("ws/kept/f")];
    confinement.write = vec![place.path("ws/kept"), place.path("ws/hidden/shown")];
    let Some(said) = run(
        &confinement,
        "cat f hidden/f hidden/shown/f kept/f; echo x > kept/new; echo x > hidden/new; echo y > hidden/shown/f",
    ) else {
        return;
    };
    assert!(said.starts_with("fshown") || said.contains("shown"), "{said}");
    assert!(!said.contains("kept\n") && !said.contains("hiddens"), "{said}");
    assert!(!place.path("ws/kept/new").exists() && !place.path("ws/hidden/new").exists(), "{said}");
    assert_eq!(fs::read_to_string(place.path("ws/hidden/shown/f")).expect("a file"), "y\n");
}

#[test]
fn no_words_are_made_for_a_workspace_that_cannot_be_held() {
    let place = Place::new();
    let sandbox = Sandbox::find(Setting::Bwrap, Path::new("/proc/self/exe"));
    if *sandbox.backend() == Backend::None {
        println!("skipped: {}", sandbox.why().join("; "));
        return;
    }
    for workspace in ["/", "/usr", "/etc"] {
        let confinement = Confinement { workspace: workspace.into(), ..place.confinement() };
        let error = sandbox.wrap(&confinement, Path::new("/")).expect_err("it cannot be held");
        assert!(error.contains(&format!("`{workspace}`")), "{error}");
    }
}

#[test]
fn private_directories_are_of_one_session_and_of_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let private = Private::default();
    let one = private.of_session("one").expect("a directory");
    assert_eq!(private.of_session("one").expect("a directory"), one);
    assert_ne!(private.of_session("two").expect("a directory"), one);
    for folder in [one.clone(), one.join("tmp"), one.join("home")] {
        let mode = folder.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", folder.display());
    }
    private.clear();
    assert!(!one.exists());
}

#[test]
fn without_a_backend_a_command_is_started_as_it_is() {
    let place = Place::new();
    let sandbox = Sandbox::find(Setting::Off, Path::new("/proc/self/exe"));
    assert_eq!(*sandbox.backend(), Backend::None);
    assert!(sandbox.wrap(&place.confinement(), Path::new("/")).expect("no words").words.is_empty());
    assert!(!sandbox.gaps().is_empty() && !sandbox.why().is_empty());
}
