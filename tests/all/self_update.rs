//! `self update`: a copy of the program in a folder of its own, an index on loopback or in a folder, and scripts that stand
//! in for newer programs.

mod hostile;
mod killed;

use bub_registry::{PublicKey, SecretKey, Signature};
use bub_tests::listener::{Listener, response};
use bub_tests::{Finished, Home};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The version of the program under test.
const OWN: &str = env!("CARGO_PKG_VERSION");

/// A newer program: it says its version, and its `doctor` is well.
fn newer(version: &str) -> String {
    program(version, r#"echo '{"findings": []}'"#)
}

/// A program whose `doctor` does that.
fn program(version: &str, doctor: &str) -> String {
    format!("#!/bin/sh\ncase \"$*\" in\n*--version) echo 'bub-wasm {version}';;\n*doctor*) {doctor};;\nesac\n")
}

/// An entry of an archive: path, mode, and content.
type Entry<'a> = (String, tar::EntryType, &'a [u8]);

/// An archive with these entries; paths are taken as they are.
fn archive_of(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, kind, content) in entries {
        let mut header = tar::Header::new_gnu();
        // `set_path` refuses what a hostile archive has.
        let field = &mut header.as_old_mut().name;
        field[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o755);
        let is_link = kind.is_symlink() || kind.is_hard_link();
        if is_link {
            header.set_link_name("/bin/sh").expect("it fits");
        }
        header.set_size(if is_link { 0 } else { content.len() as u64 });
        header.set_cksum();
        tar.append(&header, if is_link { &[][..] } else { *content }).expect("an entry");
    }
    tar.into_inner().expect("a tar").finish().expect("an archive")
}

/// The path of the program in the archive of a version.
fn inner(version: &str) -> String {
    format!("bub-wasm-{version}-{}/bin/bub-wasm", bub_update::TARGET)
}

/// The name of the archive of a version.
fn file(version: &str) -> String {
    format!("bub-wasm-{version}-{}.tar.gz", bub_update::TARGET)
}

fn archive(version: &str, content: &str) -> Vec<u8> {
    let readme = (format!("bub-wasm-{version}-{}/README.md", bub_update::TARGET), tar::EntryType::Regular, &b"hi"[..]);
    archive_of(&[readme, (inner(version), tar::EntryType::Regular, content.as_bytes())])
}

/// A copy of the program in a folder, a home, and a folder with releases and the key of their index.
struct Installed {
    home: Home,
    /// The program is in its `bin`, the releases are in its `releases`.
    root: TempDir,
    key: SecretKey,
}

impl Installed {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a directory for the test");
        for name in ["bin", "releases"] {
            fs::create_dir(root.path().join(name)).expect("a directory for the test");
        }
        let program = root.path().join("bin/bub-wasm");
        let built = Path::new(env!("CARGO_BIN_EXE_bub-wasm"));
        if fs::hard_link(built, &program).is_err() {
            fs::copy(built, &program).expect("the program can be copied");
        }
        let home = Home::new(program.to_str().expect("UTF-8"), env!("CARGO_TARGET_TMPDIR")).bare();
        let (key, key_text) = SecretKey::generate(None).expect("a key");
        fs::write(root.path().join("key"), key_text).expect("a file");
        let installed = Self { home, root, key };
        installed.trust(installed.key.public());
        installed.take_from(&installed.releases().display().to_string());
        installed
    }

    fn trust(&self, key: &PublicKey) {
        self.home.configure(&format!("[update]\nkey = \"{key}\"\ntimeout_seconds = 1"));
    }

    fn take_from(&self, index: &str) {
        self.home.configure(&format!("[update]\nindex = \"{index}\""));
    }

    fn program(&self) -> PathBuf {
        self.root.path().join("bin/bub-wasm")
    }

    fn previous(&self) -> PathBuf {
        self.root.path().join("bin/bub-wasm.previous")
    }

    fn releases(&self) -> PathBuf {
        self.root.path().join("releases")
    }

    /// Publishes a version as `self index` does.
    fn publish(&self, version: &str, content: &str) {
        fs::write(self.releases().join(file(version)), archive(version, content)).expect("a file");
        self.index(&[]);
    }

    fn index(&self, more: &[&str]) -> Finished {
        let key = self.root.path().join("key");
        let folder = self.releases().display().to_string();
        let key = key.display().to_string();
        self.home.bub(["self", "index", &folder, "--key", &key].into_iter().chain(more.iter().copied())).finish()
    }

    /// Writes an index by hand, signed by that key as a file of that name.
    fn sign(&self, index: &Value, key: &SecretKey, name: &str) {
        let text = index.to_string();
        fs::write(self.releases().join("index.json"), &text).expect("a file");
        let signature = Signature::of_file(key, text.as_bytes(), name).expect("it is signed");
        fs::write(self.releases().join("index.json.minisig"), signature.as_str()).expect("a file");
    }

    fn update<'a>(&self, more: impl IntoIterator<Item = &'a str>) -> Finished {
        self.home.bub(["self", "update"].into_iter().chain(more)).finish()
    }

    /// Serves the folder of releases.
    fn serve(&self) -> Listener {
        let folder = self.releases();
        let listener = Listener::new(move |request: &str| {
            let path = request.split_whitespace().nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
            match fs::read(folder.join(path)) {
                Ok(body) => ok(&body),
                Err(_) => response(404, "", "").into_bytes(),
            }
        });
        self.take_from(&format!("{}/index.json", listener.base()));
        listener
    }

    /// Fails unless the program is the old one, whole, and nothing lies beside it.
    fn is_untouched(&self, why: &str) {
        let built = fs::metadata(env!("CARGO_BIN_EXE_bub-wasm")).expect("it is there").len();
        assert_eq!(fs::metadata(self.program()).expect("it is there").len(), built, "{why}");
        let names: Vec<_> = fs::read_dir(self.root.path().join("bin"))
            .expect("it is there")
            .map(|entry| entry.expect("it is there").file_name())
            .collect();
        assert_eq!(names, ["bub-wasm"], "{why}");
    }

    /// Fails unless the update is refused with one line that has this text, and the program is untouched.
    fn is_refused(&self, why: &str) {
        let refused = self.update(["--yes"]);
        let line = refused.stderr.lines().last().unwrap_or_default();
        assert!(refused.code == Some(1) && refused.stdout.is_empty(), "expected `{why}`\n{refused}");
        assert!(line.starts_with("error: ") && line.contains(why), "expected `{why}`\n{refused}");
        assert!(line.len() < 1500 && !refused.stderr.contains('\u{1b}'), "{refused}");
        self.is_untouched(why);
    }
}

fn ok(body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn an_update_is_found_verified_installed_and_rolled_back() {
    let installed = Installed::new();
    installed.publish("0.2.0", &newer("0.2.0"));
    let server = installed.serve();
    let checked = installed.update(["--check"]);
    assert_eq!(checked.code, Some(0), "{checked}");
    assert!(checked.stdout.starts_with(&format!("{OWN} is installed; 0.2.0 of ")), "{checked}");
    installed.is_untouched("`--check` changes nothing");
    let shown: Value = serde_json::from_str(&installed.update(["--check", "--json"]).stdout).expect("JSON");
    assert_eq!((shown["is_newer"].clone(), shown["newest"]["version"].clone()), (json!(true), json!("0.2.0")));
    let updated = installed.update([]);
    assert_eq!(updated.code, Some(0), "{updated}");
    assert!(updated.stdout.contains(&format!("from {OWN} to 0.2.0")), "{updated}");
    assert!(updated.stdout.contains("`bub-wasm self update --rollback` puts it back"), "{updated}");
    assert!(updated.stdout.contains("goes on with the old program"), "{updated}");
    assert_eq!(text(&installed.program()), newer("0.2.0"));
    assert_eq!(fs::metadata(installed.program()).expect("it is there").permissions().mode() & 0o777, 0o755);
    assert!(server.heard().iter().any(|request| request.contains(&file("0.2.0"))));
    // The script does not roll back; the previous program does, from its own place.
    let built = fs::metadata(env!("CARGO_BIN_EXE_bub-wasm")).expect("it is there").len();
    assert_eq!(fs::metadata(installed.previous()).expect("it is there").len(), built);
    fs::rename(installed.program(), installed.root.path().join("newer")).expect("renamed");
    fs::rename(installed.previous(), installed.program()).expect("renamed");
    fs::rename(installed.root.path().join("newer"), installed.previous()).expect("renamed");
    let back = installed.update(["--rollback"]);
    assert!(back.stdout.contains(&format!("is version 0.2.0 again, and was {OWN}")), "{back}");
    assert_eq!(text(&installed.program()), newer("0.2.0"));
    assert!(!installed.root.path().join("bin/.bub-wasm.update").exists());
}

#[test]
fn the_newest_release_is_taken_and_a_named_one_on_request() {
    let installed = Installed::new();
    for version in ["0.0.9", "0.2.0", "0.10.0", "0.11.0-rc.1"] {
        installed.publish(version, &newer(version));
    }
    let indexed: Value = serde_json::from_str(&text(&installed.releases().join("index.json"))).expect("JSON");
    assert_eq!(indexed["releases"].as_array().map(Vec::len), Some(4), "earlier releases are kept");
    assert!(installed.update(["--check"]).stdout.contains("0.10.0 of "), "a version before a release is not offered");
    let named = installed.update(["--version", "0.2.0"]);
    assert!(named.stdout.contains("to 0.2.0"), "{named}");
    let installed = Installed::new();
    installed.publish("0.0.9", &newer("0.0.9"));
    assert!(installed.update([]).stdout.contains(&format!("{OWN} is the newest version")));
    installed.update(["--version", "0.0.9"]).mentions("there is no terminal to ask whether to go back: give `--yes`");
    installed.update(["--version", "7.0.0"]).mentions("there is no version 7.0.0; the newest is 0.0.9");
    installed.update(["--version", "../7"]).mentions("`../7` is not a version like 1.2.3");
    installed.is_untouched("nothing was agreed to");
    assert!(installed.update(["--version", "0.0.9", "--yes"]).stdout.contains("to 0.0.9"));
}

#[test]
fn an_older_program_that_refuses_the_home_is_not_installed() {
    let installed = Installed::new();
    let refuses = "#!/bin/sh\ncase \"$*\" in\n*--version) echo 'bub-wasm 0.0.9';;\n\
                   *) echo 'error: the home has version 1, and this program knows versions up to 0' >&2; exit 1;;\nesac\n";
    installed.publish("0.0.9", refuses);
    let refused = installed.update(["--version", "0.0.9", "--yes"]);
    refused.mentions("it does not read the home: the home has version 1, and this program knows versions up to 0");
    installed.is_untouched("it would not run");
}

#[test]
fn a_doctor_that_finds_what_was_well_before_stops_the_update_and_an_old_illness_does_not() {
    let installed = Installed::new();
    let ill = |what: &str| {
        format!(r#"echo '{{"findings": [{{"what": "{what}", "state": "wrong", "text": "is broken"}}]}}'; exit 1"#)
    };
    installed.publish("0.2.0", &program("0.2.0", &ill("engine")));
    installed.is_refused("its `doctor` finds wrong what the present one's does not: engine: is broken");
    // A plugin that is damaged for both.
    fs::write(installed.home.bub_home().join("plugins/bad.wasm"), "no component").expect("a file");
    installed.publish("0.3.0", &program("0.3.0", &ill("plugin `bad`")));
    let updated = installed.update([]);
    assert!(updated.code == Some(0) && updated.stdout.contains("to 0.3.0"), "{updated}");
}

#[test]
fn a_home_that_the_new_doctor_has_upgraded_is_taken_back_when_it_fails() {
    let installed = Installed::new();
    let version = installed.home.bub_home().join("version");
    fs::write(&version, "1\n").expect("a file");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*--version) echo 'bub-wasm 0.2.0';;\n*'home downgrade') echo 1 > {0};;\n\
         *doctor*) echo 2 > {0}; echo 'error: it breaks' >&2; exit 1;;\nesac\n",
        version.display()
    );
    installed.publish("0.2.0", &script);
    installed.is_refused("its `doctor` ends with: it breaks");
    assert_eq!(text(&version), "1\n");
}

#[test]
fn a_program_of_a_package_an_image_or_cargo_is_left_to_them() {
    let installed = Installed::new();
    installed.publish("0.2.0", &newer("0.2.0"));
    let share = installed.root.path().join("share/bub-wasm");
    fs::create_dir_all(&share).expect("a directory");
    for (named, advice) in [
        ("deb\n", "use `apt update` and `apt install bub-wasm`"),
        ("image\n", "pull a newer image"),
        ("brew\u{1b}[2J", "it is managed by `brew"),
    ] {
        fs::write(share.join("managed-by"), named).expect("a file");
        installed.is_refused(advice);
        assert!(installed.update(["--check"]).stdout.contains("0.2.0"), "`--check` works everywhere");
    }
    fs::remove_dir_all(installed.root.path().join("share")).expect("removed");
    let crates = installed.root.path().join(".crates.toml");
    fs::write(&crates, "[v1]\n\"bub-wasm 0.1.0 (path+file:///x)\" = [\"bub-wasm\"]\n").expect("a file");
    installed.is_refused("use `cargo install` again");
    fs::remove_file(crates).expect("removed");
    let built = Home::new(env!("CARGO_BIN_EXE_bub-wasm"), env!("CARGO_TARGET_TMPDIR"));
    built.bub(["self", "update"]).finish().mentions("which cargo builds into: use `cargo build`");
}

#[test]
fn a_build_without_an_index_says_what_to_set() {
    let installed = Installed::new();
    let config = installed.home.bub_home().join("config.toml");
    fs::write(&config, "").expect("a file");
    let refused = installed.update(["--check"]);
    refused.mentions("this build names no index of releases: set `index` and `key` in `[update]` of config.toml");
    installed.take_from("https://releases.example/index.json");
    installed.update([]).mentions("there is no key for the index of releases");
    installed.home.configure("[update]\nkey = \"RWnonsense\"");
    installed.update([]).mentions("`update.key` of config.toml: `RWnonsense` is not a public key of minisign");
}

#[test]
fn an_index_is_made_over_archives_that_hold_the_program_and_never_change() {
    let installed = Installed::new();
    let nothing = installed.index(&[]);
    nothing.mentions("has no archive `bub-wasm-VERSION-TARGET.tar.gz`");
    installed.publish("0.2.0", &newer("0.2.0"));
    let made = installed.index(&["--valid-days", "30", "--date", "2026-01-02"]);
    assert!(made.stdout.contains("1 release, 0 archives new"), "{made}");
    let indexed: Value = serde_json::from_str(&text(&installed.releases().join("index.json"))).expect("JSON");
    assert!(indexed["expires"].is_string() && indexed["releases"][0]["date"].is_string(), "{indexed}");
    // Its archive may be elsewhere by now.
    fs::remove_file(installed.releases().join(file("0.2.0"))).expect("removed");
    installed.publish("0.3.0", &newer("0.3.0"));
    assert!(installed.update(["--check"]).stdout.contains("0.3.0 of "));
    fs::write(installed.releases().join(file("0.3.0")), archive("0.3.0", &newer("0.3.1"))).expect("a file");
    installed.index(&[]).mentions("a release never changes, so give it a new version");
    fs::write(installed.releases().join(file("0.3.0")), archive("0.4.0", &newer("0.3.0"))).expect("a file");
    installed.index(&[]).mentions("the archive has no `bub-wasm-0.3.0-");
    fs::write(installed.releases().join("bub-wasm-x.tar.gz"), "x").expect("a file");
    fs::remove_file(installed.releases().join(file("0.3.0"))).expect("removed");
    installed.index(&[]).mentions("its name is not `bub-wasm-VERSION-TARGET.tar.gz`");
    fs::remove_file(installed.releases().join("bub-wasm-x.tar.gz")).expect("removed");
    let other = SecretKey::generate(None).expect("a key").1;
    fs::write(installed.root.path().join("key"), other).expect("a file");
    installed.index(&[]).mentions("are not taken over; remove it to begin a new index");
}
