//! The import graph of one crate.

use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

/// A module by the names that lead to it; empty for the crate's root.
type Module = Vec<String>;

static USE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]*);").expect("an expression"));
static INLINE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(?:crate|super)(?:::\w+)+").expect("an expression"));
/// `pub(in crate::turn)` says who may see an item, and imports nothing.
static VISIBILITY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\bpub\([^)]*\)").expect("an expression"));
static COMMENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"//[^\n]*").expect("an expression"));

/// The files of a crate, without their comments.
pub struct Files(BTreeMap<Module, String>);

impl Files {
    /// Reads every `.rs` file below `src`.
    pub fn read(src: &Path) -> Self {
        let mut files = BTreeMap::new();
        collect(src, src, &mut files);
        Self(files)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The module that a path leads to, and what is left of the path in it.
    fn resolve(&self, from: &Module, path: &[String]) -> Option<(Module, Vec<String>)> {
        let mut base = from.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &path[1..];
            }
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            // A child module, as `pub use child::Type` names it; any other path leads out of the crate.
            child => {
                base.push(child.to_owned());
                if !self.0.contains_key(&base) {
                    return None;
                }
                rest = &path[1..];
            }
        }
        base.extend_from_slice(rest);
        let known = (0..=base.len()).rev().find(|length| self.0.contains_key(&base[..*length]))?;
        let rest = base.split_off(known);
        Some((base, rest))
    }

    /// Names that a module re-exports, and the module that each comes from.
    fn re_exports(&self) -> BTreeMap<(Module, String), Module> {
        let mut exports = BTreeMap::new();
        for (module, text) in &self.0 {
            for found in USE.captures_iter(text).filter(|found| found.get(1).is_some()) {
                for path in leaves(&found[2], &[]) {
                    if let (Some(name), Some((to, _))) = (path.last().cloned(), self.resolve(module, &path)) {
                        exports.insert((module.clone(), name), to);
                    }
                }
            }
        }
        exports
    }

    /// Which module uses which, with re-exports followed to where a name is defined.
    fn graph(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let exports = self.re_exports();
        let mut graph = BTreeMap::new();
        for (module, text) in &self.0 {
            let mut paths: Vec<Vec<String>> = USE
                .captures_iter(text)
                .filter(|found| found.get(1).is_none())
                .flat_map(|found| leaves(&found[2], &[]))
                .collect();
            let rest = USE.replace_all(text, "");
            let rest = VISIBILITY.replace_all(&rest, "");
            paths.extend(INLINE.find_iter(&rest).map(|path| parts(path.as_str())));
            let used = paths.iter().filter_map(|path| {
                let (mut to, rest) = self.resolve(module, path)?;
                // A name may be handed on several times.
                for _ in 0..5 {
                    let Some(next) = rest.first().and_then(|name| exports.get(&(to.clone(), name.clone()))) else {
                        break;
                    };
                    to = next.clone();
                }
                (to != *module).then_some(to)
            });
            graph.insert(module.clone(), used.collect());
        }
        graph
    }
}

/// The files of the largest strongly connected component, or one file where no two import each other.
pub fn largest_cycle(files: &Files) -> Vec<String> {
    let graph = files.graph();
    let reach: BTreeMap<&Module, BTreeSet<&Module>> =
        graph.keys().map(|from| (from, reachable(&graph, from))).collect();
    let cycles = graph.keys().map(|from| {
        let back = reach[from].iter().filter(|to| reach.get(**to).is_some_and(|their| their.contains(from)));
        back.map(|module| module.join("::")).collect::<Vec<_>>()
    });
    cycles.max_by_key(Vec::len).unwrap_or_default()
}

fn reachable<'g>(graph: &'g BTreeMap<Module, BTreeSet<Module>>, from: &'g Module) -> BTreeSet<&'g Module> {
    let mut seen = BTreeSet::new();
    let mut left: Vec<&Module> = graph[from].iter().collect();
    while let Some(module) = left.pop() {
        if seen.insert(module) {
            left.extend(graph.get(module).into_iter().flatten());
        }
    }
    seen
}

fn collect(src: &Path, dir: &Path, files: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(dir).expect("it is a directory") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            collect(src, &path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let inside = path.strip_prefix(src).expect("it lies in `src`").with_extension("");
            let module: Module = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            let is_root = module.len() == 1 && ["lib", "main"].contains(&module[0].as_str());
            let text = fs::read_to_string(&path).expect("it can be read");
            // `super` in a module of tests is the file itself.
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let text = COMMENT.replace_all(text, "").into_owned();
            files.entry(if is_root { Module::new() } else { module }).or_default().push_str(&text);
        }
    }
}

fn parts(path: &str) -> Vec<String> {
    path.split("::").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// The paths of a tree: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn leaves(tree: &str, prefix: &[String]) -> Vec<Vec<String>> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![[prefix, &parts(path)].concat()];
    };
    let prefix = [prefix, &parts(&tree[..open])].concat();
    let inner = tree[open + 1..].trim_end().strip_suffix('}').unwrap_or_default();
    let mut depth = 0_usize;
    let split = inner.split(|character| {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    });
    split.filter(|part| !part.trim().is_empty()).flat_map(|part| leaves(part, &prefix)).collect()
}
