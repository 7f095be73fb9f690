//! What a model says, as it comes: Markdown for people, block by block.

use super::super::text;
use super::command_output;
use termimad::MadSkin;
use termimad::crossterm::style::{Attribute, Color};

/// Text that is being said. A block of it is drawn anew with each piece until it is whole; then it stays as it stands.
pub(super) struct StreamedText {
    skin: MadSkin,
    /// Drawn as it is, not as Markdown: what a command gave.
    plain: bool,
    /// What is not drawn for good.
    open: String,
    /// All of it, as it was said.
    all: String,
}

impl StreamedText {
    pub(super) fn new(colors: bool, plain: bool) -> Self {
        Self { skin: skin(colors), plain, open: String::new(), all: String::new() }
    }

    /// Takes a piece.
    pub(super) fn push(&mut self, piece: &str) {
        self.all.push_str(piece);
        self.open.push_str(piece);
    }

    /// All that was said.
    pub(super) fn text(&self) -> &str {
        &self.all
    }

    /// The blocks that are whole, as lines of at most that many columns. They are not given again.
    pub(super) fn take_complete(&mut self, width: usize) -> Vec<String> {
        let end = complete_end(&self.open);
        let rest = self.open.split_off(end);
        let block = std::mem::replace(&mut self.open, rest);
        self.draw(&block, width)
    }

    /// All that is left, for good.
    pub(super) fn take_rest(&mut self, width: usize) -> Vec<String> {
        let block = std::mem::take(&mut self.open);
        self.draw(&block, width)
    }

    /// The block that is not whole yet, as it looks so far.
    pub(super) fn unfinished(&self, width: usize) -> Vec<String> {
        self.draw(&self.open, width)
    }

    fn draw(&self, block: &str, width: usize) -> Vec<String> {
        if block.trim().is_empty() {
            return Vec::new();
        }
        if self.plain {
            return command_output::lines(block, width);
        }
        let clean: Vec<String> = block.trim_end().lines().map(shown).collect();
        let drawn = self.skin.text(&clean.join("\n"), Some(width.max(20))).to_string();
        let lines = drawn.trim_end().lines().map(|line| line.trim_end().to_owned());
        lines.chain(block.ends_with("\n\n").then(String::new)).collect()
    }
}

/// The line with nothing in it that a terminal would obey; tabs are spaces.
fn shown(line: &str) -> String {
    text::line(&line.replace('\t', "    "))
}

/// Where the part ends that no further piece changes: behind the last empty line that stands in no code block.
fn complete_end(text: &str) -> usize {
    let (mut end, mut at, mut fence) = (0, 0, None);
    for line in text.split_inclusive('\n') {
        at += line.len();
        let word = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| word.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => {
                fence = None;
                end = if line.ends_with('\n') { at } else { end };
            }
            (None, None) if word.is_empty() && line.ends_with('\n') => end = at,
            _ => {}
        }
    }
    end
}

/// Quiet: bold and a color or two, legible on dark and on light.
fn skin(colors: bool) -> MadSkin {
    let mut skin = MadSkin::no_style();
    if colors {
        skin.bold.add_attr(Attribute::Bold);
        skin.italic.add_attr(Attribute::Italic);
        skin.strikeout.add_attr(Attribute::CrossedOut);
        skin.inline_code.set_fg(Color::Cyan);
        skin.code_block.set_fg(Color::Cyan);
        for header in &mut skin.headers {
            header.add_attr(Attribute::Bold);
        }
    }
    for header in &mut skin.headers {
        header.align = termimad::Alignment::Left;
    }
    skin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_whole_behind_an_empty_line_and_a_code_block_behind_its_last_fence() {
        for (text, expected) in [
            ("one", ""),
            ("one\n", ""),
            ("one\n\n", "one\n\n"),
            ("one\n\ntwo", "one\n\n"),
            ("```\na\n\nb", ""),
            ("```\na\n\nb\n```", ""),
            ("```\na\n\nb\n```\n", "```\na\n\nb\n```\n"),
            ("~~~\n```\n\n~~~\nx", "~~~\n```\n\n~~~\n"),
        ] {
            assert_eq!(&text[..complete_end(text)], expected, "{text:?}");
        }
    }

    #[test]
    fn pieces_give_the_same_lines_as_the_whole() {
        let text =
            "# Title\n\nSome **bold** text with `code` in it.\n\n- one\n- two\n\n```rust\nfn main() {}\n\n```\nend";
        let mut whole = StreamedText::new(false, false);
        whole.push(text);
        let mut lines = whole.take_complete(60);
        lines.extend(whole.take_rest(60));
        let mut pieces = StreamedText::new(false, false);
        let mut drawn = Vec::new();
        for piece in text.split_inclusive(|_: char| true) {
            pieces.push(piece);
            drawn.extend(pieces.take_complete(60));
        }
        drawn.extend(pieces.take_rest(60));
        assert_eq!(
            drawn.iter().filter(|line| !line.is_empty()).collect::<Vec<_>>(),
            lines.iter().filter(|line| !line.is_empty()).collect::<Vec<_>>()
        );
        assert_eq!(pieces.text(), text);
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown_instead() {
        for plain in [false, true] {
            let mut said = StreamedText::new(false, plain);
            said.push("a\u{1b}[2Jb\u{202e}c\n");
            assert_eq!(said.take_rest(60).concat(), "a\\u{1b}[2Jb\\u{202e}c");
        }
    }
}
