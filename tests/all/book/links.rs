//! Links between the documents lead somewhere.

use super::{markdown, root};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A document without its blocks and its code, in which brackets are no links.
fn prose(text: &str) -> String {
    let mut fence: Option<String> = None;
    let mut kept = String::new();
    for line in text.lines() {
        let trimmed = line.trim();
        let ticks: String = trimmed.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if trimmed == open => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => kept = kept + line + "\n",
        }
    }
    kept
}

/// The names by which headings can be linked, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let link = Regex::new(r"\[([^\]]*)\]\([^)]*\)").expect("it is an expression");
    let id = Regex::new(r#"(?:id|name)="([^"]+)""#).expect("it is an expression");
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for line in prose(text).lines() {
        anchors.extend(id.captures_iter(line).map(|found| found[1].to_owned()));
        let Some(heading) = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#')) else { continue };
        let Some(heading) = heading.strip_prefix(' ') else { continue };
        let heading = link.replace_all(heading.trim(), "$1").to_lowercase();
        let name: String = heading
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                '-' | '_' => Some(c),
                _ => c.is_alphanumeric().then_some(c),
            })
            .collect();
        let times = seen.entry(name.clone()).or_default();
        anchors.insert(if *times == 0 { name } else { format!("{name}-{times}") });
        *times += 1;
    }
    anchors
}

/// Where the links of a document lead, as they are written.
fn targets(text: &str) -> Vec<String> {
    let code = Regex::new(r"`+[^`\n]*`+").expect("it is an expression");
    let inline = Regex::new(r#"\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)"#).expect("it is an expression");
    let named = Regex::new(r"(?m)^\s*\[[^\]]+\]:\s*(\S+)").expect("it is an expression");
    let text = prose(text);
    let text = code.replace_all(&text, "");
    [&inline, &named].iter().flat_map(|link| link.captures_iter(&text)).map(|found| found[1].to_owned()).collect()
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The error of a link of that document, or none.
fn broken(document: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let dir = Path::new(document).parent().unwrap_or(Path::new(""));
    let file = if path.is_empty() { PathBuf::from(document) } else { plain(&dir.join(path)) };
    let full = root().join(&file);
    if !full.exists() {
        return Some(format!("{document}: there is no file `{target}`"));
    }
    if document.starts_with("docs/src/") && !file.starts_with("docs/src") {
        return Some(format!("{document}: `{target}` leads out of the book; link to the repository by its address"));
    }
    let anchor = anchor.filter(|_| file.extension().is_some_and(|extension| extension == "md"))?;
    let text = fs::read_to_string(&full).unwrap_or_default();
    (!anchors(&text).contains(anchor)).then(|| format!("{document}: there is no heading `{target}`"))
}

#[test]
fn every_link_between_documents_leads_to_a_file_and_a_heading() {
    let documents = markdown("");
    assert!(documents.contains("README.md") && documents.contains("wit/README.md"), "{documents:?}");
    let mut wrong = Vec::new();
    for document in &documents {
        let text = fs::read_to_string(root().join(document)).expect("it can be read");
        wrong.extend(targets(&text).iter().filter_map(|target| broken(document, target)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let text = "See [a](wit/README.md), [b](no.md \"title\"), `[c](code.md)`.\n```text\n[d](block.md)\n```\n[e]: #f\n";
    assert_eq!(targets(text), ["wit/README.md", "no.md", "#f"]);
    assert_eq!(broken("README.md", "wit/README.md"), None);
    assert_eq!(broken("wit/README.md", "../README.md#bub-wasm"), None);
    assert!(broken("README.md", "no.md").is_some() && broken("README.md", "wit/README.md#no-such").is_some());
    let names = anchors("# One `two`, three\n## [Four](x.md)\n## Four\n```text\n# five\n```\n<a id=\"six\"></a>\n");
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["four", "four-1", "one-two-three", "six"]);
}
