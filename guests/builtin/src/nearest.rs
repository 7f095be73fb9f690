//! Suggestions for misspelled names.

/// The name within one edit of `written`, or two for a longer name.
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = |name: &str| if name.chars().count() > 6 { 2 } else { 1 };
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(written, name), name))
        .filter(|(distance, name)| (1..=allowed(name)).contains(distance))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The same, or else a name of which `written` is a whole first part: `tape` for `tape.info`.
pub fn meant<'a>(written: &str, names: &[&'a str]) -> Vec<&'a str> {
    if let Some(name) = nearest(written, names.iter().copied()) {
        return vec![name];
    }
    let is_below = |name: &&&str| name.strip_prefix(written).is_some_and(|rest| rest.starts_with('.'));
    names.iter().filter(is_below).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::{meant, nearest};

    const NAMES: [&str; 6] = ["model", "quit", "tape.info", "tape.search", "reasoning_effort", "skill"];

    #[test]
    fn a_misspelled_name_is_suggested_and_a_different_word_is_not() {
        for (written, name) in [("modle", "model"), ("qiut", "quit"), ("tape.inof", "tape.info"), ("kill", "skill")] {
            assert_eq!(nearest(written, NAMES), Some(name), "{written}");
        }
        for written in ["git", "ls", "node", "make", "model", ""] {
            assert_eq!(nearest(written, NAMES), None, "{written}");
        }
    }

    #[test]
    fn a_group_name_suggests_its_tools() {
        assert_eq!(meant("tape", &NAMES), ["tape.info", "tape.search"]);
        assert!(meant("tap", &NAMES).is_empty());
    }
}
