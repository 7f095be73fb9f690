//! Names and optional fields as serde's attributes define them.

use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Result};

/// The attributes of a container, a field or a variant that change its JSON.
#[derive(Default)]
pub struct Serde {
    pub rename: Option<String>,
    pub rename_all: Option<LitStr>,
    pub has_default: bool,
    pub is_closed: bool,
    pub is_skipped: bool,
}

impl Serde {
    /// # Errors
    ///
    /// An attribute that a derived schema cannot follow.
    pub fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut serde = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            attribute.parse_nested_meta(|meta| {
                let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                match name.as_str() {
                    "rename" => serde.rename = Some(meta.value()?.parse::<LitStr>()?.value()),
                    "rename_all" => serde.rename_all = Some(meta.value()?.parse()?),
                    "default" => {
                        serde.has_default = true;
                        if meta.input.peek(syn::Token![=]) {
                            meta.value()?.parse::<LitStr>()?;
                        }
                    }
                    "deny_unknown_fields" => serde.is_closed = true,
                    "skip" | "skip_deserializing" => serde.is_skipped = true,
                    // They do not change what is accepted under which name.
                    "alias" | "deserialize_with" | "bound" | "crate" | "expecting" => {
                        meta.value()?.parse::<LitStr>()?;
                    }
                    "with" | "flatten" | "tag" | "untagged" | "content" | "from" | "try_from" | "transparent" | "other" => {
                        return Err(meta.error(format!(
                            "`#[serde({name})]` has no derived schema: write the fields out, or name the schema of another type with `#[schema(with = TYPE)]`"
                        )));
                    }
                    // Only for serialization.
                    _ if meta.input.peek(syn::Token![=]) => {
                        meta.value()?.parse::<Expr>()?;
                    }
                    _ => {}
                }
                Ok(())
            })?;
        }
        Ok(serde)
    }
}

/// The lines of a doc comment, without blank ones.
pub fn docs(attributes: &[Attribute]) -> Vec<String> {
    let lines =
        attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).filter_map(|attribute| match &attribute
            .meta
            .require_name_value()
            .ok()?
            .value
        {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        });
    lines
        .flat_map(|text| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>())
        .filter(|line| !line.is_empty())
        .collect()
}

/// The name under serde's rule `rename_all`, for a field in `snake_case` or a variant in `PascalCase`.
///
/// # Errors
///
/// A rule that serde does not have.
pub fn renamed(name: &str, rule: &LitStr, is_variant: bool) -> Result<String> {
    let words: Vec<String> = match is_variant {
        false => name.split('_').map(str::to_owned).collect(),
        true => {
            let mut words: Vec<String> = Vec::new();
            for character in name.chars() {
                match words.last_mut() {
                    Some(word) if !character.is_uppercase() => word.push(character),
                    _ => words.push(character.to_lowercase().collect()),
                }
            }
            words
        }
    };
    let capital = |word: &String| {
        let mut characters = word.chars();
        characters
            .next()
            .map(|first| first.to_uppercase().collect::<String>() + characters.as_str())
            .unwrap_or_default()
    };
    let all = |separator: &str| words.join(separator);
    let pascal = || words.iter().map(capital).collect::<String>();
    Ok(match rule.value().as_str() {
        "lowercase" if is_variant => words.concat(),
        "lowercase" => name.to_owned(),
        "UPPERCASE" if is_variant => words.concat().to_uppercase(),
        "UPPERCASE" => name.to_uppercase(),
        "PascalCase" => pascal(),
        "camelCase" => words.iter().take(1).cloned().chain(words.iter().skip(1).map(capital)).collect(),
        "snake_case" => all("_"),
        "SCREAMING_SNAKE_CASE" => all("_").to_uppercase(),
        "kebab-case" => all("-"),
        "SCREAMING-KEBAB-CASE" => all("-").to_uppercase(),
        other => return Err(syn::Error::new(rule.span(), format!("`{other}` is not a rule of `rename_all`"))),
    })
}
