//! Sources from the leaves of one document to those of the next.

use crate::difference::{Blamed, kept};
use crate::leaves::{Leaf, LeafKind};
use std::collections::{HashMap, VecDeque};

/// Bytes of a passage that is found again at another path.
const MIN_MOVED: usize = 12;

/// Bytes of earlier texts in which a text without a place of its own is looked for.
const MAX_JOINED: usize = 1 << 20;

/// Texts that are looked for in this way, of one document.
const MAX_SOUGHT: usize = 16;

/// Leaves at one path that are looked through.
const MAX_REPEATED: usize = 8;

/// A leaf with the sources of its text.
#[derive(Debug, Clone)]
pub(crate) struct BlamedLeaf {
    pub(crate) path: String,
    pub(crate) kind: LeafKind,
    pub(crate) blamed: Blamed,
    /// The part of the request that it belongs to.
    pub(crate) part: Option<usize>,
}

/// The leaves of the next document: what is at the same path or says the same has the sources that it had, what is
/// changed has them in the passages that are kept, and all else is of that source.
pub(crate) fn carry<'a>(before: &'a [BlamedLeaf], after: &'a [Leaf<'a>], source: usize) -> Vec<BlamedLeaf> {
    let mut known = Known::new(before);
    let mut found: Vec<Option<usize>> = vec![None; after.len()];
    // Each at its own path, then wherever it stands, then what was changed at its path.
    let ways: [fn(&mut Known<'a>, &'a Leaf<'a>) -> Option<usize>; 3] = [Known::same, Known::moved, Known::changed];
    for way in ways {
        for (place, leaf) in found.iter_mut().zip(after).filter(|(place, _)| place.is_none()) {
            *place = way(&mut known, leaf);
        }
    }
    let rest = known.rest();
    let mut sought = 0;
    let carried = found.into_iter().zip(after).map(|(place, leaf)| {
        let (blamed, part) = match place.map(|place| &before[place]) {
            Some(known) => (known.blamed.rewritten(&leaf.text, source, 0), known.part),
            None if leaf.kind == LeafKind::Text && leaf.text.len() >= MIN_MOVED && sought < MAX_SOUGHT => {
                sought += 1;
                rest.find(&leaf.text, source)
            }
            None => (Blamed::new(&leaf.text, source), None),
        };
        BlamedLeaf { path: leaf.path.clone(), kind: leaf.kind, blamed, part }
    });
    carried.collect()
}

type Places = VecDeque<usize>;

/// The leaves of the document before, each of which is found once.
struct Known<'a> {
    before: &'a [BlamedLeaf],
    is_found: Vec<bool>,
    by_path: HashMap<(&'a str, LeafKind), Places>,
    by_text: HashMap<(&'a str, LeafKind), Places>,
}

impl<'a> Known<'a> {
    fn new(before: &'a [BlamedLeaf]) -> Self {
        let (mut by_path, mut by_text) = (HashMap::<_, Places>::new(), HashMap::<_, Places>::new());
        for (place, leaf) in before.iter().enumerate() {
            by_path.entry((leaf.path.as_str(), leaf.kind)).or_default().push_back(place);
            by_text.entry((leaf.blamed.text.as_str(), leaf.kind)).or_default().push_back(place);
        }
        Self { before, is_found: vec![false; before.len()], by_path, by_text }
    }

    fn same(&mut self, leaf: &'a Leaf<'a>) -> Option<usize> {
        let places = self.by_path.get(&(leaf.path.as_str(), leaf.kind))?;
        // A name can stand in an object again and again.
        let mut places = places.iter().take(MAX_REPEATED).copied();
        let place = places.find(|place| !self.is_found[*place] && self.before[*place].blamed.text == leaf.text)?;
        self.is_found[place] = true;
        Some(place)
    }

    fn moved(&mut self, leaf: &'a Leaf<'a>) -> Option<usize> {
        // A number elsewhere is another number.
        let places = self.by_text.get_mut(&(&*leaf.text, leaf.kind)).filter(|_| leaf.kind != LeafKind::Literal)?;
        next(places, &mut self.is_found)
    }

    fn changed(&mut self, leaf: &'a Leaf<'a>) -> Option<usize> {
        next(self.by_path.get_mut(&(leaf.path.as_str(), leaf.kind))?, &mut self.is_found)
    }

    /// The texts that were not found again.
    fn rest(&self) -> Rest {
        let mut rest = Rest::default();
        let left = self.before.iter().zip(&self.is_found).filter(|(_, is_found)| !**is_found).map(|(leaf, _)| leaf);
        for leaf in left.filter(|leaf| leaf.kind == LeafKind::Text && leaf.blamed.text.len() >= MIN_MOVED) {
            if rest.joined.text.len() + leaf.blamed.text.len() <= MAX_JOINED {
                rest.joined.join(&leaf.blamed);
                rest.parts.push((rest.joined.text.len(), leaf.part));
            }
        }
        rest
    }
}

/// The first of these places that was not found yet.
fn next(places: &mut Places, is_found: &mut [bool]) -> Option<usize> {
    while let Some(place) = places.pop_front() {
        if !is_found[place] {
            is_found[place] = true;
            return Some(place);
        }
    }
    None
}

/// Texts without a place in the next document, joined, and the part of the request that each belongs to.
#[derive(Default)]
struct Rest {
    joined: Blamed,
    parts: Vec<(usize, Option<usize>)>,
}

impl Rest {
    /// A text that may be made of some of them.
    fn find(&self, text: &str, source: usize) -> (Blamed, Option<usize>) {
        let kept = kept(&self.joined.text, text);
        let longest = kept.iter().map(|(before, _)| before).max_by_key(|before| before.len());
        let part = longest.filter(|before| before.len() >= MIN_MOVED).and_then(|before| {
            let place = self.parts.partition_point(|(end, _)| *end <= before.start);
            self.parts.get(place)?.1
        });
        (self.joined.rewritten(text, source, MIN_MOVED), part)
    }
}
