//! The files of a project, made of a template. `guests/templates/README.md` describes the layout.

use super::kit::{self, File, Files};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `template.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Template {
    /// Names that a project in this language cannot have.
    #[serde(default)]
    reserved: Vec<String>,
    /// Whether a name cannot begin with a digit.
    #[serde(default)]
    letter_first: bool,
    /// The files of the archive that go into the project: destination and source.
    vendor: BTreeMap<String, String>,
}

/// The files of that project.
///
/// # Errors
///
/// The language does not allow the name, or the program's templates are damaged.
pub(super) fn files(name: &str, language: &str, kind: &str) -> Result<Files> {
    let kit = kit::unpack()?;
    let damaged = || format!("the templates for {language} in this program are damaged; install it again");
    let template = kit.get(&format!("templates/{language}/template.toml")).with_context(damaged)?;
    let template: Template = toml::from_slice(&template.bytes).with_context(damaged)?;
    if template.reserved.iter().any(|reserved| reserved == name) {
        bail!("a project in {language} cannot be named `{name}`: choose another name");
    }
    if template.letter_first && !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        bail!("the name of a project in {language} begins with a letter, and `{name}` does not: choose another name");
    }
    let values = values(name, kind);
    let fill = |text: &str| values.iter().fold(text.to_owned(), |text, (mark, value)| text.replace(mark, value));
    let mut files = Files::new();
    for (to, from) in &template.vendor {
        for (path, file) in &kit {
            if let Some(rest) = path.strip_prefix(from.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('/'))
            {
                files.insert(format!("{to}{rest}"), file.clone());
            }
        }
    }
    // A file of the kind replaces the one of all kinds.
    for part in ["common", kind] {
        let folder = format!("templates/{language}/{part}/");
        for (path, file) in &kit {
            let Some(path) = path.strip_prefix(&folder) else { continue };
            let bytes = match std::str::from_utf8(&file.bytes) {
                Ok(text) => fill(text).into_bytes(),
                Err(_) => file.bytes.clone(),
            };
            files.insert(fill(path), File { bytes, ..*file });
        }
    }
    Ok(files)
}

/// The placeholders and their values.
fn values(name: &str, kind: &str) -> [(&'static str, String); 5] {
    let digit_first = name.starts_with(|first: char| first.is_ascii_digit());
    let in_front = if digit_first { "_" } else { "" };
    let pascal = |word: &str| match word.split_at_checked(1) {
        Some((first, rest)) => first.to_ascii_uppercase() + rest,
        None => String::new(),
    };
    [
        ("{{name}}", name.to_owned()),
        ("{{name_snake}}", format!("{in_front}{}", name.replace('-', "_"))),
        ("{{name_pascal}}", format!("{in_front}{}", name.split(['-', '_']).map(pascal).collect::<String>())),
        ("{{kind}}", kind.to_owned()),
        ("{{version}}", env!("CARGO_PKG_VERSION").to_owned()),
    ]
}
