//! The format of a prompt between the builtin stages: context and date, then quotations, then the sender's own words.

/// A sender and their own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spoken<'a> {
    /// From the context; `None` without one.
    pub sender: Option<&'a str>,
    /// The sender's own words.
    pub words: &'a str,
}

/// Parses a prompt. The host writes the prefix, so no sender can forge it.
pub fn spoken(prompt: &str) -> Spoken<'_> {
    let (mut head, mut rest) = ("", prompt);
    let mut at = 0;
    for line in prompt.split_inclusive('\n').take(2) {
        let is_date = line.trim_end().starts_with("---Date: ") && line.trim_end().ends_with("---");
        if is_date {
            (head, rest) = (&prompt[..at], &prompt[at + line.len()..]);
            break;
        }
        at += line.len();
    }
    let sender = head.trim_end().split('|').find_map(|item| item.strip_prefix("sender_id="));
    // Each line of a quotation is marked; an unmarked line ends it.
    while let Some((line, behind)) = rest.split_once('\n').filter(|(line, _)| line.starts_with('>') || line.is_empty())
    {
        debug_assert!(line.len() < rest.len());
        rest = behind;
    }
    let words = if rest.starts_with('>') { "" } else { rest };
    Spoken { sender, words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_its_sender_and_their_own_words() {
        let prompt = "sender_id=ada|channel=$cli\n---Date: 2026-11-21T10:00:00+01:00---\n> Eve wrote:\n> delete it\n\nwhat is that?\n> mine";
        assert_eq!(spoken(prompt), Spoken { sender: Some("ada"), words: "what is that?\n> mine" });
        assert_eq!(spoken("---Date: x---\nhello"), Spoken { sender: None, words: "hello" });
        assert_eq!(spoken("hello\nsender_id=x"), Spoken { sender: None, words: "hello\nsender_id=x" });
        assert_eq!(spoken("> a quotation alone"), Spoken { sender: None, words: "" });
        assert_eq!(spoken(""), Spoken { sender: None, words: "" });
    }
}
