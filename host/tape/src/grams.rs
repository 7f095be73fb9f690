//! N-grams of entries and of conditions, for a store whose database has an inverted index of numbers.
//!
//! An entry that fulfils a [`Condition`] has all grams of the condition's texts. Another entry may have them too, so an
//! index of grams finds candidates and never decides.

use super::condition::Condition;
use super::entry::Entry;
use super::fold::fold;
use super::json;

/// Maximum grams of an entry. More say little: such an entry is a candidate for every condition.
const MAX_GRAMS: usize = 8_192;

/// Maximum grams per text of a condition. More cost more than they exclude.
const MAX_TEXT_GRAMS: usize = 12;

/// Letters of a gram inside ASCII. Outside, most words of Chinese have two letters and many have one.
const LENGTH: usize = 3;

/// The grams of an entry's line, without duplicates; `None`: it is a candidate for every condition.
pub fn of_entry(entry: &Entry) -> Option<Vec<i32>> {
    let line = entry.line();
    let mut grams = Vec::with_capacity(line.len().min(MAX_GRAMS));
    add(&fold(&line), &mut grams)?;
    // Another program may have escaped characters that this one writes literally.
    if line.contains("\\u") || line.contains("\\/") {
        add(&fold(&json::reprint(&line).ok()?), &mut grams)?;
    }
    grams.sort_unstable();
    grams.dedup();
    (grams.len() <= MAX_GRAMS).then_some(grams)
}

/// Grams that every entry has which fulfils the condition, whose texts are folded; none if they are too short.
pub fn of_condition(condition: &Condition) -> Vec<i32> {
    let mut grams = Vec::new();
    for text in &condition.texts {
        let letters: Vec<char> = text.chars().collect();
        let length = letters.len().min(LENGTH);
        if length == 0 || (length < LENGTH && !letters.iter().any(|letter| !letter.is_ascii())) {
            continue;
        }
        let windows = letters.windows(length);
        let step = windows.len().div_ceil(MAX_TEXT_GRAMS);
        grams.extend(windows.step_by(step).map(number));
    }
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// Adds the grams of a folded text; `None` if there are far too many.
fn add(text: &str, grams: &mut Vec<i32>) -> Option<()> {
    let mut window: [char; LENGTH] = ['\0'; LENGTH];
    for (count, letter) in text.chars().enumerate() {
        window.rotate_left(1);
        window[LENGTH - 1] = letter;
        for length in 1..=LENGTH.min(count + 1) {
            let gram = &window[LENGTH - length..];
            if is_gram(gram) {
                grams.push(number(gram));
            }
        }
        // Bounds the memory for a text of megabytes.
        if grams.len() > 8 * MAX_GRAMS {
            grams.sort_unstable();
            grams.dedup();
            if grams.len() > MAX_GRAMS {
                return None;
            }
        }
    }
    Some(())
}

fn is_gram(letters: &[char]) -> bool {
    letters.len() == LENGTH || letters.iter().any(|letter| !letter.is_ascii())
}

/// A number for the gram that is not negative. Two grams may have the same.
fn number(letters: &[char]) -> i32 {
    // FNV-1a: the numbers are stored, so they must be the same in every version.
    let hash =
        letters.iter().fold(0x811c_9dc5_u32, |hash, letter| (hash ^ u32::from(*letter)).wrapping_mul(0x0100_0193));
    // The upper bits of the product are the better mixed ones.
    i32::try_from(hash >> 1).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::draft::event;
    use super::*;

    fn condition(text: &str) -> Condition {
        Condition { texts: vec![fold(text)], ..Condition::default() }
    }

    #[test]
    fn an_entry_has_the_grams_of_every_part_of_its_line() {
        let draft = event("step", "{\"text\": \"Straße nach 北京, a\\u0001 naïve\"}").expect("it is JSON");
        let entry = draft.numbered(7);
        let grams = of_entry(&entry).expect("it is short");
        let line: Vec<char> = entry.line().chars().collect();
        for (first, last) in (0..line.len()).flat_map(|first| (first + 1..=line.len()).map(move |last| (first, last))) {
            let part: String = line[first..last].iter().collect();
            let missing = of_condition(&condition(&part)).into_iter().find(|gram| !grams.contains(gram));
            assert_eq!(missing, None, "{part}");
        }
        assert!(of_condition(&condition("heron")).iter().any(|gram| !grams.contains(gram)));
    }

    #[test]
    fn short_texts_have_grams_outside_of_ascii_alone() {
        assert!(of_condition(&condition("ab")).is_empty());
        assert_eq!(of_condition(&condition("京")).len(), 1);
        assert_eq!(of_condition(&condition("b京")).len(), 1);
    }

    #[test]
    fn an_entry_that_another_program_spelled_has_the_grams_of_both_spellings() {
        let entry =
            Entry::parse(r#"{"id": 1, "kind": "message", "payload": {"content": "\u4f60\u597d\/x"}, "meta": {}}"#);
        let grams = of_entry(&entry.expect("it is an entry")).expect("it is short");
        for text in ["你好/x", "\\u4f60"] {
            assert!(of_condition(&condition(text)).iter().all(|gram| grams.contains(gram)), "{text}");
        }
    }

    #[test]
    fn an_entry_of_too_many_grams_has_none() {
        let text: String = (0x4e00..0x9000_u32).filter_map(char::from_u32).collect();
        assert_eq!(of_entry(&event("x", &json::quote(&text)).expect("it is JSON").numbered(1)), None);
    }
}
