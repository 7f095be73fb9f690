//! The OCI image, with small packages in place of Debian's: nothing is fetched.

use super::mirror::{archive_of, digest};
use super::{VERSION, made, package, program, said};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A Debian package with these files.
fn debian(dir: &Path, name: &str, files: &[&str]) {
    let tree = dir.join(name);
    for file in files {
        program(&tree.join(file), &format!("echo {name}"));
    }
    fs::create_dir_all(tree.join("DEBIAN")).unwrap();
    let control = format!("Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: a\nDescription: a\n");
    fs::write(tree.join("DEBIAN/control"), control).unwrap();
    let packages = dir.join("packages");
    fs::create_dir_all(&packages).unwrap();
    said("dpkg-deb", &["-b", tree.to_str().unwrap(), packages.join(format!("{name}.deb")).to_str().unwrap()]);
}

struct Image {
    dir: PathBuf,
}

impl Image {
    fn unpacked(file: &Path, dir: PathBuf) -> Self {
        fs::create_dir(&dir).unwrap();
        said("tar", &["-C", dir.to_str().unwrap(), "-xf", file.to_str().unwrap()]);
        Self { dir }
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_slice(&fs::read(self.dir.join(path)).unwrap()).unwrap()
    }

    /// The path of what a descriptor names; digest and size have to fit.
    fn blob(&self, descriptor: &Value) -> String {
        let sum = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let path = format!("blobs/sha256/{sum}");
        let bytes = fs::read(self.dir.join(&path)).unwrap();
        assert_eq!((digest(&bytes).as_str(), bytes.len() as u64), (sum, descriptor["size"].as_u64().unwrap()));
        path
    }
}

#[test]
fn an_image_is_whole_has_a_user_and_the_same_bytes_each_time() {
    if !Path::new("/usr/bin/dpkg-deb").exists() {
        println!("skipped: no dpkg-deb");
        return;
    }
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    debian(
        dir,
        "libc6",
        &[
            "lib/x86_64-linux-gnu/libc.so.6",
            "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
            "usr/share/doc/libc6/copyright",
        ],
    );
    debian(dir, "ca-certificates", &["usr/share/ca-certificates/mozilla/One.crt"]);
    debian(dir, "busybox-static", &["bin/busybox"]);
    let archive = dir.join(format!("{}.tar.gz", package()));
    // The script wants what every archive has.
    let small = archive_of(|tree| {
        program(&tree.join("bin/bub-wasm"), "echo");
        program(&tree.join("LICENSE"), "");
        program(&tree.join("sbom.cdx.json"), "");
    });
    fs::write(&archive, small).unwrap();
    let image = |out: &str| made("image", &[&archive, &dir.join(out), &dir.join("packages")]);
    let file = image("one");
    assert!(fs::read(&file).unwrap() == fs::read(image("two")).unwrap(), "made twice, the bytes differ");

    let image = Image::unpacked(&file, dir.join("image"));
    assert_eq!(image.json("oci-layout")["imageLayoutVersion"], "1.0.0");
    let manifest = image.json(&image.blob(&image.json("index.json")["manifests"][0]));
    let (config, layer) = (image.blob(&manifest["config"]), image.blob(&manifest["layers"][0]));
    let docker = image.json("manifest.json");
    let expected =
        serde_json::json!([{ "Config": config, "RepoTags": [format!("bub-wasm:{VERSION}")], "Layers": [layer] }]);
    assert_eq!(docker, expected);
    let config = image.json(&config);
    assert_eq!(config["config"]["User"], "1000:1000");
    assert!(config["config"]["Healthcheck"]["Test"].to_string().contains("/livez"));
    let layer = image.dir.join(layer);
    let plain =
        std::process::Command::new("gzip").arg("-dc").stdin(fs::File::open(&layer).unwrap()).output().unwrap().stdout;
    assert_eq!(config["rootfs"]["diff_ids"][0], format!("sha256:{}", digest(&plain)));

    let listed = said("tar", &["-tvzf", layer.to_str().unwrap(), "--numeric-owner"]);
    let entry = |name: &str| {
        let found = listed.lines().find(|line| line.split_whitespace().nth(5) == Some(name));
        found.unwrap_or_else(|| panic!("no `{name}`: {listed}"))
    };
    assert!(entry("./usr/bin/bub-wasm").starts_with("-rwxr-xr-x 0/0"));
    assert!(entry("./home/bub/.bub/").starts_with("drwx------ 1000/1000"));
    assert!(entry("./home/bub/work/").starts_with("drwxr-xr-x 1000/1000"));
    assert!(entry("./tmp/").starts_with("drwxrwxrwt 0/0"));
    assert!(entry("./bin/sh").starts_with("lrwx") && entry("./bin/wget").contains("-> busybox"));
    entry("./usr/share/doc/libc6/copyright");
    let of = |name: &str| said("tar", &["-xOzf", layer.to_str().unwrap(), name]);
    assert_eq!(of("./usr/share/bub-wasm/managed-by"), "image\n");
    assert!(of("./etc/ssl/certs/ca-certificates.crt").contains("ca-certificates"));
    assert!(of("./etc/passwd").contains("bub:x:1000:1000:"));
}
