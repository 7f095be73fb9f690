//! "Did you mean" suggestions.

/// `; did you mean \`NAME\`` if one of the names is close to `written`, else an empty text.
pub fn hint<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(written, names).map(|name| format!("; did you mean `{name}`")).unwrap_or_default()
}

/// The name closest to `written`, if any is close.
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(written, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// At most `count` names that share most of their letters with `written`, the closest first.
pub fn several<'a>(written: &str, names: impl IntoIterator<Item = &'a str>, count: usize) -> Vec<&'a str> {
    let mut close: Vec<(f64, &str)> = names.into_iter().map(|name| (shared(written, name), name)).collect();
    close.retain(|(shared, _)| *shared >= 0.6);
    close.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    close.into_iter().take(count).map(|(_, name)| name).collect()
}

/// Similarity of two names: twice the length of their longest common subsequence, divided by the sum of their lengths.
fn shared(a: &str, b: &str) -> f64 {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut row = vec![0_usize; b.len() + 1];
    for left in &a {
        let mut corner = 0;
        for (at, right) in b.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if left == right { corner + 1 } else { above.max(row[at]) };
            corner = above;
        }
    }
    2.0 * row[b.len()] as f64 / (a.len() + b.len()).max(1) as f64
}
