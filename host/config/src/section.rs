//! The settings of one plugin as other machines get them: without secrets, and merged into what a machine has.

use super::{Config, Plugin, Trusted, edit};
use anyhow::{Context, Result, ensure};
use toml::Value;
use toml_edit::{Array, InlineTable, Item, Table};

/// The longest settings, in bytes.
pub const MAX_SETTINGS: usize = 256 << 10;

/// Parts of names whose texts are taken for secrets.
pub(super) const SECRET_NAMES: [&str; 5] = ["key", "token", "secret", "password", "credential"];

/// A table of config.toml.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section<'a> {
    /// `[plugins.NAME]`.
    Plugin(&'a str),
    /// `[trusted_plugins.DIGEST]`.
    Trusted(&'a str),
}

/// Settings for other machines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedSettings {
    /// TOML; `None`: there is no table.
    pub toml: Option<String>,
    /// Keys that stay here, because they may hold secrets.
    pub omitted: Vec<String>,
}

impl Config {
    /// The settings of that table as they are in the file now, for other machines.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or the settings are too long.
    pub fn shared_settings(&self, section: Section<'_>) -> Result<SharedSettings> {
        let Some(table) = edit::read_section(&self.file(), section)? else { return Ok(SharedSettings::default()) };
        let mut settings = values(&table)?;
        let mut omitted = Vec::new();
        if let Some(Value::Table(config)) = settings.get_mut("config") {
            self.omit_secrets(config, "config", &mut omitted);
        }
        let toml = toml::to_string(&settings)?;
        // In a grant or a limit no secret can be left out.
        ensure!(self.redact(&toml) == toml, "its settings hold a secret outside of its `config`: remove it there");
        ensure!(toml.len() <= MAX_SETTINGS, "its settings are longer than {} KiB", MAX_SETTINGS >> 10);
        Ok(SharedSettings { toml: Some(toml), omitted })
    }

    /// The table as it is in the file now, with its secrets; `None` if it is missing.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn section_text(&self, section: Section<'_>) -> Result<Option<String>> {
        let table = edit::read_section(&self.file(), section)?;
        Ok(table.as_ref().map(values).transpose()?.map(|values| values.to_string()))
    }

    fn omit_secrets(&self, table: &mut toml::Table, path: &str, omitted: &mut Vec<String>) {
        table.retain(|key, value| {
            let path = format!("{path}.{key}");
            let is_secret = is_secret(key, value) || self.redact(&texts(value)) != texts(value);
            match value {
                Value::Table(inner) if !is_secret => self.omit_secrets(inner, &path, omitted),
                _ if is_secret => omitted.push(path),
                _ => {}
            }
            !is_secret
        });
    }

    /// Writes settings of another machine into the file: keys that they lack are removed, unless they may hold secrets,
    /// and comments of the others stay. Returns whether anything was different.
    ///
    /// # Errors
    ///
    /// The settings are none that this program reads, or the file cannot be read or written: it is unchanged then.
    pub fn apply_settings(&self, section: Section<'_>, settings: Option<&str>) -> Result<bool> {
        let new = settings.map(|settings| check(section, settings)).transpose()?;
        let path = self.file();
        let old = edit::read_section(&path, section)?;
        let merged = merged(old.as_ref().map(values).transpose()?.as_ref(), new.as_ref());
        if old.as_ref().map(values).transpose()?.filter(|old| !old.is_empty())
            == merged.clone().filter(|merged| !merged.is_empty())
        {
            return Ok(false);
        }
        edit::edit(&path, |document| {
            match (section, merged) {
                (Section::Plugin(name), Some(merged)) => write(edit::plugin(document, name)?, &merged),
                (Section::Trusted(digest), Some(merged)) => write(edit::trusted(document, digest)?, &merged),
                (Section::Plugin(name), None) => edit::drop_plugin(document, name),
                (Section::Trusted(digest), None) => drop(edit::distrust(document, digest)),
            }
            Ok(())
        })?;
        Ok(true)
    }
}

/// The settings, if this program can read them as that table.
fn check(section: Section<'_>, settings: &str) -> Result<toml::Table> {
    ensure!(settings.len() <= MAX_SETTINGS, "its settings are longer than {} KiB", MAX_SETTINGS >> 10);
    let readable = |error: toml::de::Error| anyhow::anyhow!("its settings are not understood: {}", error.message());
    match section {
        Section::Plugin(_) => toml::from_str::<Plugin>(settings).map(drop).map_err(readable)?,
        Section::Trusted(_) => toml::from_str::<Trusted>(settings).map(drop).map_err(readable)?,
    }
    toml::from_str(settings).map_err(readable)
}

/// `None`: there is no table any more.
fn merged(old: Option<&toml::Table>, new: Option<&toml::Table>) -> Option<toml::Table> {
    let kept = old.and_then(|old| old.get("config")).and_then(Value::as_table).map(secrets).unwrap_or_default();
    if kept.is_empty() {
        return new.cloned();
    }
    let mut merged = new.cloned().unwrap_or_default();
    let config = merged.entry("config").or_insert_with(|| Value::Table(toml::Table::new()));
    if let Value::Table(config) = config {
        keep(config, kept);
    }
    Some(merged)
}

/// The part of a table that may hold secrets.
fn secrets(table: &toml::Table) -> toml::Table {
    let secret = |(key, value): (&String, &Value)| match value {
        value if is_secret(key, value) => Some((key.clone(), value.clone())),
        Value::Table(inner) => {
            let inner = secrets(inner);
            (!inner.is_empty()).then(|| (key.clone(), Value::Table(inner)))
        }
        _ => None,
    };
    table.iter().filter_map(secret).collect()
}

fn keep(table: &mut toml::Table, kept: toml::Table) {
    for (key, value) in kept {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(table)), Value::Table(kept)) => keep(table, kept),
            (Some(_), Value::Table(_)) => {}
            (_, value) => drop(table.insert(key, value)),
        }
    }
}

/// Whether it is a text whose name says that it is a secret, or a list of such.
fn is_secret(key: &str, value: &Value) -> bool {
    let key = key.to_ascii_lowercase();
    let is_text = match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => list.iter().any(Value::is_str),
        _ => false,
    };
    is_text && SECRET_NAMES.iter().any(|part| key.contains(part))
}

/// The texts of a value, other than those of a table, which are looked at by their keys.
fn texts(value: &Value) -> String {
    match value {
        Value::Table(_) => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn values(table: &Table) -> Result<toml::Table> {
    let mut document = toml_edit::DocumentMut::new();
    *document.as_table_mut() = table.clone();
    document.as_table_mut().set_implicit(false);
    document.to_string().parse().context("its settings are not TOML")
}

/// Makes the table hold these values. Items that are equal keep their comments.
fn write(table: &mut Table, values: &toml::Table) {
    let gone: Vec<String> =
        table.iter().map(|(key, _)| key.to_owned()).filter(|key| !values.contains_key(key)).collect();
    gone.iter().for_each(|key| drop(table.remove(key)));
    for (key, value) in values {
        match (table.get_mut(key), value) {
            (Some(Item::Table(inner)), Value::Table(values)) => write(inner, values),
            (found, value) => {
                if found.is_none_or(|found| !is_same(found, value)) {
                    set(table, key, value);
                }
            }
        }
    }
}

fn is_same(item: &Item, value: &Value) -> bool {
    let mut table = Table::new();
    table.insert("value", item.clone());
    values(&table).is_ok_and(|table| table.get("value") == Some(value))
}

fn set(table: &mut Table, key: &str, value: &Value) {
    match value {
        Value::Array(list) if !list.is_empty() && list.iter().all(Value::is_str) => {
            edit::set_list(table, key, list.iter().filter_map(Value::as_str));
        }
        Value::Table(values) => {
            let mut inner = Table::new();
            write(&mut inner, values);
            table.insert(key, Item::Table(inner));
        }
        value => drop(table.insert(key, Item::Value(inline(value)))),
    }
}

fn inline(value: &Value) -> toml_edit::Value {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(value) => (*value).into(),
        Value::Datetime(time) => time
            .to_string()
            .parse::<toml_edit::Datetime>()
            .map_or_else(|_| toml_edit::Value::from(time.to_string()), toml_edit::Value::from),
        Value::Array(list) => toml_edit::Value::Array(list.iter().map(inline).collect::<Array>()),
        Value::Table(table) => {
            let pairs = table.iter().map(|(key, value)| (key.as_str(), inline(value)));
            toml_edit::Value::InlineTable(pairs.collect::<InlineTable>())
        }
    }
}

impl Section<'_> {
    /// The table's name in config.toml.
    pub fn name(self) -> String {
        match self {
            Self::Plugin(name) => format!("[plugins.{name}]"),
            Self::Trusted(digest) => format!("[trusted_plugins.{digest}]"),
        }
    }
}
