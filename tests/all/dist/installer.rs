//! The installer, with mirrors that do as they should.

use super::mirror::{Installer, Mirror, entry, index, small_archive};
use super::{PROGRAM, VERSION, made, said, target};
use bub_tests::Home;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// What a machine has that has nothing more than it needs.
const LITTLE: [&str; 20] = [
    "awk",
    "cat",
    "cp",
    "cut",
    "date",
    "grep",
    "gzip",
    "head",
    "mkdir",
    "mktemp",
    "mv",
    "rm",
    "sed",
    "sha256sum",
    "sh",
    "sort",
    "tail",
    "tar",
    "tr",
    "uname",
];

#[test]
fn the_real_program_is_packed_installed_and_answers() {
    let dir = TempDir::new().unwrap();
    let stripped = dir.path().join("stripped");
    // A debug build has 100 MB of symbols.
    said("strip", &["-o", stripped.to_str().unwrap(), PROGRAM]);
    let archive = made("archive", &[&stripped, Path::new(&target()), dir.path(), Path::new(PROGRAM)]);
    let mirror = Mirror::new(fs::read(archive).unwrap());
    let installed = Installer::new(&mirror).run();
    assert!(installed.is_done, "{}", installed.stderr);
    let program = installed.prefix.join("bin/bub-wasm");
    let said = format!("bub-wasm {VERSION} is installed as {}; the index has a good signature\n", program.display());
    assert!(installed.stdout.starts_with(&said), "{}", installed.stdout);
    assert_eq!(installed.stderr, "");
    let unit = fs::read_to_string(installed.prefix.join("share/systemd/user/bub-wasm.service")).unwrap();
    assert!(unit.contains(&format!("ExecStart={} ", program.display())), "{unit}");
    let mut files = installed.files();
    files.retain(|file| !file.starts_with("share/man/man1/bub-wasm"));
    files.sort_unstable();
    let expected = [
        "bin/bub-wasm",
        "share/bash-completion/completions/bub-wasm",
        "share/fish/vendor_completions.d/bub-wasm.fish",
        "share/systemd/user/bub-wasm.service",
        "share/zsh/site-functions/_bub-wasm",
    ];
    assert_eq!(files, expected);
    let home = Home::new(program.to_str().unwrap(), env!("CARGO_TARGET_TMPDIR"));
    let answered = home.run(["hello"]).finish();
    assert!(answered.code == Some(0) && answered.stdout.contains("offline:demo"), "{answered}");
}

#[test]
fn the_newest_release_is_installed_or_the_one_that_is_asked_for() {
    // All in one archive: its program says the version that the name of the archive has.
    let archive = small_archive(VERSION);
    let mirror = Mirror::new(archive.clone());
    let other = |version: &str| entry(version, b"other");
    let newest = entry(VERSION, &archive);
    // 0.0.10 is newer than 0.0.9, and a release candidate is for those who ask.
    mirror.index(&index(&[other("0.0.10"), newest.clone(), other("0.0.9"), other("9.0.0-rc.1")]));
    let installed = Installer::new(&mirror).run();
    assert!(
        installed.is_done && installed.stdout.contains(&format!("bub-wasm {VERSION} is installed")),
        "{}",
        installed.stderr
    );
    let asked = Installer::new(&mirror).with(&["--version", "9.0.0-rc.1"]).run();
    asked.refuses(&["has more than the 5 bytes"]);
    let unknown = Installer::new(&mirror).with(&["--version", "7.0.0"]).run();
    unknown.refuses(&["has no version `7.0.0` for "]);
}

#[test]
fn an_installed_program_is_replaced_whole_and_stays_when_the_new_one_is_bad() {
    let mirror = Mirror::new(small_archive(VERSION));
    let installer = Installer::new(&mirror);
    let old = installer.prefix().join("bin/bub-wasm");
    super::program(&old, "echo old");
    let installed = installer.run();
    assert!(installed.is_done, "{}", installed.stderr);
    let new = fs::read_to_string(installed.prefix.join("bin/bub-wasm")).unwrap();
    assert!(new.contains("echo bub-wasm"), "{new}");

    let bad = Mirror::new(small_archive("9.9.9"));
    let installer = Installer::new(&bad);
    super::program(&installer.prefix().join("bin/bub-wasm"), "echo old");
    let refused = installer.run();
    assert!(!refused.is_done && refused.stderr.contains("does not start here"), "{}", refused.stderr);
    assert_eq!(refused.files(), ["bin/bub-wasm"]);
    assert!(fs::read_to_string(refused.prefix.join("bin/bub-wasm")).unwrap().contains("echo old"));
}

#[test]
fn wget_serves_as_well_as_curl_and_a_missing_verifier_is_said() {
    let mirror = Mirror::new(small_archive(VERSION));
    let with = |more: &[&str]| Installer::new(&mirror).only(&[&LITTLE[..], &["wc"], more].concat());
    let installed = with(&["wget"]).run();
    assert!(installed.is_done, "{}", installed.stderr);
    let warned = "warning: the signature of the index was not verified: neither `minisign` nor `openssl` 3 is here\n";
    assert_eq!(installed.stderr, warned);
    assert!(!installed.stdout.contains("good signature"), "{}", installed.stdout);
    assert!(mirror.heard().iter().any(|request| request.contains("Wget")), "{:?}", mirror.heard());
    with(&["curl"]).with(&["--require-signature"]).run().refuses(&["cannot be verified", "nothing was installed"]);
    with(&[]).run().refuses(&["neither `curl` nor `wget` is installed"]);
    Installer::new(&mirror)
        .only(&["sh", "cut", "head", "awk", "cp", "grep"])
        .run()
        .refuses(&["the installer needs `gzip`"]);
}

#[test]
fn minisign_and_openssl_accept_and_refuse_the_same_signatures() {
    let (other, wrong) = (Mirror::new(small_archive(VERSION)), "is not by the key");
    for verifier in ["minisign", "openssl"] {
        if Command::new(verifier).arg("-v").output().is_err() {
            println!("skipped: there is no `{verifier}` here");
            continue;
        }
        let mirror = Mirror::new(small_archive(VERSION));
        let tools = [&LITTLE[..], &["cmp", "curl", "wc", verifier]].concat();
        let strict = || Installer::new(&mirror).only(&tools).with(&["--require-signature"]);
        let is_accepted = |what: &str| {
            let installed = strict().run();
            assert!(installed.is_done, "{verifier}, {what}: {}", installed.stderr);
            assert!(installed.stdout.contains("the index has a good signature"), "{verifier}: {}", installed.stdout);
        };
        is_accepted("as `self index` signs");
        mirror.change_signature(|lines| lines.iter_mut().for_each(|line| line.push('\r')));
        is_accepted("with line ends of Windows");
        strict().with(&["--key", &other.key()]).run().refuses(&[wrong]);
        mirror.change_signature(|lines| lines[2].push('x'));
        strict().run().refuses(&[wrong]);
        mirror.change_signature(|lines| lines.truncate(2));
        strict().run().refuses(&[wrong]);
    }
}

#[test]
fn a_prefix_of_the_system_and_one_that_cannot_be_written_are_refused() {
    let mirror = Mirror::new(small_archive(VERSION));
    let installer = Installer::new(&mirror);
    let mark = installer.prefix().join("share/bub-wasm/managed-by");
    fs::create_dir_all(mark.parent().unwrap()).unwrap();
    fs::write(&mark, "deb\n").unwrap();
    let refused = installer.run();
    assert!(!refused.is_done && refused.stderr.contains("belongs to a package of the system"), "{}", refused.stderr);
    assert_eq!(refused.files(), ["share/bub-wasm/managed-by"]);
    // A file in place of the folder stops root as well.
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let below = file.join("below");
    let below = below.to_str().unwrap();
    Installer::new(&mirror).with(&["--prefix", below]).run().refuses(&["cannot be written; pass --prefix DIR", below]);
    assert_eq!(mirror.heard().len(), 0, "nothing was fetched");
}
