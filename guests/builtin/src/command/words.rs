//! Splitting of a line into words, with shell quoting.

use bub_guest::{Error, Result};

/// Splits a line. Single quotes are literal; in double quotes a backslash escapes a double quote or backslash, outside
/// of quotes any character. There are no comments.
pub fn split(line: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(character) = rest.next() {
        match character {
            '\'' => quoted(&mut rest, word.get_or_insert_default(), '\'')?,
            '"' => quoted(&mut rest, word.get_or_insert_default(), '"')?,
            '\\' => match rest.next() {
                Some(escaped) => word.get_or_insert_default().push(escaped),
                None => {
                    return Err(Error::invalid("the line ends with a backslash; two of them are one"));
                }
            },
            space if space.is_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

fn quoted(rest: &mut std::str::Chars<'_>, word: &mut String, quote: char) -> Result<()> {
    while let Some(character) = rest.next() {
        match character {
            end if end == quote => return Ok(()),
            '\\' if quote == '"' => match rest.next() {
                Some(escaped @ ('"' | '\\')) => word.push(escaped),
                Some(other) => word.extend(['\\', other]),
                None => break,
            },
            other => word.push(other),
        }
    }
    Err(Error::invalid(format!("a quotation that begins with {quote} does not end")))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn quotes_and_backslashes_are_a_shells() {
        for (line, words) in [
            ("a b  c", vec!["a", "b", "c"]),
            ("a 'b  c' d", vec!["a", "b  c", "d"]),
            (r#"say "it's" 'a "b"'"#, vec!["say", "it's", r#"a "b""#]),
            (r#""a\"b\\c\d" \' e\ f"#, vec![r#"a"b\c\d"#, "'", "e f"]),
            ("a '' b", vec!["a", "", "b"]),
            ("x # no comment", vec!["x", "#", "no", "comment"]),
            ("k='v w'u", vec!["k=v wu"]),
            ("", vec![]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        for line in ["'a", "\"a", "a\\"] {
            assert!(split(line).is_err(), "{line}");
        }
    }
}
