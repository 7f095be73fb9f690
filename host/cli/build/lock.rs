//! The part of a lock file that one package needs.

use std::collections::{BTreeSet, VecDeque};
use toml_edit::{DocumentMut, Item, Table};

/// The lock file without the packages that `root` does not reach: a project that depends on it builds with the versions that
/// the SDK is tested with.
pub fn of(text: &str, root: &str) -> String {
    let mut lock: DocumentMut = text.parse().expect("a lock file is TOML");
    let packages = lock["package"].as_array_of_tables_mut().expect("a lock file has packages");
    let (mut reached, mut open) = (BTreeSet::new(), VecDeque::from([root.to_owned()]));
    while let Some(wanted) = open.pop_front() {
        let found = packages.iter().find(|package| is(package, &wanted)).expect("a lock file is complete");
        if reached.insert(key(found)) {
            let dependencies = found.get("dependencies").and_then(Item::as_array).into_iter().flatten();
            open.extend(dependencies.filter_map(|dependency| dependency.as_str()).map(str::to_owned));
        }
    }
    packages.retain(|package| reached.contains(&key(package)));
    lock.to_string()
}

/// Whether a dependency, `NAME` or `NAME VERSION`, is that package.
fn is(package: &Table, dependency: &str) -> bool {
    let (name, version) = key(package);
    match dependency.split_once(' ') {
        Some((wanted, at)) => wanted == name && at == version,
        None => dependency == name,
    }
}

fn key(package: &Table) -> (String, String) {
    let text =
        |key: &str| package.get(key).and_then(Item::as_str).expect("a package has a name and a version").to_owned();
    (text("name"), text("version"))
}
