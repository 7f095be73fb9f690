//! Indexes, servers and archives that are wrong: each is refused in one line, and the program stays as it is.

use super::*;
use std::thread;
use std::time::Duration;
use tar::EntryType;

/// The index of one release of 0.2.0, whose archive is in the folder, with a change.
fn index_with(installed: &Installed, change: impl FnOnce(&mut Value)) -> Value {
    installed.publish("0.2.0", &newer("0.2.0"));
    let mut index = serde_json::from_str(&text(&installed.releases().join("index.json"))).expect("JSON");
    change(&mut index);
    index
}

#[test]
fn an_index_that_is_wrong_is_refused_in_one_line() {
    let installed = Installed::new();
    let good = index_with(&installed, |_| ());
    let long = "9".repeat(300);
    type Change = Box<dyn Fn(&mut Value)>;
    let set = |pointer: &'static str, value: Value| -> Change {
        Box::new(move |index: &mut Value| *index.pointer_mut(pointer).expect("it is there") = value.clone())
    };
    let release = good["releases"][0].clone();
    let archive = release["files"][0].clone();
    let cases: Vec<(Change, &str)> = vec![
        (set("/format", json!(2)), "it has format 2, and this program reads format 1"),
        (set("/format", json!("one")), "it is damaged"),
        (set("/name", json!("other\u{1b}[2J")), "it is of `other"),
        (set("/created", json!("2999-01-01T00:00:00Z")), "which is in the future"),
        (set("/created", json!("yesterday")), "it is damaged"),
        (Box::new(|index| index["expires"] = json!("2020-01-01T00:00:00Z")), "it has expired on 2020-01-01"),
        (set("/releases/0/version", json!("0.2.0; rm -rf /")), "is not a version like 1.2.3"),
        (set("/releases/0/version", json!("../../0.2.0")), "is not a version like 1.2.3"),
        (set("/releases/0/version", json!("\u{1b}]0;x\u{7}")), "is not a version like 1.2.3"),
        (set("/releases/0/version", json!(format!("1.0.{long}"))), "is not a version like 1.2.3"),
        (set("/releases", json!([release, release])), "it has version 0.2.0 twice"),
        (set("/releases/0/files", json!([archive, archive])), "for a target twice"),
        (set("/releases/0/files/0/file", json!("../bub.tar.gz")), "is not the name of an archive"),
        (set("/releases/0/files/0/file", json!("http://x/y.tar.gz")), "is not the name of an archive"),
        (set("/releases/0/files/0/file", json!(".hidden.tar.gz")), "is not the name of an archive"),
        (set("/releases/0/files/0/file", json!("a.zip")), "is not the name of an archive"),
        (set("/releases/0/files/0/sha256", json!("AB")), "is not 64 hex digits in lower case"),
        (set("/releases/0/files/0/size", json!(10_000_000_000_u64)), "and an archive has at most 256 MiB"),
        (set("/releases/0/files/0/size", json!(0)), "has 0 bytes"),
        (set("/releases/0/files/0/size", json!(-1)), "it is damaged"),
        (set("/releases/0/files/0/target", json!("riscv64gc-unknown-none")), "has no release for"),
        (set("/releases", json!([])), "has no release for"),
        (set("/releases/0/files/0/sha256", json!("0".repeat(64))), "has another digest than in the index"),
        (set("/releases/0/files/0/size", json!(1)), "has more than the 1 bytes of the index"),
        (set("/releases/0/files/0/size", json!(200_000)), "and 200000 in the index"),
    ];
    for (change, why) in cases {
        let mut index = good.clone();
        change(&mut index);
        installed.sign(&index, &installed.key, "index.json");
        installed.is_refused(why);
    }
    fs::write(installed.releases().join("index.json"), vec![b' '; (1 << 20) + 1]).expect("a file");
    installed.is_refused("`index.json` is longer than 1048576 bytes");
    installed.sign(&good, &installed.key, "index.json");
    assert!(installed.update([]).stdout.contains("to 0.2.0"), "the index as it was is accepted");
}

#[test]
fn a_signature_that_is_wrong_is_refused_in_one_line() {
    let installed = Installed::new();
    let good = index_with(&installed, |_| ());
    let signature = installed.releases().join("index.json.minisig");
    let other = SecretKey::generate(None).expect("a key").0;
    installed.sign(&good, &other, "index.json");
    installed.is_refused(&format!("its signature is by key {}, not by key", other.public().id()));
    // A right signature of this key, for something else.
    installed.sign(&good, &installed.key, "other.json");
    installed.is_refused("its signature is not for a file `index.json`");
    let plugin = Signature::new(&installed.key, good.to_string().as_bytes(), "notes", "1.0.0").expect("signed");
    fs::write(&signature, plugin.as_str()).expect("a file");
    installed.is_refused("its signature is not for a file `index.json`");
    installed.sign(&good, &installed.key, "index.json");
    // The comment is signed too.
    let edited = text(&signature).replace("file:index.json", "file:index.jso_");
    fs::write(&signature, edited).expect("a file");
    installed.is_refused("is not for these bytes");
    installed.sign(&good, &installed.key, "index.json");
    let mut edited = good.clone();
    edited["releases"][0]["version"] = json!("0.2.1");
    fs::write(installed.releases().join("index.json"), edited.to_string()).expect("a file");
    installed.is_refused("is not for these bytes");
    for (content, why) in [
        (&b"no signature"[..], "its signature is not one of minisign"),
        (&[0xff, 0xfe, 0][..], "its signature is not one of minisign"),
        (&[b'A'; 9000][..], "`index.json.minisig` is longer than 8192 bytes"),
    ] {
        fs::write(&signature, content).expect("a file");
        installed.is_refused(why);
    }
    fs::remove_file(&signature).expect("removed");
    installed.is_refused("index.json.minisig` cannot be read");
}

#[test]
fn an_index_that_is_older_than_the_newest_one_seen_is_refused() {
    let installed = Installed::new();
    let new = index_with(&installed, |_| ());
    assert_eq!(installed.update(["--check"]).code, Some(0));
    let mut old = new.clone();
    old["created"] = json!("2026-01-01T00:00:00Z");
    installed.sign(&old, &installed.key, "index.json");
    installed.is_refused("was seen before: someone may be holding updates back");
    // Another publisher has an order of its own.
    let other = SecretKey::generate(None).expect("a key").0;
    installed.trust(other.public());
    installed.sign(&old, &other, "index.json");
    assert_eq!(installed.update(["--check"]).code, Some(0));
    let seen = installed.home.bub_home().join("update.json");
    fs::write(&seen, "[]").expect("a file");
    installed.is_refused("update.json` is damaged: remove it");
    fs::remove_file(&seen).expect("removed");
    fs::create_dir(&seen).expect("a directory");
    installed.is_refused("update.json` cannot be read: it is not a regular file");
}

#[test]
fn an_archive_that_is_wrong_is_refused_in_one_line() {
    let installed = Installed::new();
    let (path, script) = (inner("0.2.0"), newer("0.2.0"));
    let program = (path.clone(), EntryType::Regular, script.as_bytes());
    let cut = archive("0.2.0", &newer("0.2.0"));
    let mut flipped = cut.clone();
    let at = flipped.len() - 6;
    flipped[at] ^= 1;
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"no archive".to_vec(), "the archive is damaged"),
        (cut[..cut.len() / 2].to_vec(), "the archive is damaged"),
        (flipped, "the archive is damaged"),
        (archive_of(&[]), "the archive has no `bub-wasm-0.2.0-"),
        (archive("0.3.0", &newer("0.2.0")), "the archive has no `bub-wasm-0.2.0-"),
        (archive_of(&[("../evil".into(), EntryType::Regular, b"x"), program.clone()]), "leads out of it"),
        (archive_of(&[("/tmp/evil".into(), EntryType::Regular, b"x"), program.clone()]), "leads out of it"),
        (archive_of(&[("a/../../evil".into(), EntryType::Regular, b"x"), program.clone()]), "leads out of it"),
        (archive_of(&[(path.clone(), EntryType::Symlink, b"")]), "is not a plain file"),
        (archive_of(&[(path.clone(), EntryType::Link, b"")]), "is not a plain file"),
        (archive_of(&[(path.clone(), EntryType::Directory, b"")]), "is not a plain file"),
        (archive_of(&[(path.clone(), EntryType::Fifo, b"")]), "is not a plain file"),
        (archive_of(&[program.clone(), program.clone()]), "twice"),
        (archive("0.2.0", &newer("0.2.1")), "it says that it is version 0.2.1"),
        (archive("0.2.0", ""), "it cannot be started on this machine"),
        // The beginning of a program for another processor.
        (
            archive("0.2.0", "\u{7f}ELF\u{2}\u{1}\u{1}\0\0\0\0\0\0\0\0\0\u{2}\0\u{f3}\0"),
            "it cannot be started on this machine",
        ),
        (archive("0.2.0", "#!/bin/sh\nexit 3\n"), "it does not say which version it is"),
        (archive("0.2.0", "#!/bin/sh\nkill -9 $$\n"), "it does not say which version it is"),
        (archive("0.2.0", "#!/bin/sh\necho 'bub-wasm 0.2.0\u{1b}[2J'\n"), "it says that it is version"),
        (archive("0.2.0", &super::program("0.2.0", "kill -9 $$")), "its `doctor` ends with: it says nothing"),
        (archive("0.2.0", &super::program("0.2.0", "yes | head -c 9000000; exit 1")), "its `doctor` ends with: y"),
        (archive("0.2.0", &super::program("0.2.0", "echo '{\"findings\": []}'; exit 1")), "does not say why"),
    ];
    for (content, why) in cases {
        fs::write(installed.releases().join(file("0.2.0")), &content).expect("a file");
        let archive = json!({
            "file": file("0.2.0"), "target": bub_update::TARGET, "size": content.len(),
            "sha256": bub_registry::Digest::of(&content).hex(),
        });
        let release = json!({ "version": "0.2.0", "date": "2026-01-01", "files": [archive] });
        let index =
            json!({ "format": 1, "name": "bub-wasm", "created": "2026-01-01T00:00:00Z", "releases": [release] });
        installed.sign(&index, &installed.key, "index.json");
        installed.is_refused(why);
    }
    assert!(!Path::new("/tmp/evil").exists());
}

#[test]
fn a_server_that_misbehaves_is_refused_in_one_line() {
    let installed = Installed::new();
    index_with(&installed, |_| ());
    let whole = fs::read(installed.releases().join(file("0.2.0"))).expect("it is there");
    let part = whole[..whole.len() / 2].to_vec();
    let cut = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", whole.len());
    let length = "HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n";
    let redirect = |to: &str| response(302, &format!("location: {to}\r\n"), "").into_bytes();
    let endless = [b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; 2 << 20]].concat();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("/index.json", response(404, "", "").into_bytes(), "index.json` answers with status 404"),
        ("/index.json", response(500, "", "\u{1b}[2J").into_bytes(), "index.json` answers with status 500"),
        ("/index.json", Vec::new(), "index.json` cannot be reached"),
        ("/index.json", b"garbage\r\n\r\n".to_vec(), "index.json` cannot be reached"),
        ("/index.json", redirect("http://127.0.0.1:1/index.json"), "cannot be reached"),
        ("/index.json", redirect("http://releases.example/index.json"), "which is not over https"),
        ("/index.json", redirect("file:///etc/passwd"), "which is not over https"),
        ("/index.json", redirect("https://169.254.169.254/latest"), "which is not a public address"),
        ("/index.json", redirect("/index.json"), "redirects too often"),
        ("/index.json", endless.clone(), "`index.json` is longer than 1048576 bytes"),
        ("/index.json.minisig", response(404, "", "").into_bytes(), "index.json.minisig` answers with status 404"),
        ("/index.json.minisig", endless.clone(), "`index.json.minisig` is longer than 8192 bytes"),
        ("/bub-wasm-", response(404, "", "").into_bytes(), "answers with status 404"),
        ("/bub-wasm-", [cut.as_bytes(), &part].concat(), "breaks off"),
        ("/bub-wasm-", length.into(), "has 10000000000 bytes, and"),
        ("/bub-wasm-", endless, "bytes of the index"),
        ("/bub-wasm-", ok(&part), "in the index"),
    ];
    for (path, answer, why) in cases {
        let folder = installed.releases();
        let server = Listener::new(move |request: &str| {
            let asked = request.split_whitespace().nth(1).unwrap_or_default();
            let is_it = asked == path || (path.ends_with('-') && asked.starts_with(path));
            if is_it {
                answer.clone()
            } else {
                fs::read(folder.join(&asked[1..])).map_or_else(|_| Vec::new(), |body| ok(&body))
            }
        });
        installed.take_from(&format!("{}/index.json", server.base()));
        installed.is_refused(why);
    }
    for path in ["/index.json", "/bub-wasm-"] {
        let folder = installed.releases();
        let server = Listener::new(move |request: &str| {
            let asked = request.split_whitespace().nth(1).unwrap_or_default();
            if asked.starts_with(path) && !asked.ends_with(".minisig") {
                thread::sleep(Duration::from_secs(3));
            }
            fs::read(folder.join(&asked[1..])).map_or_else(|_| Vec::new(), |body| ok(&body))
        });
        installed.take_from(&format!("{}/index.json", server.base()));
        installed.is_refused("does not come in time; `timeout_seconds` in `[update]` of config.toml");
    }
    installed.take_from("http://127.0.0.1:1/index.json");
    installed.is_refused("cannot be reached: ");
    for (address, why) in [
        ("http://releases.example/index.json", "is not over https"),
        ("https://releases.example/other.json", "is no place for an index"),
        ("https://user:secret@releases.example/index.json", "has a password: leave it out"),
        ("ftp://releases.example/index.json", "is not over https"),
        ("releases", "is no place for an index"),
        ("/nowhere", "`/nowhere/index.json` cannot be read"),
        ("file:///nowhere/index.json", "`/nowhere/index.json` cannot be read"),
    ] {
        installed.take_from(address);
        installed.is_refused(why);
    }
    installed.take_from(&format!("file://{}/index.json", installed.releases().display()));
    assert!(installed.update([]).stdout.contains("to 0.2.0"));
}

#[test]
fn a_full_disk_and_a_folder_of_another_user_leave_the_program_as_it_is() {
    let installed = Installed::new();
    // Larger than what the limit below allows, also compressed.
    let noise: String = (0..400_000_u64).map(|n| char::from(b'a' + (n.wrapping_mul(n) % 25) as u8)).collect();
    installed.publish("0.2.0", &format!("{}# {noise}\n", newer("0.2.0")));
    let full = installed.home.bub(["self", "update"]).under("trap '' XFSZ; ulimit -f 100").finish();
    assert_eq!(full.code, Some(1), "{full}");
    full.mentions("the program cannot be written: File too large");
    installed.is_untouched("the disk is full");
    let bin = installed.root.path().join("bin");
    fs::set_permissions(&bin, fs::Permissions::from_mode(0o555)).expect("its rights can be set");
    // For root no folder is closed.
    if fs::write(bin.join("probe"), "").is_err() {
        installed.is_refused("update it as the user to whom that folder belongs");
    } else {
        fs::remove_file(bin.join("probe")).expect("removed");
    }
    fs::set_permissions(&bin, fs::Permissions::from_mode(0o755)).expect("its rights can be set");
    assert!(installed.update([]).stdout.contains("to 0.2.0"));
}

#[test]
fn a_link_to_the_program_stays_a_link() {
    let installed = Installed::new();
    installed.publish("0.2.0", &newer("0.2.0"));
    let link = installed.root.path().join("link");
    std::os::unix::fs::symlink(installed.program(), &link).expect("a link");
    let home = Home::new(link.to_str().expect("UTF-8"), env!("CARGO_TARGET_TMPDIR")).bare();
    home.configure(&text(&installed.home.bub_home().join("config.toml")));
    let updated = home.bub(["self", "update"]).finish();
    assert!(updated.stdout.contains("to 0.2.0"), "{updated}");
    assert!(fs::symlink_metadata(&link).expect("it is there").is_symlink());
    assert_eq!(text(&installed.program()), newer("0.2.0"));
}
