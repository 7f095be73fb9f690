//! Whether a text holds a part of another one.
//!
//! Both are compared by their letters and digits alone, in lower case: a space, a hyphen or another case in between hides
//! nothing. A run counts from [`MIN_MIXED`] characters on where letters and digits are mixed, as in keys and passwords, of
//! which the shortest that are allowed have eight; and from [`MIN_PROSE`] on otherwise, because words of eight letters stand
//! in every text, and two texts that share twelve letters in a row mostly share them for a reason.

use super::Reading;
use super::encodings::decoded;
use std::collections::HashMap;

const MIN_MIXED: usize = 8;
const MIN_PROSE: usize = 12;

/// Characters that are compared at once: the shortest run that counts.
const WINDOW: usize = MIN_MIXED;

/// How far a run is followed: it counts long before.
const MAX_RUN: usize = 64;

/// Places of one window that are looked at: a text that repeats itself says no more by it.
const MAX_PLACES: usize = 8;

/// Where a part of what leaves stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Overlap<'a> {
    /// In the text of that source.
    In(&'a str),
    Nowhere,
    /// The text that leaves is shorter than anything that is compared.
    TooLittle,
    /// The text that leaves may be read in more ways than are tried.
    TooMuch,
}

/// Looks for what leaves in what was read. The owner's own text may leave.
pub(super) fn find<'a>(leaving: &[String], said: &[&str], read: &[Reading<'a>]) -> Overlap<'a> {
    let mut texts = Vec::new();
    for text in leaving {
        match decoded(text) {
            Some(forms) => texts.extend(forms),
            None => return Overlap::TooMuch,
        }
    }
    let mut needles = Needles::new(texts);
    if needles.windows.is_empty() {
        return Overlap::TooLittle;
    }
    for said in said {
        needles.excuse(said);
    }
    match read.iter().find(|reading| needles.stand_in(reading.text)) {
        Some(reading) => Overlap::In(reading.source),
        None => Overlap::Nowhere,
    }
}

/// Texts that are looked for.
struct Needles {
    texts: Vec<Needle>,
    /// Where a window of them stands, by its hash.
    windows: HashMap<u64, Vec<(usize, usize)>>,
}

struct Needle {
    letters: Vec<char>,
    /// Which of them the owner said.
    is_said: Vec<bool>,
}

impl Needles {
    fn new(texts: Vec<String>) -> Self {
        let mut needles = Self { texts: Vec::new(), windows: HashMap::new() };
        for text in texts {
            let letters = letters(&text);
            for (at, hash) in windows(&letters) {
                let places = needles.windows.entry(hash).or_default();
                if places.len() < MAX_PLACES {
                    places.push((needles.texts.len(), at));
                }
            }
            needles.texts.push(Needle { is_said: vec![false; letters.len()], letters });
        }
        needles
    }

    /// The passages of this text are not secret.
    fn excuse(&mut self, text: &str) {
        let text = letters(text);
        for (begin, hash) in windows(&text) {
            for (needle, at) in self.windows.get(&hash).into_iter().flatten() {
                let Some(needle) = self.texts.get_mut(*needle) else { continue };
                let run = run(&needle.letters, *at, &text, begin);
                if run >= WINDOW {
                    needle.is_said.iter_mut().skip(*at).take(run).for_each(|is_said| *is_said = true);
                }
            }
        }
    }

    fn stand_in(&self, text: &str) -> bool {
        let text = letters(text);
        windows(&text).any(|(begin, hash)| {
            self.windows.get(&hash).into_iter().flatten().any(|(needle, at)| {
                self.texts.get(*needle).is_some_and(|needle| {
                    let run = run(&needle.letters, *at, &text, begin);
                    run >= WINDOW && needle.tells(*at, run)
                })
            })
        })
    }
}

impl Needle {
    /// Whether a run of it is more than chance, less what the owner said.
    fn tells(&self, at: usize, run: usize) -> bool {
        let letters = self.letters.iter().zip(&self.is_said).skip(at).take(run);
        let own: Vec<char> = letters.filter(|(_, is_said)| !**is_said).map(|(letter, _)| *letter).collect();
        let is_mixed = own.iter().any(|c| c.is_numeric()) && own.iter().any(|c| !c.is_numeric());
        own.len() >= if is_mixed { MIN_MIXED } else { MIN_PROSE }
    }
}

/// How many characters two texts have in common from those places on.
fn run(one: &[char], at: usize, other: &[char], begin: usize) -> usize {
    let pairs = one.iter().skip(at).zip(other.iter().skip(begin)).take(MAX_RUN);
    pairs.take_while(|(one, other)| one == other).count()
}

/// The characters of a text that are compared.
fn letters(text: &str) -> Vec<char> {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Each window with its place and its hash, which rolls from one to the next.
fn windows(letters: &[char]) -> impl Iterator<Item = (usize, u64)> + '_ {
    const BASE: u64 = 0x0100_0000_01b3;
    let gone = (0..WINDOW).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let mut hash = 0_u64;
    letters.iter().enumerate().filter_map(move |(at, letter)| {
        hash = hash.wrapping_mul(BASE).wrapping_add(u64::from(*letter) + 1);
        if let Some(old) = at.checked_sub(WINDOW).and_then(|old| letters.get(old)) {
            hash = hash.wrapping_sub((u64::from(*old) + 1).wrapping_mul(gone));
        }
        Some((at.checked_sub(WINDOW - 1)?, hash))
    })
}
