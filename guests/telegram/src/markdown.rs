//! Markdown of models as formatted spans. Telegram has no headings, lists, tables and rules, so they are emulated.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A format, outer ones first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    Quote,
    Bold,
    Italic,
    Strike,
    Link(String),
    Code,
    /// A block of code, in a language.
    Block(String),
}

/// A text with uniform formatting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub looks: Vec<Look>,
}

/// Parses Markdown. Other text is unchanged.
pub fn read(text: &str) -> Vec<Span> {
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let mut reader = Reader::default();
    for event in Parser::new_ext(text, options) {
        reader.event(event);
    }
    reader.spans
}

/// Unformatted text.
pub fn plain(text: &str) -> Vec<Span> {
    vec![Span { text: text.to_owned(), looks: Vec::new() }]
}

#[derive(Default)]
struct Reader {
    spans: Vec<Span>,
    looks: Vec<Look>,
    /// The number of the next item of each open list; `None` for unordered ones.
    lists: Vec<Option<u64>>,
    /// Number of open quotations: Telegram cannot nest them.
    quotes: usize,
    /// Line breaks before the next block.
    apart: usize,
    /// The cells of the current row.
    row: Vec<String>,
    /// All rows of a table.
    rows: Vec<Vec<String>>,
    is_cell: bool,
}

impl Reader {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.say(&text),
            Event::Code(text) => self.within(Look::Code, &text),
            Event::Html(text) | Event::InlineHtml(text) => self.say(&text),
            Event::SoftBreak | Event::HardBreak => self.say("\n"),
            Event::Rule => {
                self.say("———");
                self.apart = 2;
            }
            Event::TaskListMarker(is_done) => self.say(if is_done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(name) => self.say(&format!("[{name}]")),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.within(Look::Code, &text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } | Tag::Strong => self.looks.push(Look::Bold),
            Tag::Emphasis => self.looks.push(Look::Italic),
            Tag::Strikethrough => self.looks.push(Look::Strike),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.looks.push(Look::Link(dest_url.to_string()))
            }
            Tag::BlockQuote(_) => {
                if self.quotes == 0 {
                    self.looks.insert(0, Look::Quote);
                }
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(language) => {
                        language.split_whitespace().next().unwrap_or_default().to_owned()
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                self.looks.push(Look::Block(language));
            }
            Tag::List(first) => {
                if !self.lists.is_empty() {
                    self.apart = 1;
                }
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::TableCell => {
                self.is_cell = true;
                self.row.push(String::new());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.apart = 2,
            TagEnd::Heading(_) => {
                self.looks.pop();
                self.apart = 2;
            }
            TagEnd::Strong | TagEnd::Emphasis | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image => {
                self.looks.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.quotes = self.quotes.saturating_sub(1);
                if self.quotes == 0 {
                    self.looks.retain(|look| *look != Look::Quote);
                }
                self.apart = 2;
            }
            TagEnd::CodeBlock => {
                self.looks.pop();
                // The last line break before a fence is not part of the code.
                if let Some(last) = self.spans.last_mut().filter(|last| last.text.ends_with('\n')) {
                    last.text.pop();
                }
                self.apart = 2;
            }
            TagEnd::Item => self.apart = 1,
            TagEnd::List(_) => {
                self.lists.pop();
                self.apart = if self.lists.is_empty() { 2 } else { 1 };
            }
            TagEnd::TableCell => self.is_cell = false,
            TagEnd::TableHead | TagEnd::TableRow => self.rows.push(std::mem::take(&mut self.row)),
            TagEnd::Table => self.table(),
            _ => {}
        }
    }

    fn item(&mut self) {
        let depth = self.lists.len().saturating_sub(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        self.say(&format!("{}{mark}", "  ".repeat(depth)));
    }

    /// Renders a table with aligned columns, in monospace.
    fn table(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            cells.collect::<Vec<_>>().join(" | ").trim_end().to_owned()
        };
        let text = rows.iter().map(line).collect::<Vec<_>>().join("\n");
        self.within(Look::Block(String::new()), &text);
        self.apart = 2;
    }

    fn within(&mut self, look: Look, text: &str) {
        self.looks.push(look);
        self.say(text);
        self.looks.pop();
    }

    fn say(&mut self, text: &str) {
        if self.is_cell {
            if let Some(cell) = self.row.last_mut() {
                cell.push_str(text);
            }
            return;
        }
        if self.apart > 0 && !self.spans.is_empty() {
            let ends = "\n".repeat(self.apart);
            // A quotation continues between its paragraphs.
            let is_quoted = self.quotes > 0 && self.spans.last().is_some_and(|last| last.looks.contains(&Look::Quote));
            let looks = if is_quoted { vec![Look::Quote] } else { Vec::new() };
            self.spans.push(Span { text: ends, looks });
        }
        self.apart = 0;
        let looks = allowed(&self.looks);
        match self.spans.last_mut() {
            Some(last) if last.looks == looks => last.text.push_str(text),
            _ => self.spans.push(Span { text: text.to_owned(), looks }),
        }
    }
}

/// Formats that Telegram can combine: code excludes others, links need a target, and there are no duplicates.
fn allowed(looks: &[Look]) -> Vec<Look> {
    let mut allowed: Vec<Look> = Vec::new();
    let code = looks.iter().find(|look| matches!(look, Look::Code | Look::Block(_)));
    for look in looks {
        let is_link = |look: &Look| matches!(look, Look::Link(_));
        let fits = match look {
            Look::Quote => true,
            Look::Code | Look::Block(_) => Some(look) == code,
            _ if code.is_some() => false,
            Look::Link(to) => leads_somewhere(to) && !allowed.iter().any(is_link),
            _ => !allowed.contains(look),
        };
        if fits {
            allowed.push(look.clone());
        }
    }
    allowed
}

fn leads_somewhere(to: &str) -> bool {
    let schemes = ["https://", "http://", "tg://", "mailto:"];
    schemes.iter().any(|scheme| to.len() > scheme.len() && to.to_ascii_lowercase().starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(markdown: &str) -> String {
        read(markdown).into_iter().map(|span| span.text).collect()
    }

    #[test]
    fn unsupported_markdown_is_emulated() {
        let markdown = "# Title\n\none\ntwo\n\n- a\n- b\n  1. c\n  2. d\n\n---\n\n- [x] done\n\n| k | v |\n|---|---|\n| long | 1 |\n";
        let expected = "Title\n\none\ntwo\n\n• a\n• b\n  1. c\n  2. d\n\n———\n\n• ☑ done\n\nk    | v\nlong | 1";
        assert_eq!(text(markdown), expected);
    }

    #[test]
    fn code_is_nothing_else_and_links_lead_somewhere() {
        let spans = read("**a `b` [c](https://x.y) [d](javascript:e)**");
        let looks: Vec<(&str, usize)> = spans.iter().map(|span| (span.text.as_str(), span.looks.len())).collect();
        assert_eq!(looks, [("a ", 1), ("b", 1), (" ", 1), ("c", 2), (" d", 1)]);
        assert_eq!(spans[1].looks, [Look::Code]);
    }

    #[test]
    fn a_block_keeps_its_lines_and_its_language() {
        let spans = read("see\n\n```rust\nfn a() {}\n\n  <b>\n```\nend");
        assert_eq!(spans[2], Span { text: "fn a() {}\n\n  <b>".into(), looks: vec![Look::Block("rust".into())] });
        assert_eq!(text("see\n\n```\nx\n```\nend"), "see\n\nx\n\nend");
    }

    #[test]
    fn quotations_are_one_within_another_or_not() {
        let spans = read("> a\n>\n> > b\n\nc");
        assert_eq!(spans.iter().map(|span| span.looks.len()).collect::<Vec<_>>(), [1, 1, 0], "{spans:?}");
        assert_eq!(text("> a\n>\n> > b\n\nc"), "a\n\nb\n\nc");
    }

    #[test]
    fn text_without_markdown_is_unchanged() {
        for plain in ["a < b & c > d", "2 * 3 * 4", "snake_case_name", "<script>x</script>"] {
            assert_eq!(text(plain), plain);
        }
    }
}
