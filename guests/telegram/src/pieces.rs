//! Splitting of a text into Telegram messages, each with balanced tags and within the length limit.

use crate::markdown::{Look, Span};

/// Maximum length of a message in UTF-16 code units without tags, as Telegram counts.
pub const LONGEST: usize = 4_096;

/// One message.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece {
    /// With tags.
    pub html: String,
    /// Without.
    pub plain: String,
}

/// A character, and the index of its span.
type Letter = (char, usize);

/// Splits between paragraphs, lines or words, in this order of preference. Open tags are closed before a split and
/// reopened after it.
pub fn cut(spans: &[Span], longest: usize) -> Vec<Piece> {
    let letters: Vec<Letter> =
        spans.iter().enumerate().flat_map(|(at, span)| span.text.chars().map(move |c| (c, at))).collect();
    let mut pieces = Vec::new();
    let mut rest = letters.as_slice();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(end(rest, longest));
        if let Some(piece) = piece_of(trimmed(piece, spans), spans) {
            pieces.push(piece);
        }
        rest = behind;
    }
    pieces
}

/// The end of the first piece.
fn end(letters: &[Letter], longest: usize) -> usize {
    let mut units = 0;
    let fits = letters.iter().take_while(|(c, _)| {
        units += c.len_utf16();
        units <= longest
    });
    let fits = fits.count();
    if fits == letters.len() {
        return fits;
    }
    let is = |at: usize, wanted: char| letters.get(at).is_some_and(|(c, _)| *c == wanted);
    let late = |cut: &usize| *cut > fits / 2;
    // Splits before line ends or the space, which are trimmed from the next piece.
    let blank = |at: usize| letters.get(at).is_some_and(|(c, _)| c.is_whitespace());
    let paragraph = (1..=fits).rev().find(|at| is(*at, '\n') && is(at + 1, '\n')).filter(late);
    let line = || (1..=fits).rev().find(|at| is(*at, '\n')).filter(late);
    let word = || (1..=fits).rev().find(|at| blank(*at)).filter(late);
    let letter = || (1..=fits).rev().find(|at| !joins(letters, *at)).unwrap_or(fits);
    paragraph.or_else(line).or_else(word).unwrap_or_else(letter).max(1)
}

/// Whether the character belongs to the cluster before it.
fn joins(letters: &[Letter], at: usize) -> bool {
    let is_joint = |c: char| matches!(c, '\u{200d}' | '\u{fe0f}' | '\u{300}'..='\u{36f}' | '\u{1f3fb}'..='\u{1f3ff}');
    let before = letters.get(at.wrapping_sub(1)).is_some_and(|(c, _)| *c == '\u{200d}');
    before || letters.get(at).is_some_and(|(c, _)| is_joint(*c))
}

/// Trims blank lines at the beginning and white space at the end. Indentation of code is kept.
fn trimmed<'l>(letters: &'l [Letter], spans: &[Span]) -> &'l [Letter] {
    let is_code =
        |at: usize| spans.get(at).is_some_and(|span| span.looks.iter().any(|look| matches!(look, Look::Block(_))));
    let start = letters.iter().position(|(c, at)| *c != '\n' && (is_code(*at) || !c.is_whitespace()));
    let end = letters.iter().rposition(|(c, _)| !c.is_whitespace());
    match (start, end) {
        (Some(start), Some(end)) if start <= end => &letters[start..=end],
        _ => &[],
    }
}

/// `None` if nothing in it is visible.
fn piece_of(letters: &[Letter], spans: &[Span]) -> Option<Piece> {
    if letters.is_empty() {
        return None;
    }
    let (mut html, mut open): (String, Vec<&Look>) = (String::new(), Vec::new());
    let mut last = usize::MAX;
    for (c, at) in letters {
        if *at != last {
            let wanted: Vec<&Look> = spans.get(*at).map(|span| span.looks.iter().collect()).unwrap_or_default();
            let shared = open.iter().zip(&wanted).take_while(|(a, b)| a == b).count();
            open.drain(shared..).rev().for_each(|look| html.push_str(&closing(look)));
            for look in wanted.into_iter().skip(shared) {
                html.push_str(&opening(look));
                open.push(look);
            }
            last = *at;
        }
        push(&mut html, *c);
    }
    open.into_iter().rev().for_each(|look| html.push_str(&closing(look)));
    Some(Piece { html, plain: letters.iter().map(|(c, _)| c).collect() })
}

fn push(html: &mut String, c: char) {
    match c {
        '<' => html.push_str("&lt;"),
        '>' => html.push_str("&gt;"),
        '&' => html.push_str("&amp;"),
        '"' => html.push_str("&quot;"),
        c => html.push(c),
    }
}

fn escaped(text: &str) -> String {
    let mut html = String::new();
    text.chars().for_each(|c| push(&mut html, c));
    html
}

fn opening(look: &Look) -> String {
    match look {
        Look::Quote => "<blockquote>".to_owned(),
        Look::Bold => "<b>".to_owned(),
        Look::Italic => "<i>".to_owned(),
        Look::Strike => "<s>".to_owned(),
        Look::Link(to) => format!("<a href=\"{}\">", escaped(to)),
        Look::Code => "<code>".to_owned(),
        Look::Block(language) if language.is_empty() => "<pre>".to_owned(),
        Look::Block(language) => format!("<pre><code class=\"language-{}\">", escaped(language)),
    }
}

fn closing(look: &Look) -> String {
    match look {
        Look::Quote => "</blockquote>",
        Look::Bold => "</b>",
        Look::Italic => "</i>",
        Look::Strike => "</s>",
        Look::Link(_) => "</a>",
        Look::Code => "</code>",
        Look::Block(language) if language.is_empty() => "</pre>",
        Look::Block(_) => "</code></pre>",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::read;

    fn units(text: &str) -> usize {
        text.encode_utf16().count()
    }

    #[test]
    fn tags_are_closed_in_the_order_in_which_they_were_opened() {
        let pieces = cut(&read("**a *b*** `<c>` [d](https://x/?a=1&b=\"2)\n\n> q & r"), LONGEST);
        let html = "<b>a <i>b</i></b> <code>&lt;c&gt;</code> <a href=\"https://x/?a=1&amp;b=&quot;2\">d</a>\n\n<blockquote>q &amp; r</blockquote>";
        assert_eq!(pieces, [Piece { html: html.into(), plain: "a b <c> d\n\nq & r".into() }]);
    }

    #[test]
    fn code_is_closed_before_a_split_and_reopened_after_it() {
        let code: String = (0..40).map(|n| format!("    line {n}\n")).collect();
        let pieces = cut(&read(&format!("see\n\n```rust\n{code}```\n\nend")), 200);
        assert!(pieces.len() > 2);
        let (open, close) = ("<pre><code class=\"language-rust\">", "</code></pre>");
        for piece in &pieces {
            assert_eq!(piece.html.matches(open).count(), piece.html.matches(close).count(), "{}", piece.html);
            assert!(units(&piece.plain) <= 200);
        }
        assert!(pieces[1].html.starts_with("<pre><code class=\"language-rust\">    line "), "{}", pieces[1].html);
        assert!(pieces[1].html.ends_with(close));
    }

    #[test]
    fn texts_are_split_between_paragraphs_lines_or_words() {
        let cut_plain = |text: &str| cut(&read(text), 20).into_iter().map(|piece| piece.plain).collect::<Vec<_>>();
        assert_eq!(cut_plain("first words here\n\nsecond ones there"), ["first words here", "second ones there"]);
        assert_eq!(cut_plain("first words\nof all lines"), ["first words", "of all lines"]);
        assert_eq!(cut_plain("no line ends in here but words"), ["no line ends in here", "but words"]);
        assert_eq!(cut_plain(&"x".repeat(45)), ["x".repeat(20), "x".repeat(20), "x".repeat(5)]);
    }

    #[test]
    fn lengths_are_counted_as_telegram_counts_and_no_letter_is_cut() {
        // Two units each.
        let pieces = cut(&read(&"🦀".repeat(3_000)), LONGEST);
        assert_eq!(pieces.iter().map(|piece| units(&piece.plain)).collect::<Vec<_>>(), [4_096, 1_904]);
        let family = "👩‍👩‍👧";
        let joined: String = cut(&read(&family.repeat(10)), 21).iter().map(|piece| piece.plain.as_str()).collect();
        assert_eq!(joined, family.repeat(10));
        assert!(cut(&read(&family.repeat(10)), 21).iter().all(|piece| piece.plain.starts_with('👩')));
    }

    #[test]
    fn blank_text_is_not_sent() {
        assert!(cut(&read(" \n\n "), LONGEST).is_empty() && cut(&[], LONGEST).is_empty());
    }
}
