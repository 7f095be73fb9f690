//! The parts of a text that stand in an earlier text too, and what a chain of rewritings makes of sources.

use crate::source::HOST;
use imara_diff::{Algorithm, Diff, InternedInput};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// Pairs of words up to which the shortest difference is looked for; beyond it one that is found in about linear time.
const MAX_EXACT: usize = 1 << 21;

/// Bytes that the beginnings or the ends of two words must share to count as kept.
const MIN_SHARED: usize = 3;

/// A text and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The source.
    pub source: usize,
    /// The text.
    pub text: Arc<str>,
}

impl Step {
    /// A text of that source.
    pub fn new(source: usize, text: impl Into<Arc<str>>) -> Self {
        Self { source, text: text.into() }
    }
}

/// How a text was made: pieces side by side, then rewritings of the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The pieces that it was first joined of.
    pub pieces: Vec<Step>,
    /// The text after each stage that changed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

impl History {
    /// A text of one source.
    pub fn new(source: usize, text: impl Into<Arc<str>>) -> Self {
        Self { pieces: vec![Step::new(source, text)], steps: Vec::new() }
    }

    /// All sources that it names.
    pub fn sources(&self) -> impl Iterator<Item = usize> {
        self.pieces.iter().chain(&self.steps).map(|step| step.source)
    }

    /// The text at its end, with the source of each span.
    pub(crate) fn blamed(&self) -> Blamed {
        let mut blamed = Blamed::default();
        self.pieces.iter().for_each(|piece| blamed.push(&piece.text, piece.source));
        self.steps.iter().fold(blamed, |before, step| before.rewritten(&step.text, step.source, 0))
    }
}

/// A text with the sources of its spans, which cover it in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Blamed {
    pub(crate) text: String,
    /// The end of each span, and its source.
    pub(crate) spans: Vec<(usize, usize)>,
}

impl Blamed {
    /// A text of one source.
    pub(crate) fn new(text: &str, source: usize) -> Self {
        let mut blamed = Self::default();
        blamed.push(text, source);
        blamed
    }

    fn push(&mut self, text: &str, source: usize) {
        self.text.push_str(text);
        self.cover(self.text.len(), source);
    }

    /// The spans reach to that end, the last of them with that source.
    fn cover(&mut self, end: usize, source: usize) {
        match self.spans.last_mut() {
            Some((last, _)) if *last >= end => {}
            Some((last, known)) if *known == source => *last = end,
            _ if end > 0 => self.spans.push((end, source)),
            _ => {}
        }
    }

    /// The spans of a part of the text: the end of each within that part, and its source.
    fn within(&self, range: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        let first = self.spans.partition_point(|(end, _)| *end <= range.start);
        let inside = self.spans[first..].iter().scan(range.start, move |begin, (end, source)| {
            (*begin < range.end).then(|| {
                *begin = *end;
                ((*end).min(range.end) - range.start, *source)
            })
        });
        inside.filter(|(end, _)| *end > 0)
    }

    /// A part of it.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        Self { text: self.text[range.clone()].to_owned(), spans: self.within(range).collect() }
    }

    /// The same text in another spelling: of the source of its beginning, if it has several.
    pub(crate) fn meaning(self, text: &str) -> Self {
        match self.text == text {
            true => self,
            false => Self::new(text, self.spans.first().map_or(HOST, |(_, source)| *source)),
        }
    }

    /// The next text: what it keeps has the source that it had, the rest that one. What is kept and shorter than
    /// `min_run` bytes counts as written anew.
    pub(crate) fn rewritten(&self, after: &str, source: usize, min_run: usize) -> Self {
        if self.text == after {
            return self.clone();
        }
        let mut made = Self { text: after.to_owned(), spans: Vec::new() };
        for (before, kept) in kept(&self.text, after) {
            if kept.len() < min_run && kept.len() < after.len() {
                continue;
            }
            made.cover(kept.start, source);
            for (end, known) in self.within(before.start..before.start + kept.len()) {
                made.cover(kept.start + end, known);
            }
        }
        made.cover(after.len(), source);
        made
    }

    /// Joins another text to it.
    pub(crate) fn join(&mut self, other: &Self) {
        let begin = self.text.len();
        self.text.push_str(&other.text);
        for (end, source) in &other.spans {
            self.cover(begin + end, *source);
        }
    }
}

/// A change of a text by a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The source of what is new.
    pub source: usize,
    /// What was there.
    pub before: String,
    /// What is there.
    pub after: String,
}

/// What each step of a history changed, as passages without what they keep.
pub fn changes(history: &History) -> Vec<Change> {
    let mut before: String = history.pieces.iter().map(|piece| &*piece.text).collect();
    let mut changes = Vec::new();
    for step in &history.steps {
        let (mut one, mut other) = (0, 0);
        let ends = std::iter::once((before.len()..before.len(), step.text.len()..step.text.len()));
        for (gone, kept) in kept(&before, &step.text).into_iter().chain(ends) {
            if one < gone.start || other < kept.start {
                let [gone, new] = [&before[one..gone.start], &step.text[other..kept.start]].map(str::to_owned);
                changes.push(Change { source: step.source, before: gone, after: new });
            }
            (one, other) = (gone.end, kept.end);
        }
        before = step.text.to_string();
    }
    changes
}

/// The ranges that both texts share, in order, of the first and of the second: by words, then by the ends of words that
/// were changed. A shared range without a letter or a digit between changes is no kept text.
pub(crate) fn kept<'a>(before: &'a str, after: &'a str) -> Vec<(Range<usize>, Range<usize>)> {
    let (ones, others) = (tokens(before), tokens(after));
    let words = |text: &'a str, tokens: &[Range<usize>]| -> Vec<&'a str> {
        tokens.iter().map(|range| &text[range.clone()]).collect()
    };
    let (is_removed, is_added) = differences(&words(before, &ones), &words(after, &others));
    let is_removed = |place: usize| is_removed.get(place).copied().unwrap_or(false);
    let is_added = |place: usize| is_added.get(place).copied().unwrap_or(false);
    let mut runs = Runs { runs: Vec::new() };
    let (mut at, mut there) = (0, 0);
    // Where what was compared last ends: words are no neighbours of others, blanks are in between.
    let mut ends = (0, 0);
    while at < ones.len() || there < others.len() {
        let begin = |tokens: &[Range<usize>], place: usize, end| tokens.get(place).map_or(end, |token| token.start);
        let begins = (begin(&ones, at, before.len()), begin(&others, there, after.len()));
        runs.keep_blanks((before, after), ends, begins);
        if is_removed(at) || is_added(there) {
            let (gone, new) = (at, there);
            while is_removed(at) {
                at += 1;
            }
            while is_added(there) {
                there += 1;
            }
            if let (Some(gone), Some(new)) = (covered(&ones[gone..at]), covered(&others[new..there])) {
                let (head, tail) = shared_ends(&before[gone.clone()], &after[new.clone()]);
                if head >= MIN_SHARED {
                    runs.push(gone.start, new.start, head);
                }
                if tail >= MIN_SHARED {
                    runs.push(gone.end - tail, new.end - tail, tail);
                }
            }
            continue;
        }
        let (Some(here), Some(same)) = (ones.get(at), others.get(there)) else { break };
        runs.push(here.start, same.start, here.len());
        ends = (here.end, same.end);
        (at, there) = (at + 1, there + 1);
    }
    runs.keep_blanks((before, after), ends, (before.len(), after.len()));
    let last = after.len();
    let is_text = |range: &Range<usize>| {
        range.start == 0 || range.end == last || after[range.clone()].chars().any(char::is_alphanumeric)
    };
    runs.runs.into_iter().filter(|(_, kept)| is_text(kept)).collect()
}

/// Which words are gone, and which are new: as few as can be, where that is found in a short time.
fn differences(before: &[&str], after: &[&str]) -> (Vec<bool>, Vec<bool>) {
    let head = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let (one, other) = (&before[head..], &after[head..]);
    let tail = one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count();
    let (one, other) = (&one[..one.len() - tail], &other[..other.len() - tail]);
    let (removed, added) = match one.len().saturating_mul(other.len()) {
        ..=MAX_EXACT => fewest(one, other),
        _ => {
            let mut input = InternedInput::default();
            input.update_before(one.iter().copied());
            input.update_after(other.iter().copied());
            let diff = Diff::compute(Algorithm::Histogram, &input);
            let gone = (0..one.len()).map(|place| diff.is_removed(place as u32)).collect();
            (gone, (0..other.len()).map(|place| diff.is_added(place as u32)).collect())
        }
    };
    let whole = |changed: Vec<bool>| {
        let same = |count| std::iter::repeat_n(false, count);
        same(head).chain(changed).chain(same(tail)).collect()
    };
    (whole(removed), whole(added))
}

/// The same by the longest list of words that both have.
fn fewest(before: &[&str], after: &[&str]) -> (Vec<bool>, Vec<bool>) {
    let width = after.len() + 1;
    // How many words the rests behind each pair of places share.
    let mut shared = vec![0_u32; (before.len() + 1) * width];
    for at in (0..before.len()).rev() {
        for there in (0..after.len()).rev() {
            let place = at * width + there;
            shared[place] = match before[at] == after[there] {
                true => shared[place + width + 1] + 1,
                false => shared[place + width].max(shared[place + 1]),
            };
        }
    }
    let (mut removed, mut added) = (vec![true; before.len()], vec![true; after.len()]);
    let (mut at, mut there) = (0, 0);
    while at < before.len() && there < after.len() {
        let place = at * width + there;
        if before[at] == after[there] {
            (removed[at], added[there]) = (false, false);
            (at, there) = (at + 1, there + 1);
        } else if shared[place + width] >= shared[place + 1] {
            at += 1;
        } else {
            there += 1;
        }
    }
    (removed, added)
}

struct Runs {
    runs: Vec<(Range<usize>, Range<usize>)>,
}

impl Runs {
    fn push(&mut self, before: usize, after: usize, length: usize) {
        match self.runs.last_mut() {
            _ if length == 0 => {}
            Some((one, other)) if one.end == before && other.end == after => {
                one.end += length;
                other.end += length;
            }
            _ => self.runs.push((before..before + length, after..after + length)),
        }
    }

    /// Keeps the blanks from `ends` to `begins` that are the same, behind a run that ends there.
    fn keep_blanks(&mut self, (before, after): (&str, &str), ends: (usize, usize), begins: (usize, usize)) {
        let latest = self.runs.last().map_or((0, 0), |(one, other)| (one.end, other.end));
        let blanks = (before.get(ends.0..begins.0), after.get(ends.1..begins.1));
        if latest == ends
            && let (Some(one), Some(other)) = blanks
            && one == other
        {
            self.push(ends.0, ends.1, one.len());
        }
    }
}

fn covered(tokens: &[Range<usize>]) -> Option<Range<usize>> {
    Some(tokens.first()?.start..tokens.last()?.end)
}

/// Bytes that both texts share at their beginnings, and at their ends behind these; whole characters.
fn shared_ends(one: &str, other: &str) -> (usize, usize) {
    let common = |pairs: &mut dyn Iterator<Item = (char, char)>| {
        pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum::<usize>()
    };
    let prefix = common(&mut one.chars().zip(other.chars()));
    let suffix = common(&mut one[prefix..].chars().rev().zip(other[prefix..].chars().rev()));
    (prefix, suffix)
}

/// Words, and every other character by itself. Blanks are no tokens: there are more of them than words, and the longest
/// list of what two texts share would be one of blanks.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut tokens: Vec<Range<usize>> = Vec::new();
    let mut latest = None;
    for (at, character) in text.char_indices() {
        let class = match character {
            '_' => Some(0),
            // Scripts without blanks between words are compared character by character.
            _ if character.is_alphanumeric() && !is_ideograph(character) => Some(0),
            _ if character.is_whitespace() => Some(1),
            _ => None,
        };
        let end = at + character.len_utf8();
        match tokens.last_mut() {
            _ if class == Some(1) => {}
            Some(token) if class.is_some() && class == latest => token.end = end,
            _ => tokens.push(at..end),
        }
        latest = class;
    }
    tokens
}

fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..)
}
