//! The parts of a request from one stage to the next.

use crate::carry::{BlamedLeaf, carry};
use crate::difference::Blamed;
use crate::leaves::{LeafKind, leaves};
use crate::trail::{Part, PartKind, Stage};
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// Words of a text that are compared to find what it was made of.
const MAX_WORDS: usize = 2_000;

/// Earlier parts that a changed one is compared with.
const MAX_CANDIDATES: usize = 24;

/// Of all different words of two parts those that both have, in percent, from which on one was made of the other.
const MIN_ALIKE: usize = 25;

/// A part of the request with the sources of its leaves.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) kind: PartKind,
    /// The entry of the tape that it stands for.
    pub(crate) entry: Option<u64>,
    pub(crate) leaves: Vec<BlamedLeaf>,
    /// What identifies it, however it is written.
    key: String,
}

impl Item {
    /// A part before the first stage.
    pub(crate) fn new(part: &Part) -> Self {
        let found = leaves(&part.text);
        let made = found.iter().map(|leaf| {
            let finer = part.finer.iter().find(|finer| leaf.kind == LeafKind::Text && finer.path == leaf.path);
            let blamed = match finer {
                Some(finer) => finer.history.blamed().rewritten(&leaf.text, part.source, 0),
                None => Blamed::new(&leaf.text, part.source),
            };
            BlamedLeaf { path: leaf.path.clone(), kind: leaf.kind, blamed, part: None }
        });
        let made = Self::with(part.kind, part.entry, made.collect());
        part.steps.iter().fold(made, |made, step| Self::rewritten(Some(&made), part.kind, &step.text, step.source))
    }

    fn with(kind: PartKind, entry: Option<u64>, leaves: Vec<BlamedLeaf>) -> Self {
        Self { kind, entry, key: key(&leaves), leaves }
    }

    /// The text of a leaf.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        let mut texts = self.leaves.iter().filter(|leaf| leaf.kind != LeafKind::Name);
        texts.find(|leaf| leaf.path == path).map(|leaf| leaf.blamed.text.as_str())
    }

    /// What a stage of that source made of it, or wrote in its place.
    fn rewritten(before: Option<&Self>, kind: PartKind, text: &str, source: usize) -> Self {
        let known = before.map_or(&[][..], |before| &before.leaves);
        Self::with(kind, before.and_then(|before| before.entry), carry(known, &leaves(text), source))
    }

    /// What two parts of one kind must share to be one.
    fn identity(&self) -> Option<&str> {
        match self.kind {
            PartKind::Message => self.text("role"),
            PartKind::Tool => self.text("function.name"),
            PartKind::Settings => None,
        }
    }
}

/// The leaves in an order that does not depend on how the document was written.
fn key(leaves: &[BlamedLeaf]) -> String {
    let mut lines: Vec<String> = leaves
        .iter()
        .filter(|leaf| leaf.kind != LeafKind::Name)
        .map(|leaf| format!("{:?} {:?} {:?}", leaf.path, leaf.kind, leaf.blamed.text))
        .collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// What a stage makes of the parts of a request.
pub(crate) fn staged(items: Vec<Item>, stage: &Stage) -> Vec<Item> {
    let settings: Option<Vec<Arc<str>>> = stage.settings.as_ref().map(|settings| vec![Arc::clone(settings)]);
    let lists = [
        (PartKind::Message, stage.messages.as_ref()),
        (PartKind::Tool, stage.tools.as_ref()),
        (PartKind::Settings, settings.as_ref()),
    ];
    let mut made = Vec::new();
    for (kind, after) in lists {
        let before: Vec<Item> = items.iter().filter(|item| item.kind == kind).cloned().collect();
        match after {
            Some(after) => made.extend(aligned(before, kind, after, stage.source)),
            None => made.extend(before),
        }
    }
    made
}

/// The parts of one kind behind a stage: those that it kept, in whatever order; those that it changed; and new ones.
fn aligned(before: Vec<Item>, kind: PartKind, after: &[Arc<str>], source: usize) -> Vec<Item> {
    // Written by the stage alone, for now.
    let written: Vec<Item> = after.iter().map(|text| Item::rewritten(None, kind, text, source)).collect();
    let mut places: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (place, item) in before.iter().enumerate() {
        places.entry(item.key.as_str()).or_default().push_back(place);
    }
    let kept: Vec<Option<usize>> = written.iter().map(|item| places.get_mut(item.key.as_str())?.pop_front()).collect();
    let mut is_free = vec![true; before.len()];
    kept.iter().flatten().for_each(|place| is_free[*place] = false);
    let mut changed = Changed { before: &before, words: HashMap::new(), is_free };
    let between = |at: usize| {
        let begin = kept[..at].iter().rev().find_map(|place| *place).map_or(0, |place| place + 1);
        let end = kept[at..].iter().find_map(|place| *place).unwrap_or(before.len());
        begin..end.max(begin)
    };
    // First those that are like an earlier one, then those that stand at the place of one.
    let mut origins = kept.clone();
    for way in [Changed::alike, Changed::at_place] {
        for (at, item) in written.iter().enumerate() {
            if origins[at].is_none() {
                origins[at] = way(&mut changed, item, between(at));
            }
        }
    }
    let origins = origins.into_iter().zip(after);
    // With its own spelling: the leaves may stand in another order.
    origins.map(|(place, text)| Item::rewritten(place.map(|place| &before[place]), kind, text, source)).collect()
}

/// The parts before a stage that it did not keep.
struct Changed<'a> {
    before: &'a [Item],
    words: HashMap<usize, HashSet<&'a str>>,
    is_free: Vec<bool>,
}

impl<'a> Changed<'a> {
    /// The part that is most like this one: between its neighbours, or at another place if it is very like it.
    fn alike(&mut self, item: &Item, between: Range<usize>) -> Option<usize> {
        let near = self.candidates(item, between);
        let words = words(item);
        let alike = self.most_alike(&near, &words).filter(|(alike, _)| *alike >= MIN_ALIKE);
        let place = alike.or_else(|| self.moved(item, &words))?.1;
        self.take(place)
    }

    /// The only part between its neighbours; of tools the one of its name.
    fn at_place(&mut self, item: &Item, between: Range<usize>) -> Option<usize> {
        match (&self.candidates(item, between)[..], item.kind) {
            ([only], _) => self.take(*only),
            (_, PartKind::Message) => None,
            _ => self.take(*self.candidates(item, 0..self.before.len()).first()?),
        }
    }

    fn candidates(&self, item: &Item, places: Range<usize>) -> Vec<usize> {
        let is_it = |place: &usize| self.is_free[*place] && self.before[*place].identity() == item.identity();
        places.filter(is_it).take(MAX_CANDIDATES).collect()
    }

    fn take(&mut self, place: usize) -> Option<usize> {
        self.is_free[place] = false;
        Some(place)
    }

    /// A part that was at another place, and shares most words with it.
    fn moved(&mut self, item: &Item, words: &HashSet<&str>) -> Option<(usize, usize)> {
        let all = self.candidates(item, 0..self.before.len());
        self.most_alike(&all, words).filter(|(alike, _)| *alike >= 2 * MIN_ALIKE)
    }

    /// The part of these that shares most words with another, and how many of a hundred.
    fn most_alike(&mut self, places: &[usize], words: &HashSet<&str>) -> Option<(usize, usize)> {
        let mut best = None;
        for place in places {
            let before = self.before;
            let known = self.words.entry(*place).or_insert_with(|| self::words(&before[*place]));
            let shared = known.iter().filter(|word| words.contains(**word)).count();
            let all = known.len() + words.len() - shared;
            let alike = (shared * 100).checked_div(all).unwrap_or(100);
            if best.is_none_or(|(most, _)| alike > most) {
                best = Some((alike, *place));
            }
        }
        best
    }
}

/// The different words of the texts of a part, as far as they are compared.
fn words(item: &Item) -> HashSet<&str> {
    let texts = item.leaves.iter().filter(|leaf| leaf.kind == LeafKind::Text).map(|leaf| leaf.blamed.text.as_str());
    texts.flat_map(str::split_whitespace).take(MAX_WORDS).collect()
}
