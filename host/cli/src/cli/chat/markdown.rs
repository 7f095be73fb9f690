//! Renders streamed Markdown for a terminal, block by block.

use super::super::text;
use super::command_output;
use termimad::MadSkin;
use termimad::crossterm::style::{Attribute, Color};

/// Text that is streamed. An incomplete block is drawn again with each piece; a complete one is final.
pub(super) struct StreamedText {
    skin: MadSkin,
    /// Whether the text is the output of a command, which is not Markdown.
    plain: bool,
    /// The text that is not final yet.
    open: String,
    /// The whole text.
    all: String,
}

impl StreamedText {
    pub(super) fn new(colors: bool, plain: bool) -> Self {
        Self { skin: skin(colors), plain, open: String::new(), all: String::new() }
    }

    /// Appends a piece.
    pub(super) fn push(&mut self, piece: &str) {
        self.all.push_str(piece);
        self.open.push_str(piece);
    }

    /// The whole text so far.
    pub(super) fn text(&self) -> &str {
        &self.all
    }

    /// Takes the complete blocks, as lines of at most `width` columns.
    pub(super) fn take_complete(&mut self, width: usize) -> Vec<String> {
        let end = complete_end(&self.open);
        let rest = self.open.split_off(end);
        let block = std::mem::replace(&mut self.open, rest);
        self.draw(&block, width)
    }

    /// Takes the rest, as final.
    pub(super) fn take_rest(&mut self, width: usize) -> Vec<String> {
        let block = std::mem::take(&mut self.open);
        self.draw(&block, width)
    }

    /// The incomplete block, as it looks so far.
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

/// The line with control characters escaped and tabs as spaces.
fn shown(line: &str) -> String {
    text::line(&line.replace('\t', "    "))
}

/// The end of the part that further text does not change: after the last empty line outside of a code block.
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

/// Bold and a color or two, legible on dark and on light backgrounds.
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
    fn a_block_is_complete_after_an_empty_line_and_a_code_block_after_its_closing_fence() {
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
    fn control_characters_are_escaped() {
        for plain in [false, true] {
            let mut said = StreamedText::new(false, plain);
            said.push("a\u{1b}[2Jb\u{202e}c\n");
            assert_eq!(said.take_rest(60).concat(), "a\\u{1b}[2Jb\\u{202e}c");
        }
    }
}
