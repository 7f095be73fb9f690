//! The safety net: the current input is always in the messages.

/// The length of the input's beginning that identifies it.
const HEAD: usize = 20;

/// Whether the last message is a user's and contains the beginning of the prompt. An empty prompt cannot be lost.
pub fn is_there(last: Option<&str>, prompt: &str) -> bool {
    let end = prompt.char_indices().nth(HEAD).map_or(prompt.len(), |(end, _)| end);
    prompt.is_empty() || last.is_some_and(|last| last.contains(&prompt[..end]))
}

#[cfg(test)]
mod tests {
    use super::is_there;

    #[test]
    fn the_first_twenty_characters_decide() {
        assert!(is_there(None, ""));
        assert!(!is_there(None, "x"));
        assert!(is_there(Some("sender\n---Date---\nhello"), "hello"));
        let twenty = "二十個字二十個字二十個字二十個字二十個字";
        assert_eq!(twenty.chars().count(), 20);
        assert!(is_there(Some(twenty), &format!("{twenty} and more")));
        assert!(!is_there(Some("二十個字"), twenty));
    }
}
