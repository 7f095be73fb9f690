//! What somebody may have meant.

/// `; did you mean \`NAME\`` when one of the names is close to what was written, else nothing.
pub(crate) fn hint<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(written, names).map(|name| format!("; did you mean `{name}`")).unwrap_or_default()
}

/// The name that is closest to what was written, if any is close.
pub(crate) fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(written, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
