//! The archive, and the Debian package that is made of it.

use super::{PROGRAM, VERSION, made, package, program, said, script, target, text};
use crate::book::root;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Packs a small program; the pages and completions are those of the real one.
fn pack(dir: &Path, out: &str, target: &str) -> PathBuf {
    let small = dir.join("small");
    program(&small, &format!("echo bub-wasm {VERSION}"));
    made("archive", &[&small, Path::new(target), &dir.join(out), Path::new(PROGRAM)])
}

fn names(archive: &Path) -> BTreeSet<String> {
    said("tar", &["-tzf", archive.to_str().unwrap()]).lines().map(str::to_owned).collect()
}

#[test]
fn an_archive_has_the_layout_that_updates_rely_on_and_the_same_bytes_each_time() {
    let dir = TempDir::new().unwrap();
    let archive = pack(dir.path(), "one", &target());
    assert_eq!(archive.file_name().unwrap().to_str().unwrap(), format!("{}.tar.gz", package()));
    let names = names(&archive);
    for name in [
        "bin/bub-wasm",
        "share/man/man1/bub-wasm.1",
        "share/man/man1/bub-wasm-serve.1",
        "share/bash-completion/completions/bub-wasm",
        "share/zsh/site-functions/_bub-wasm",
        "share/fish/vendor_completions.d/bub-wasm.fish",
        "lib/systemd/system/bub-wasm.service",
        "lib/systemd/user/bub-wasm.service",
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "sbom.cdx.json",
    ] {
        assert!(names.contains(&format!("{}/{name}", package())), "no `{name}` in {names:?}");
    }
    assert!(names.iter().all(|name| name.starts_with(&format!("{}/", package()))), "{names:?}");
    // No name of a user, and no time of a build.
    let listed = said("tar", &["-tvzf", archive.to_str().unwrap(), "--numeric-owner", "--full-time"]);
    assert!(listed.lines().all(|line| line.contains(" 0/0 ") && line.contains("2025-11-24")), "{listed}");
    let again = pack(dir.path(), "two", &target());
    assert!(fs::read(&archive).unwrap() == fs::read(again).unwrap(), "packed twice, the bytes differ");

    let sbom = format!("{}/sbom.cdx.json", package());
    let sbom: Value = serde_json::from_str(&said("tar", &["-xOzf", archive.to_str().unwrap(), &sbom])).unwrap();
    is_bill_of_materials(&sbom);
}

fn is_bill_of_materials(sbom: &Value) {
    assert_eq!((&sbom["bomFormat"], &sbom["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    assert_eq!(sbom["metadata"]["timestamp"], "2025-11-24T16:00:00Z");
    let program = &sbom["metadata"]["component"]["bom-ref"];
    assert_eq!(program, &format!("pkg:cargo/bub-wasm@{VERSION}"));
    let listed = |name: &str| sbom["components"].as_array().unwrap().iter().find(|one| one["name"] == name);
    let wasmtime = listed("wasmtime").expect("the program has an engine");
    assert_eq!(wasmtime["hashes"][0]["content"].as_str().unwrap().len(), 64);
    assert!(wasmtime["licenses"][0]["expression"].as_str().unwrap().contains("Apache-2.0"));
    // The guests are inside, with what they are made of; tests, build scripts and other systems are not.
    assert!(listed("builtin").is_some() && listed("bub-guest").is_some());
    for absent in ["bub-tests", "proptest", "windows-sys", "cc"] {
        assert!(listed(absent).is_none(), "`{absent}` is no part of the program");
    }
    let known: BTreeSet<&str> =
        sbom["components"].as_array().unwrap().iter().map(|one| one["bom-ref"].as_str().unwrap()).collect();
    for dependency in sbom["dependencies"].as_array().unwrap() {
        for on in dependency["dependsOn"].as_array().unwrap() {
            assert!(known.contains(on.as_str().unwrap()) || on == program, "{on} is not described");
        }
    }
}

#[test]
fn a_debian_package_has_the_same_files_and_says_that_apt_updates_it() {
    if !Path::new("/usr/bin/dpkg-deb").exists() {
        println!("skipped: no dpkg-deb");
        return;
    }
    let dir = TempDir::new().unwrap();
    // For another processor too: nothing of it is started.
    let archive = pack(dir.path(), "out", "aarch64-unknown-linux-gnu");
    let deb = made("deb", &[&archive, &dir.path().join("out")]);
    assert_eq!(deb.file_name().unwrap().to_str().unwrap(), format!("bub-wasm_{VERSION}_arm64.deb"));
    let deb_path = deb.to_str().unwrap();
    let info = said("dpkg-deb", &["--info", deb_path]);
    for line in ["Package: bub-wasm", "Architecture: arm64", "Depends: libc6 (>= 2.28)", &format!("Version: {VERSION}")]
    {
        assert!(info.contains(line), "no `{line}`: {info}");
    }
    let contents = said("dpkg-deb", &["--contents", deb_path]);
    assert!(contents.lines().all(|line| line.contains(" root/root ")), "{contents}");
    let unpacked = dir.path().join("unpacked");
    said("dpkg-deb", &["--extract", deb_path, unpacked.to_str().unwrap()]);
    let read = |path: &str| fs::read(unpacked.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(read("usr/share/bub-wasm/managed-by"), b"deb\n");
    let unit = text(&read("usr/lib/systemd/user/bub-wasm.service"));
    assert!(unit.contains("ExecStart=/usr/bin/bub-wasm ") && !unit.contains(".local"), "{unit}");
    for path in [
        "usr/bin/bub-wasm",
        "usr/lib/systemd/system/bub-wasm.service",
        "usr/share/man/man1/bub-wasm-run.1.gz",
        "usr/share/zsh/vendor-completions/_bub-wasm",
        "usr/share/doc/bub-wasm/copyright",
        "usr/share/doc/bub-wasm/changelog.gz",
    ] {
        assert!(!read(path).is_empty(), "{path}");
    }
    let again = made("deb", &[&archive, &dir.path().join("again")]);
    assert!(fs::read(&deb).unwrap() == fs::read(again).unwrap(), "packed twice, the bytes differ");
}

#[test]
fn what_cannot_be_packed_is_named_in_one_line() {
    let dir = TempDir::new().unwrap();
    let refused = |name: &str, arguments: &[&Path], says: &str| {
        let output = script(name, arguments);
        let stderr = text(&output.stderr);
        assert!(!output.status.success() && stderr.trim_end() == format!("error: {says}"), "{stderr}");
    };
    let out = dir.path().join("out");
    let none = dir.path().join("none");
    refused("archive", &[&none, Path::new(&target()), &out], &format!("`{}` is no program", none.display()));
    let other = Path::new("riscv64gc-unknown-linux-gnu");
    refused("archive", &[Path::new("/bin/sh"), other, &out], "no packages are made for `riscv64gc-unknown-linux-gnu`");
    let old = dir.path().join("bub-wasm-0.0.1-x86_64-unknown-linux-gnu.tar.gz");
    fs::write(&old, "").unwrap();
    refused("deb", &[&old, &out], &format!("`{}` is no archive of version {VERSION}", old.display()));
    assert!(!out.exists());
}

#[test]
fn the_recipe_passes_the_index_on_to_program_and_installer() {
    let read = |name: &str| fs::read_to_string(root().join("docs/deploy/dist").join(name)).unwrap();
    // The placeholders that the recipe fills in stand in the installer once each.
    for line in ["INDEX='@INDEX@'", "KEY='@KEY@'"] {
        assert_eq!(read("install.sh").lines().filter(|one| one == &line).count(), 1, "{line}");
        assert!(read("make").contains(&format!("s|^{line}|")), "{line}");
    }
    let workflow = fs::read_to_string(root().join(".github/workflows/release.yml")).unwrap();
    for needed in ["docs/deploy/dist/make", "BUB_RELEASE_INDEX", "BUB_RELEASE_PUBLIC_KEY", "BUB_RELEASE_KEY"] {
        assert!(workflow.contains(needed), "the workflow has no `{needed}`");
    }
}
