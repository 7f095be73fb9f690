//! Case folding for queries and searches.

/// Folds case, so that texts become equal if they are equal under lower-casing (used by queries), simple case folding
/// (used by searches) or Unicode's full case folding. Each character is folded by itself, so a substring remains a
/// substring.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            // The upper case of this letter is that of another one.
            'ı' => folded.push(character),
            _ if character.is_ascii() => folded.push(character.to_ascii_lowercase()),
            // Some letters have only their upper case in common.
            _ => folded.extend(character.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase)),
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All characters that have another case.
    fn cased() -> Vec<char> {
        let is_cased = |c: &char| !c.to_lowercase().eq([*c]) || !c.to_uppercase().eq([*c]);
        ('\0'..=char::MAX).filter(is_cased).collect()
    }

    #[test]
    fn letters_that_a_search_takes_for_alike_fold_alike() {
        let all: String = cased().into_iter().collect();
        let mut pairs = 0;
        for one in cased() {
            let pattern = regex::escape(&one.to_string());
            let regex = regex::RegexBuilder::new(&pattern).case_insensitive(true).build().expect("it is one letter");
            for other in regex.find_iter(&all) {
                assert_eq!(fold(other.as_str()), fold(&one.to_string()), "{one} {}", other.as_str());
                pairs += usize::from(other.as_str() != one.to_string());
            }
        }
        assert!(pairs > 2_000, "{pairs}");
    }

    #[test]
    fn a_query_match_is_also_a_match_of_the_folded_text() {
        for one in cased() {
            for text in [one.to_string(), format!("a{one}"), format!("{one}a"), format!("a{one}b")] {
                let lower = text.to_lowercase();
                assert_eq!(fold(&lower), fold(&text), "{text}");
                assert!(fold(&format!("x{text}, y")).contains(&fold(&lower)), "{text}");
            }
        }
    }
}
