//! Truncation of texts to a number of tokens.

use crate::estimate;

/// The beginning of a text, at most `most` tokens: up to the end of a paragraph if one lies in the second half of the
/// budget, else of a line, else of a word. Never inside a character.
pub fn to_tokens(text: &str, most: u64) -> &str {
    if estimate(text) <= most {
        return text;
    }
    let head = longest_head(text, most);
    let half = head.len() / 2;
    let at = |mark: &str| head.rfind(mark).filter(|at| *at > 0 && *at >= half);
    // A head that ends before white space is a whole word.
    let whole = text[head.len()..].starts_with(char::is_whitespace);
    let word = || if whole { None } else { head.rfind(char::is_whitespace).filter(|at| *at >= half) };
    let end = at("\n\n").or_else(|| at("\n")).or_else(word).unwrap_or(head.len());
    head[..end].trim_end()
}

/// Head and tail of a text, two thirds and one third, in at most `most` tokens, with a line between them that `note`
/// makes of the number of characters left out. The whole text if it fits.
pub fn ends(text: &str, most: u64, note: impl Fn(usize) -> String) -> String {
    if estimate(text) <= most {
        return text.to_owned();
    }
    let all = text.chars().count();
    // The line is longest when everything is left out; joining may round up.
    let room = most.saturating_sub(estimate(&note(all)) + 3);
    let head = longest_head(text, room * 2 / 3);
    let rest = &text[head.len()..];
    let tail = longest_tail(rest, room - room * 2 / 3);
    let left_out = rest[..rest.len() - tail.len()].chars().count();
    let mut shown = format!("{head}\n{}\n{tail}", note(left_out));
    // Scripts are weighed by their share, so both ends together may weigh more than their sum.
    while estimate(&shown) > most {
        let Some((last, _)) = shown.char_indices().next_back() else { break };
        shown.truncate(last);
    }
    shown
}

/// The longest beginning that weighs at most that much, by bisection: the weight grows almost monotonically.
fn longest_head(text: &str, most: u64) -> &str {
    let (mut fits, mut over) = (0, text.len() + 1);
    while over - fits > 1 {
        let middle = floor(text, (fits + over) / 2);
        if middle <= fits {
            // Stop when no character boundary lies between the two but after the middle.
            let next = text[fits..].chars().next().map_or(over, |character| fits + character.len_utf8());
            if next >= over || estimate(&text[..next]) > most {
                break;
            }
            fits = next;
        } else if estimate(&text[..middle]) <= most {
            fits = middle;
        } else {
            over = middle;
        }
    }
    &text[..fits]
}

fn longest_tail(text: &str, most: u64) -> &str {
    let (mut fits, mut over) = (text.len(), 0);
    if estimate(text) <= most {
        return text;
    }
    while fits > over {
        let mut middle = (fits + over).div_ceil(2);
        while !text.is_char_boundary(middle) {
            middle += 1;
        }
        if middle >= fits {
            let Some(last) = text[..fits].chars().next_back() else { break };
            let before = fits - last.len_utf8();
            if before <= over || estimate(&text[before..]) > most {
                break;
            }
            fits = before;
        } else if estimate(&text[middle..]) <= most {
            fits = middle;
        } else {
            over = middle;
        }
    }
    &text[fits..]
}

fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_fits_exactly_is_not_cut_and_a_longer_one_is() {
        let text = "word ".repeat(80);
        let tokens = estimate(&text);
        assert_eq!(to_tokens(&text, tokens), text);
        assert!(estimate(to_tokens(&text, tokens - 1)) < tokens);
        assert_eq!(to_tokens(&text, 0), "");
    }

    #[test]
    fn a_paragraph_ends_the_cut_where_one_ends_late_enough() {
        let text = format!("{}\n\n{}\n\n{}", "a b ".repeat(30).trim(), "c d ".repeat(20).trim(), "e f ".repeat(80));
        let cut = to_tokens(&text, 60);
        assert!(cut.ends_with("c d"), "{cut}");
        // Ending at the early paragraph would discard more than half.
        let text = format!("short\n\n{}", "word ".repeat(200));
        assert!(estimate(to_tokens(&text, 100)) > 80);
    }

    #[test]
    fn emoji_and_mixed_scripts_are_cut_on_a_character_border() {
        let text = "你好🎉 мир 안녕 مرحبا 🇨🇳 e\u{301}".repeat(40);
        for most in 0..estimate(&text) + 2 {
            let cut = to_tokens(&text, most);
            assert!(estimate(cut) <= most && text.starts_with(cut), "{most}");
            let both = ends(&text, most, |left| format!("[{left} left out]"));
            assert!(estimate(&both) <= most, "{most}: {}", estimate(&both));
        }
    }

    #[test]
    fn both_ends_are_kept_and_the_note_counts_the_omitted_part() {
        let text = format!("begin {} end", "middle ".repeat(500));
        let both = ends(&text, 100, |left| format!("[... {left} characters ...]"));
        assert!(both.starts_with("begin ") && both.ends_with(" end"), "{both}");
        let left: usize = both.split("[... ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        let note = format!("\n[... {left} characters ...]\n");
        assert_eq!(both.chars().count() - note.chars().count() + left, text.chars().count());
    }
}
