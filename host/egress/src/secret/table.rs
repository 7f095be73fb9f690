//! Parsing and editing of `secrets.toml`. Comments, order and other tables are preserved.
//!
//! Errors name the line, the secret and the key only: a TOML parser's messages quote the text, which is secret.

use crate::secret::Error;
use crate::secret::host;
use crate::secret::host::Pattern;
use crate::secret::name::check_name;
use crate::secret::value::{Source, Value};
use std::path::{Path, PathBuf};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

/// Maximum number of secrets in a file.
const MAX_ENTRIES: usize = 256;

/// A table `[NAME]`.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    /// `None`: the environment provides the value.
    pub(super) source: Option<Source>,
    pub(super) hosts: Vec<Pattern>,
}

/// All tables of `text`. Errors begin with `path`.
pub(super) fn entries(path: &Path, text: &str) -> Result<Vec<Entry>, Error> {
    let document = parse(path, text)?;
    let entries: Vec<Entry> =
        document.iter().map(|(name, item)| entry(path, name, item)).collect::<Result<_, Error>>()?;
    if entries.len() > MAX_ENTRIES {
        return Err(Error::File(format!("`{}` has more than {MAX_ENTRIES} secrets", path.display())));
    }
    Ok(entries)
}

/// `text` with the entry added or replaced.
pub(super) fn with(path: &Path, text: &str, entry: &Entry) -> Result<String, Error> {
    let mut document = parse(path, text)?;
    let item = document.entry(&entry.name).or_insert_with(|| Item::Table(Table::new()));
    let Some(table) = item.as_table_like_mut() else {
        return Err(wrong(path, &entry.name, "is not a table"));
    };
    let (key, other, written) = match &entry.source {
        None => return Err(wrong(path, &entry.name, "has neither `value` nor `file`")),
        Some(Source::Text(text)) => ("value", "file", text.expose_text()),
        Some(Source::File(file)) => ("file", "value", file.to_str()),
    };
    let Some(written) = written else {
        return Err(Error::Invalid(format!("the `{key}` of secret `{}` is not UTF-8", entry.name)));
    };
    table.remove(other);
    table.insert(key, value(written));
    table.insert("hosts", value(entry.hosts.iter().map(ToString::to_string).collect::<Array>()));
    Ok(document.to_string())
}

/// `text` without the entry of that name; `None` if there is none.
pub(super) fn without(path: &Path, text: &str, name: &str) -> Result<Option<String>, Error> {
    let mut document = parse(path, text)?;
    Ok(document.remove(name).map(|_| document.to_string()))
}

fn parse(path: &Path, text: &str) -> Result<DocumentMut, Error> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let before = error.span().and_then(|span| text.as_bytes().get(..span.start)).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        Error::File(format!("`{}` line {line}: not TOML", path.display()))
    })
}

fn entry(path: &Path, name: &str, item: &Item) -> Result<Entry, Error> {
    if let Err(error) = check_name(name) {
        return Err(Error::File(format!("`{}`: {error}", path.display())));
    }
    let table = item.as_table_like().ok_or_else(|| wrong(path, name, "is not a table: write `[NAME]`"))?;
    if table.iter().any(|(key, _)| !["value", "file", "hosts"].contains(&key)) {
        return Err(wrong(path, name, "has a key other than `value`, `file` and `hosts`"));
    }
    let source = match (string(path, name, table, "value")?, string(path, name, table, "file")?) {
        (Some(_), Some(_)) => return Err(wrong(path, name, "has both `value` and `file`")),
        (Some(text), None) => Some(Source::Text(Value::new(text))),
        (None, Some(file)) if !Path::new(file).is_absolute() => {
            return Err(wrong(path, name, "has a `file` that is not an absolute path"));
        }
        (None, Some(file)) => Some(Source::File(PathBuf::from(file))),
        (None, None) => None,
    };
    let hosts = hosts(path, name, table)?;
    Ok(Entry { name: name.to_owned(), source, hosts })
}

fn string<'a>(path: &Path, name: &str, table: &'a dyn TableLike, key: &str) -> Result<Option<&'a str>, Error> {
    let Some(item) = table.get(key) else { return Ok(None) };
    item.as_str().map(Some).ok_or_else(|| wrong(path, name, &format!("has a `{key}` that is not a string")))
}

fn hosts(path: &Path, name: &str, table: &dyn TableLike) -> Result<Vec<Pattern>, Error> {
    let Some(item) = table.get("hosts") else { return Ok(Vec::new()) };
    let list = item.as_array().and_then(|list| list.iter().map(toml_edit::Value::as_str).collect::<Option<Vec<_>>>());
    let list = list.ok_or_else(|| wrong(path, name, "has `hosts` that are not a list of strings"))?;
    // The host is not quoted: it may be a value in the wrong place.
    host::parse_all(list).map_err(|_| {
        wrong(path, name, "has an invalid host: write `api.example.com` or `*.example.com`, without scheme and port")
    })
}

fn wrong(path: &Path, name: &str, what: &str) -> Error {
    Error::File(format!("`{}`: `[{name}]` {what}", path.display()))
}
