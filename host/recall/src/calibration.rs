//! Calibration of scores.
//!
//! Cosines are not comparable: one model gives 0.3 to related texts, another 0.7 to unrelated ones. So each model's
//! scores of unrelated texts are measured ([`Baseline`]), and a score is converted to the chance that an unrelated
//! question reaches it for *any* of the passages compared:
//!
//! | | |
//! | --- | --- |
//!  z | (cosine - median of unrelated pairs) / their spread (1.4826 times the median deviation), plus a term for words |
//! | p | 1 / (1 + exp(1.65 z)): the tail of a logistic distribution |
//! | chance | 1 - (1 - p)^n, of n passages |
//! | score | 1 - chance^0.4 |
//!
//! So one unrelated question in ten reaches 0.6, one in three hundred 0.9, whatever the model and the number of
//! passages. Scores by words alone are mapped to the same scale.

use serde::{Deserialize, Serialize};

/// Decay of the tail of unrelated scores. Cosines of short texts have a longer tail than a logistic distribution of
/// their spread (1.81).
const TAIL: f64 = 1.65;

/// Chosen so that one unrelated question in ten has the score 0.6.
const CURVE: f64 = 0.4;

/// The share of a question's words above which they raise the score, and by how much.
const WORDS_FROM: f64 = 0.3;
const WORDS_WEIGHT: f64 = 9.0;

/// With this many passages, one in ten unrelated questions reaches the share [`WORDS_FROM`]; ten times as many raise it
/// by [`WORDS_STEP`].
const WORDS_AMONG: f64 = 200.0;
const WORDS_STEP: f64 = 0.05;

/// The distribution of a model's cosines of unrelated texts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The median.
    pub median: f64,
    /// 1.4826 times the median absolute deviation: the standard deviation, robust against pairs that are related.
    pub spread: f64,
}

impl Baseline {
    /// From cosines of unrelated pairs; `None` if they do not vary.
    pub fn from_cosines(mut cosines: Vec<f64>) -> Option<Self> {
        let median = middle(&mut cosines)?;
        let mut distances: Vec<f64> = cosines.iter().map(|cosine| (cosine - median).abs()).collect();
        let spread = 1.4826 * middle(&mut distances)?;
        (spread > 1e-6).then_some(Self { median, spread })
    }

    /// The score of a passage with that cosine and that share of the question's words, among so many passages.
    pub fn score(self, cosine: f64, coverage: f64, passages: u64) -> f64 {
        let z = (cosine - self.median) / self.spread + WORDS_WEIGHT * (coverage - words_from(passages)).max(0.0);
        let p = 1.0 / (1.0 + (TAIL * z).exp());
        let chance = 1.0 - (1.0 - p).powf(passages.max(1) as f64);
        (1.0 - chance.powf(CURVE)).clamp(0.0, 1.0)
    }
}

/// The score of a passage by its words alone.
pub(crate) fn by_words(coverage: f64, passages: u64) -> f64 {
    let from = words_from(passages);
    match coverage < from {
        true => 0.6 * coverage / from,
        false => 0.6 + 0.35 * ((coverage - from) / (1.0 - from)).min(1.0),
    }
}

fn words_from(passages: u64) -> f64 {
    WORDS_FROM + WORDS_STEP * (passages as f64 / WORDS_AMONG).max(1.0).log10()
}

fn middle(numbers: &mut [f64]) -> Option<f64> {
    let half = numbers.len() / 2;
    (!numbers.is_empty()).then(|| *numbers.select_nth_unstable_by(half, f64::total_cmp).1)
}

/// Unrelated questions and statements.
pub fn probes() -> (Vec<String>, Vec<String>) {
    let text = include_str!("probes.txt");
    let mut parts = text.split("\n\n").map(|part| {
        part.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    });
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_the_same_for_models_whose_cosines_are_not() {
        let low = Baseline { median: 0.05, spread: 0.07 };
        let high = Baseline { median: 0.75, spread: 0.02 };
        for z in [0.0, 2.0, 4.0, 6.0] {
            let (a, b) = (low.score(0.05 + z * 0.07, 0.0, 100), high.score(0.75 + z * 0.02, 0.0, 100));
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
        assert!(low.score(0.05 + 0.07 * 4.18, 0.0, 100) > 0.59 && low.score(0.2, 0.0, 100) < 0.3);
        // With more passages, a chance match is more likely.
        assert!(low.score(0.35, 0.0, 10) > low.score(0.35, 0.0, 10_000) + 0.2);
    }

    #[test]
    fn a_baseline_is_robust_against_a_few_related_pairs() {
        let mut cosines: Vec<f64> = (0..200).map(|at| f64::from(at) / 1000.0).collect();
        cosines.extend([0.9; 8]);
        let learned = Baseline::from_cosines(cosines).unwrap();
        assert!((learned.median - 0.104).abs() < 0.005 && learned.spread < 0.09, "{learned:?}");
        assert_eq!(Baseline::from_cosines(vec![0.5; 9]), None);
        assert_eq!(Baseline::from_cosines(Vec::new()), None);
    }

    #[test]
    fn the_probes_are_questions_and_statements() {
        let (questions, statements) = probes();
        assert!(questions.len() > 30 && statements.len() > 30);
    }
}
