//! Who updates the program, if it is not the program itself.

use bub_system::files::read_regular;
use bub_types::text::{escaped, one_line};
use std::path::Path;

use crate::NAME;

/// The longest file that is looked into, in bytes.
const MAX_FILE: usize = 4 << 20;

/// What to use instead, if the program's file is another's: of the system's packages, of an image, of cargo.
pub fn manager(program: &Path) -> Option<String> {
    let folder = program.parent()?;
    let above = folder.parent();
    if let Some(named) = above.and_then(|above| text(&above.join("share").join(NAME).join("managed-by"))) {
        return Some(match named.trim() {
            "deb" => OF_DEBIAN.to_owned(),
            "image" => format!("it is part of an image: pull a newer image of {NAME}"),
            other => format!("it is managed by `{}`: update it with that", escaped(other, 64)),
        });
    }
    // The list of files that dpkg keeps for each package.
    if let Some(files) = text(Path::new("/var/lib/dpkg/info/bub-wasm.list"))
        && files.lines().any(|line| Path::new(line) == program)
    {
        return Some(OF_DEBIAN.to_owned());
    }
    let is_installed_by_cargo = above
        .filter(|_| folder.file_name().is_some_and(|name| name == "bin"))
        .and_then(|above| text(&above.join(".crates.toml")))
        .is_some_and(|crates| crates.contains(&format!("\"{NAME} ")) || crates.contains(&format!("\"{NAME}\"")));
    if is_installed_by_cargo {
        return Some("cargo has installed it: use `cargo install` again".to_owned());
    }
    // Cargo keeps this file in each folder that it builds programs into.
    if folder.join(".cargo-lock").exists() {
        let shown = one_line(&folder.display().to_string());
        return Some(format!("it is in `{shown}`, which cargo builds into: use `cargo build`"));
    }
    None
}

const OF_DEBIAN: &str = "it is of a package of the system: use `apt update` and `apt install bub-wasm`";

fn text(path: &Path) -> Option<String> {
    let (bytes, _) = read_regular(path, MAX_FILE).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
