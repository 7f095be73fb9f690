//! All keys of config.toml: types from the deserialized types, defaults and descriptions from `doctor --config`.

use super::{begin, sentence, table};
use crate::cli::doctor::settings::Key;
use anyhow::{Result, bail};
use bub_config::typed_keys;

/// Placeholders for names that users choose.
const NAMES: [(&str, &str); 16] = [
    ("mcp.*.env.*", "mcp.NAME.env.VARIABLE"),
    ("mcp.*.headers.*", "mcp.NAME.headers.HEADER"),
    ("mcp.*.effects.*", "mcp.NAME.effects.TOOL"),
    ("mcp.*", "mcp.NAME"),
    ("audit.witness_headers.*", "audit.witness_headers.HEADER"),
    ("telemetry.headers.*", "telemetry.headers.HEADER"),
    ("telemetry.resource.*", "telemetry.resource.ATTRIBUTE"),
    ("prices.models.*", "prices.models.MODEL"),
    ("windows.*", "windows.MODEL"),
    ("plugins.*", "plugins.NAME"),
    ("trusted_plugins.*", "trusted_plugins.DIGEST"),
    ("registry.secrets.*", "registry.secrets.HOST"),
    ("trust.keys.*", "trust.keys.NAME"),
    ("trust.identities.*", "trust.identities.NAME"),
    ("trust.plugins.*", "trust.plugins.NAME"),
    ("channels.*", "channels.NAME"),
];

/// Tables whose keys are those of another one.
const SHARED: [&str; 3] = ["plugins.NAME.limits", "trusted_plugins.DIGEST.limits", "tokens[].quota"];

pub(super) fn page(described: &[Key]) -> Result<String> {
    let intro = "`$BUB_HOME/config.toml` is the only configuration file; a workspace configures nothing.\n\
        [Environment variables](environment.md) override it.\n\
        An unknown key is an error that names the nearest key.\n\
        `bub-wasm doctor --config` prints the same list with the values that hold now.\n\n\
        `NAME`, `MODEL`, `DIGEST` and `PRINCIPAL` (`owner`, `peer` or `anonymous`) stand for a table of your choice: \
        `plugins.NAME.enabled` is `enabled` below `[plugins.shell]`.\n\
        `tokens[]` is a list of tables, `[[tokens]]`, and `process.rules[]` is `[[process.rules]]`.\n";
    let mut page = begin("Configuration", intro);
    let mut types: Vec<(String, String)> = Vec::new();
    for key in typed_keys() {
        let (path, kind) = known(&key.path, key.kind);
        if !types.iter().any(|(known, _)| *known == path) {
            types.push((path, kind));
        }
    }
    // Groups in the order of their first keys; those without a table come first.
    let mut groups: Vec<(&str, Vec<Vec<String>>)> = vec![("", Vec::new())];
    for (path, kind) in &types {
        let Some(key) = described.iter().find(|key| key.name == path) else {
            bail!("`{path}` of config.toml is not described: add it to host/cli/src/cli/doctor/settings.rs");
        };
        let (of, _) = path.rsplit_once('.').unwrap_or(("", path));
        let default = if key.default.is_null() { "–".to_owned() } else { format!("`{}`", key.default) };
        let row = vec![format!("`{path}`"), kind.clone(), default, sentence(key.about)];
        match groups.iter_mut().find(|(group, _)| *group == of) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((of, vec![row])),
        }
    }
    groups.into_iter().for_each(|(group, rows)| write(&mut page, group, rows));
    if let Some(key) = described.iter().find(|key| !types.iter().any(|(path, _)| path == key.name)) {
        bail!("`{}` is described in host/cli/src/cli/doctor/settings.rs and is not a key of config.toml", key.name);
    }
    Ok(page.trim_end().to_owned() + "\n")
}

/// A key as users see it, and its type.
fn known(path: &str, kind: String) -> (String, String) {
    let named = NAMES.iter().find_map(|(anonymous, name)| {
        let rest = path.strip_prefix(anonymous)?;
        (rest.is_empty() || rest.starts_with('.')).then(|| format!("{name}{rest}"))
    });
    let mut path = named.unwrap_or_else(|| path.to_owned());
    for principal in ["owner", "peer", "anonymous"] {
        path = path.replace(&format!("quotas.{principal}."), "quotas.PRINCIPAL.");
    }
    match SHARED.iter().find(|table| path.starts_with(&format!("{table}."))) {
        Some(table) => ((*table).to_owned(), "table".to_owned()),
        None => (path, kind),
    }
}

fn write(page: &mut String, group: &str, rows: Vec<Vec<String>>) {
    let title = match group {
        "" => "## Top level".to_owned(),
        list if list.ends_with("[]") => format!("## `[[{}]]`", list.trim_end_matches("[]")),
        group => format!("## `[{group}]`"),
    };
    page.push_str(&format!("{title}\n\n"));
    table(page, &["Key", "Type", "Default", "Meaning"], rows);
    page.push('\n');
}
