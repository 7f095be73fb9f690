//! Compares what a command prints with what a page shows.

/// A line of a page that matches any lines.
const ANY_LINES: &str = "...";

/// Placeholder for any text within a line.
const ANY_TEXT: &str = "[..]";

/// Whether the lines that were printed are those of the page.
pub(super) fn matches(expected: &[String], printed: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == ANY_LINES => (0..=printed.len()).any(|at| matches(rest, &printed[at..])),
        Some((first, rest)) => {
            printed.split_first().is_some_and(|(line, others)| line_matches(first, line) && matches(rest, others))
        }
    }
}

fn line_matches(expected: &str, line: &str) -> bool {
    let mut parts = expected.split(ANY_TEXT);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

/// The lines of a command without blanks at their ends, and without empty ones at the end.
pub(super) fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}

/// The lines that are missing (`-`) and unexpected (`+`), without the common lines at both ends.
pub(super) fn difference(expected: &[String], printed: &[&str]) -> String {
    let is_same = |pair: &(&String, &&str)| line_matches(pair.0, pair.1);
    let before = expected.iter().zip(printed).take_while(is_same).count();
    let (expected_rest, printed_rest) = (&expected[before..], &printed[before..]);
    let behind = expected_rest.iter().rev().zip(printed_rest.iter().rev()).take_while(is_same).count();
    let mut text = String::new();
    let mut add = |sign: &str, line: &str| text.push_str(&format!("{sign} {line}\n"));
    printed[..before].iter().for_each(|line| add(" ", line));
    expected_rest[..expected_rest.len() - behind].iter().for_each(|line| add("-", line));
    printed_rest[..printed_rest.len() - behind].iter().for_each(|line| add("+", line));
    printed_rest[printed_rest.len() - behind..].iter().for_each(|line| add(" ", line));
    text
}

#[test]
fn dots_match_any_lines_and_any_text_only() {
    let is = |expected: &[&str], printed: &[&str]| {
        matches(&expected.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>(), printed)
    };
    assert!(is(&["a", "...", "z"], &["a", "z"]) && is(&["a", "...", "z"], &["a", "b", "c", "z"]));
    assert!(!is(&["a", "..."], &["b"]) && !is(&["...", "z"], &["z", "y"]) && !is(&[], &["a"]) && !is(&["a"], &[]));
    assert!(is(&["took [..] s, [..]"], &["took 3 s, or so"]) && is(&["a[..]"], &["a"]));
    assert!(!is(&["took [..] s"], &["took 3 s, or so"]) && !is(&["[..]b[..]c"], &["xcxb"]));
}
