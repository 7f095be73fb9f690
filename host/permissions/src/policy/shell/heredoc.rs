//! Here documents.

use super::Parser;

/// A here document whose lines follow at the next newline.
pub(super) struct HereDoc {
    delimiter: String,
    strips_tabs: bool,
    /// Whether nothing in it is expanded.
    is_quoted: bool,
    pub(super) depth: usize,
}

impl Parser {
    /// Reads a delimiter. Anything but a plain word, quoted or not, is not understood.
    pub(super) fn heredoc(&mut self, strips_tabs: bool) {
        let start = self.at;
        let word = self.word();
        let written: String = self.text[start..self.at.min(self.text.len())].iter().collect();
        let is_plain = |text: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '!'))
        };
        let quoted = [("'", "'"), ("\"", "\""), ("\\", "")]
            .into_iter()
            .find_map(|(before, after)| written.strip_prefix(before)?.strip_suffix(after));
        if !is_plain(quoted.unwrap_or(&written)) {
            self.script.give_up();
        }
        self.heredocs.push(HereDoc {
            delimiter: word.text,
            strips_tabs,
            is_quoted: quoted.is_some(),
            depth: self.depth,
        });
    }

    /// Reads the here documents that wait for this newline.
    pub(super) fn read_heredocs(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            if heredoc.depth != self.depth {
                self.script.give_up();
            }
            let mut body = Vec::new();
            loop {
                if self.peek().is_none() {
                    self.script.give_up();
                    break;
                }
                let end = self.text[self.at..].iter().position(|character| *character == '\n');
                let end = end.map_or(self.text.len(), |length| self.at + length);
                let line = &self.text[self.at..end];
                let tabs = if heredoc.strips_tabs { line.iter().take_while(|c| **c == '\t').count() } else { 0 };
                let is_end = line[tabs..].iter().copied().eq(heredoc.delimiter.chars());
                // The next line is a part of this one, and so no delimiter.
                if !heredoc.is_quoted && line.last() == Some(&'\\') {
                    self.script.give_up();
                }
                if !is_end {
                    body.extend_from_slice(line);
                    body.push('\n');
                }
                self.at = (end + 1).min(self.text.len());
                if is_end {
                    break;
                }
            }
            self.script.inputs.push(body.iter().collect());
            if !heredoc.is_quoted {
                self.expansions(body);
            }
        }
    }
}
