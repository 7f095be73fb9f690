//! The installer, with mirrors and machines that do not do as they should. Each fault has one line, and leaves nothing behind.

use super::mirror::{Installer, Mirror, archive_of, digest, entry, file_entry, index, small_archive};
use super::{VERSION, package, program};
use std::os::unix::fs::symlink;

fn mirror() -> Mirror {
    Mirror::new(small_archive(VERSION))
}

fn archive_path() -> String {
    format!("/{}.tar.gz", package())
}

#[test]
fn addresses_that_are_away_missing_or_open_to_others_are_named() {
    let good = mirror();
    let at = |address: &str| Installer::new(&good).with(&["--index", address]).run();
    at("http://127.0.0.1:9/index.json").refuses(&["`http://127.0.0.1:9/index.json` cannot be fetched: "]);
    at(&good.address().replace("index", "none")).refuses(&["/none.json` cannot be fetched: ", "404"]);
    at("http://example.com/index.json").refuses(&["is neither `https://` nor `file:///`"]);
    at("--help").refuses(&["`--help` is neither"]);
    at("ftp://example.com/\u{1b}[2J\nx").refuses(&["is neither"]);
    at("file:///no/such/index.json").refuses(&["`file:///no/such/index.json` cannot be fetched"]);
    Installer::new(&good).with(&["--prefix"]).run().refuses(&["`--prefix` needs a value; see --help"]);
    Installer::new(&good).with(&["--purge"]).run().refuses(&["`--purge` is no option; see --help"]);
    // A redirection to an unencrypted address elsewhere is not followed by curl for an address that is encrypted; on
    // loopback one that leads nowhere is a fault like any other.
    let astray = mirror();
    astray.respond("/index.json", b"HTTP/1.1 302 Found\r\nlocation: gopher://127.0.0.1/x\r\ncontent-length: 0\r\n\r\n");
    Installer::new(&astray).run().refuses(&["/index.json` cannot be fetched: "]);
}

#[test]
fn an_index_that_is_cut_off_foreign_expired_or_too_large_is_refused() {
    let says = |text: &str, part: &str| {
        let mirror = mirror();
        mirror.index(text);
        Installer::new(&mirror).run().refuses(&[part]);
    };
    let whole = index(&[entry(VERSION, b"x")]);
    for end in [0, 1, 40, whole.len() / 2, whole.len() - 1] {
        says(&whole[..end], "is no whole index of releases");
    }
    says("]]]]{{{{", "is no whole index");
    says("<html><body class=\"x\">sign in</body></html>", "is no whole index");
    says(&whole.replace("\"format\":1", "\"format\":2"), "is no index of bub-wasm that this installer can read");
    says(&whole.replace("\"name\":\"bub-wasm\"", "\"name\":\"bub\""), "is no index of bub-wasm");
    says(&whole.replace("\"format\":1", "\"format\":1,\"expires\":\"2020-01-01T00:00:00Z\""), "has expired");
    says(&whole.replace("-linux-gnu\"", "-linux-musl\""), "has no release for ");
    says(&index(&[]), "has no release for ");
    let large = mirror();
    large.put("/index.json", &vec![b' '; 1_048_577]);
    Installer::new(&large).run().refuses(&["has more than the 1048576 bytes that it may have"]);
    // The connection breaks off in the middle.
    let broken = mirror();
    broken.put_claiming("/index.json", whole.as_bytes(), whole.len() + 100);
    Installer::new(&broken).run().refuses(&["/index.json` cannot be fetched: "]);
}

#[test]
fn hostile_entries_of_the_index_are_refused() {
    let digest = digest(b"x");
    for (version, file, size, sha256) in [
        (VERSION, "../../etc/cron.d/x", "1", digest.as_str()),
        (VERSION, "/etc/passwd", "1", &digest),
        (VERSION, "-rf", "1", &digest),
        (VERSION, "..", "1", &digest),
        (VERSION, "a b", "1", &digest),
        (VERSION, "$(touch x)", "1", &digest),
        (VERSION, "a\\nb", "1", &digest),
        (VERSION, "", "1", &digest),
        (VERSION, "x.tar.gz", "1", "abc"),
        (VERSION, "x.tar.gz", "1", &digest.to_uppercase()),
        (VERSION, "x.tar.gz", "-1", &digest),
        (VERSION, "x.tar.gz", "1e3", &digest),
        (VERSION, "x.tar.gz", "99999999999", &digest),
        ("0.1.0/../..", "x.tar.gz", "1", &digest),
        ("0.1.0 x", "x.tar.gz", "1", &digest),
        ("`id`", "x.tar.gz", "1", &digest),
    ] {
        let mirror = mirror();
        mirror.index(&index(&[file_entry(version, file, size, sha256)]));
        Installer::new(&mirror)
            .run()
            .refuses(&["has an entry with a version, size, digest or file name that is not allowed"]);
    }
    let mirror = mirror();
    mirror.index(&index(&[file_entry(VERSION, "x.tar.gz", "999999999", &digest)]));
    Installer::new(&mirror).run().refuses(&["`x.tar.gz` has 999999999 bytes in the index"]);
}

#[test]
fn an_index_that_is_not_signed_by_the_known_key_installs_nothing() {
    let (ours, other) = (mirror(), mirror());
    let wrong = "nothing was installed";
    Installer::new(&ours).with(&["--key", &other.key()]).run().refuses(&["is not by the key", &other.key(), wrong]);
    // Edited after it was signed; and the signature of something else.
    let edited = mirror();
    edited.put("/index.json", index(&[entry(VERSION, b"other")]).as_bytes());
    Installer::new(&edited).run().refuses(&["is not by the key", wrong]);
    for signature in ["", "untrusted comment: x\nAAAA\n", "x\n!!!!\nx\n!!!!\n", "\u{0}\u{1}"] {
        let mirror = mirror();
        mirror.put("/index.json.minisig", signature.as_bytes());
        Installer::new(&mirror).run().refuses(&["is not by the key", wrong]);
    }
    for key in ["x", "RWQ", "../key", "$(id)"] {
        Installer::new(&ours).with(&["--key", key]).run().refuses(&["is not by the key", wrong]);
    }
    let unsigned = mirror();
    unsigned.respond("/index.json.minisig", b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    Installer::new(&unsigned).run().refuses(&["/index.json.minisig` cannot be fetched: ", "404"]);
}

#[test]
fn an_archive_that_is_missing_cut_off_or_another_installs_nothing() {
    let archive = small_archive(VERSION);
    let spoiled = |spoil: &dyn Fn(&Mirror), says: &[&str]| {
        let mirror = mirror();
        mirror.index(&index(&[entry(VERSION, &archive)]));
        spoil(&mirror);
        Installer::new(&mirror).run().refuses(says);
    };
    let path = archive_path();
    let half = &archive[..archive.len() / 2];
    spoiled(
        &|mirror| mirror.respond(&path, b"HTTP/1.1 404 x\r\ncontent-length: 0\r\n\r\n"),
        &["cannot be fetched", "404"],
    );
    spoiled(&|mirror| mirror.put(&path, half), &["was cut off: ", "nothing was installed"]);
    spoiled(&|mirror| mirror.put_claiming(&path, half, archive.len()), &["cannot be fetched: "]);
    spoiled(&|mirror| mirror.put(&path, &[&archive[..], b"x"].concat()), &["has more than the "]);
    let mut changed = archive.clone();
    changed[30] ^= 1;
    spoiled(&|mirror| mirror.put(&path, &changed), &["has not the digest that the index names"]);
}

#[test]
fn archives_with_what_no_archive_of_the_program_has_are_refused() {
    let refuses = |archive: Vec<u8>, says: &str| Installer::new(&Mirror::new(archive)).run().refuses(&[says]);
    refuses(b"no archive".to_vec(), "is no archive; nothing was installed");
    refuses(archive_of(|_| {}), "has no program; nothing was installed");
    let odd = "has entries that an archive of bub-wasm has not";
    refuses(archive_of(|tree| symlink("/bin/sh", tree.join("bin")).unwrap()), odd);
    refuses(with_entry("../outside"), odd);
    refuses(with_entry(&format!("{}/../../outside", package())), odd);
    refuses(with_entry("/etc/outside"), odd);
    // Another processor, an older C library, or another version: it is started before it is installed.
    refuses(archive_of(|tree| program(&tree.join("bin/bub-wasm"), "exit 127")), "does not start here");
    refuses(small_archive("0.0.1"), "does not start here");
}

/// An archive with the program and a file of that name.
fn with_entry(name: &str) -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut add = |name: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        // The crate refuses such names, so they are written by hand.
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_mode(0o755);
        header.set_cksum();
        tar.append(&header, bytes).unwrap();
    };
    add(&format!("{}/bin/bub-wasm", package()), format!("#!/bin/sh\necho bub-wasm {VERSION}\n").as_bytes());
    add(name, b"x");
    tar.into_inner().unwrap().finish().unwrap()
}

#[test]
fn other_machines_and_a_full_disk_are_named() {
    let good = mirror();
    let uname = |lines: &str| Installer::new(&good).command("uname", lines).run();
    uname("[ $1 = -m ] && echo riscv64 || echo Linux").refuses(&["no package for the processor `riscv64`"]);
    uname("[ $1 = -m ] && echo arm64 || echo Darwin").refuses(&["no package for `Darwin`"]);
    let other = if cfg!(target_arch = "x86_64") { "aarch64" } else { "x86_64" };
    uname(&format!("[ $1 = -m ] && echo {other} || echo Linux")).refuses(&[&format!("has no release for {other}-")]);
    // A limit on the size of files is seen as a disk is that is full.
    let large = Mirror::new(archive_of(|tree| {
        program(&tree.join("bin/bub-wasm"), &format!("echo bub-wasm {VERSION}"));
        std::fs::write(tree.join("large"), vec![7; 4 << 20]).unwrap();
    }));
    let mut limited = Installer::new(&large);
    let words: Vec<_> = limited.command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &format!("trap '' XFSZ; ulimit -f 1000; exec sh {}", quoted.join(" "))]);
    shell.env_clear().env("PATH", std::env::var("PATH").unwrap()).env("HOME", "/nonexistent");
    limited.command = shell;
    limited.run().refuses(&["is the disk full?"]);
}

#[test]
fn an_installer_that_was_cut_off_itself_does_nothing() {
    let whole = std::fs::read(crate::book::root().join("docs/deploy/dist/install.sh")).unwrap();
    let good = mirror();
    for at in (0..whole.len() - 10).step_by(397) {
        let mut installer = Installer::new(&good);
        let half = installer.prefix().with_file_name("half.sh");
        std::fs::write(&half, &whole[..at]).unwrap();
        let mut command = std::process::Command::new("sh");
        command.arg(&half).args(["--index", &good.address(), "--prefix"]).arg(installer.prefix());
        installer.command = command;
        assert_eq!(installer.run().files(), Vec::<String>::new(), "cut off at {at}");
    }
    assert_eq!(good.heard().len(), 0, "nothing was fetched");
}
