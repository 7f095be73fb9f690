//! The strings to redact, as an automaton.

use std::fmt;
use std::sync::Arc;

use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::noncontiguous::NFA;
use aho_corasick::{Anchored, MatchKind};

pub(super) use aho_corasick::automaton::StateID;

/// Strings to redact, ignoring the case of ASCII letters. Cloning is cheap.
#[derive(Clone, Default)]
pub struct Patterns {
    /// `None`: there is nothing to search for.
    found: Option<Arc<Machine>>,
    count: usize,
}

/// Shows the number of strings only.
impl fmt::Debug for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Patterns({})", self.count)
    }
}

pub(super) struct Machine {
    automaton: NFA,
    pub(super) start: StateID,
    /// By state: the length of the longest partial match.
    depths: Vec<u32>,
    /// By byte: whether a match may begin with it. Others are skipped at memory speed.
    pub(super) wakes: [bool; 256],
}

impl Patterns {
    /// Patterns for `strings`; empty ones are ignored.
    pub fn new<T: AsRef<[u8]>>(strings: impl IntoIterator<Item = T>) -> Self {
        let strings = strings.into_iter().map(|string| string.as_ref().to_ascii_lowercase());
        let mut strings: Vec<Vec<u8>> = strings.filter(|string| !string.is_empty()).collect();
        let count = strings.len();
        strings.sort_unstable();
        strings.dedup();
        let found = if strings.is_empty() { None } else { Machine::new(&strings).map(Arc::new) };
        Self { found, count }
    }

    /// How many strings were given.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.found.is_none()
    }

    pub(super) fn machine(&self) -> Option<&Arc<Machine>> {
        self.found.as_ref()
    }
}

impl Machine {
    /// `None`: there are more strings than an automaton can hold (gigabytes).
    fn new(strings: &[Vec<u8>]) -> Option<Self> {
        let automaton = NFA::builder().match_kind(MatchKind::Standard).prefilter(false).build(strings).ok()?;
        let start = automaton.start_state(Anchored::No).ok()?;
        let mut machine = Self { automaton, start, depths: Vec::new(), wakes: [false; 256] };
        let mut depths = Vec::new();
        for string in strings {
            let mut state = start;
            for (place, byte) in string.iter().enumerate() {
                state = machine.next(state, *byte);
                let index = state.as_usize();
                if depths.len() <= index {
                    depths.resize(index + 1, 0);
                }
                if let (Some(depth), Ok(place)) = (depths.get_mut(index), u32::try_from(place + 1)) {
                    *depth = place;
                }
            }
            if let Some(first) = string.first() {
                for byte in [first.to_ascii_lowercase(), first.to_ascii_uppercase()] {
                    machine.wake(byte);
                }
            }
        }
        (0..=u8::MAX).filter(|byte| super::decode::begins_spelling(*byte)).for_each(|byte| machine.wake(byte));
        machine.depths = depths;
        Some(machine)
    }

    fn wake(&mut self, byte: u8) {
        if let Some(wakes) = self.wakes.get_mut(usize::from(byte)) {
            *wakes = true;
        }
    }

    /// The state after one more byte.
    pub(super) fn next(&self, state: StateID, byte: u8) -> StateID {
        self.automaton.next_state(Anchored::No, state, byte.to_ascii_lowercase())
    }

    /// The length of the longest suffix of the input that may begin a match.
    pub(super) fn depth(&self, state: StateID) -> usize {
        self.depths.get(state.as_usize()).copied().unwrap_or_default() as usize
    }

    /// The length of the longest string that ends here.
    pub(super) fn longest_match(&self, state: StateID) -> Option<usize> {
        if !self.automaton.is_match(state) {
            return None;
        }
        let matches = 0..self.automaton.match_len(state);
        matches.map(|place| self.automaton.pattern_len(self.automaton.match_pattern(state, place))).max()
    }
}
