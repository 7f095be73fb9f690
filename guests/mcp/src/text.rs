//! Texts of strangers.

/// The beginning of a text, without control characters other than line ends and tabs, and without characters that are invisible
/// or change the direction of what follows: a person must see what a model reads.
pub fn clean(text: &str, max: usize) -> String {
    let mut clean: String = text.chars().filter(|c| is_shown(*c)).take(max + 1).collect();
    if let Some((end, _)) = clean.char_indices().nth(max) {
        clean.truncate(end);
        clean.push('…');
    }
    clean
}

/// The same on one line.
pub fn line(text: &str, max: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().take(max).collect();
    clean(&words.join(" "), max)
}

/// Whether a person sees it.
pub fn is_shown(c: char) -> bool {
    let is_hidden = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    c == '\n' || c == '\t' || !(c.is_control() || is_hidden)
}

#[cfg(test)]
mod tests {
    use super::{clean, line};

    #[test]
    fn what_cannot_be_seen_is_removed_and_the_rest_is_cut() {
        assert_eq!(clean("a\u{202e}b\u{e0041}\u{1b}[0m\n", 10), "ab[0m\n");
        assert_eq!(clean("abcd", 3), "abc…");
        assert_eq!(line(" a\n\tb  c ", 10), "a b c");
    }
}
