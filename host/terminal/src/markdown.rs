//! Renders streamed Markdown for a terminal, block by block.

use super::command_output;
use super::text;
use termimad::MadSkin;
use termimad::crossterm::style::{Attribute, Color};

/// Text that is streamed. An incomplete block is drawn again with each piece; a complete one is final.
pub struct StreamedText {
    skin: MadSkin,
    /// Whether the text is the output of a command, which is not Markdown.
    plain: bool,
    /// The text that is not final yet.
    open: String,
    /// The whole text.
    all: String,
}

impl StreamedText {
    /// An empty text. `colors`: with colors and attributes. `plain`: the output of a command, which is not Markdown.
    pub fn new(colors: bool, plain: bool) -> Self {
        Self { skin: skin(colors), plain, open: String::new(), all: String::new() }
    }

    /// Appends a piece.
    pub fn push(&mut self, piece: &str) {
        self.all.push_str(piece);
        self.open.push_str(piece);
    }

    /// The whole text so far.
    pub fn text(&self) -> &str {
        &self.all
    }

    /// Takes the complete blocks, as lines of at most `width` columns.
    pub fn take_complete(&mut self, width: usize) -> Vec<String> {
        let end = complete_end(&self.open);
        let rest = self.open.split_off(end);
        let block = std::mem::replace(&mut self.open, rest);
        self.draw(&block, width)
    }

    /// Takes the rest, as final.
    pub fn take_rest(&mut self, width: usize) -> Vec<String> {
        let block = std::mem::take(&mut self.open);
        self.draw(&block, width)
    }

    /// The incomplete block, as it looks so far.
    pub fn unfinished(&self, width: usize) -> Vec<String> {
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
