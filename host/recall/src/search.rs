//! Queries: lexical and vector search, merged by reciprocal rank.

use super::Workspace;
use super::calibration::{Baseline, by_words};
use super::index::{Scope, Stored};
use super::passages::{Source, texts};
use super::sync::blocking;
use super::terms::{RankedTerms, question_terms};
use bub_tape::Tapes;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The constant of reciprocal rank fusion.
const RANK_CONSTANT: f64 = 60.0;

/// How long embedding pauses after a failure.
const EMBEDDING_PAUSE: Duration = Duration::from_secs(30);

/// A query.
#[derive(Debug, Clone)]
pub struct RecallQuery {
    /// The question.
    pub question: String,
    /// Empty: all.
    pub sources: Vec<Source>,
    /// The turn's own tape.
    pub own: String,
    /// The workspace's tape, if the principal may see it.
    pub shared: Option<String>,
    /// Whether other sessions of the workspace may be searched.
    pub all: bool,
    /// Entries of the turn's own tape from this id on are skipped, since they are in the context.
    pub window: u64,
    /// Texts to skip, since they are in the context.
    pub sent: Vec<String>,
    /// Hits with a lower score are left out.
    pub min_score: f64,
}

/// The embedding of the question.
#[derive(Debug, Clone)]
pub struct QueryVector {
    /// The key of the passages' vectors.
    pub model: String,
    /// The question's vector.
    pub vector: Vec<f32>,
    /// The model's baseline.
    pub baseline: Baseline,
}

/// A result.
#[derive(Debug, Clone)]
pub struct RecallHit {
    /// The passage.
    pub text: String,
    /// 0 to 1, calibrated.
    pub score: f64,
    /// The source.
    pub source: Source,
    /// The date.
    pub date: String,
    /// The tape.
    pub tape: String,
    /// The entry.
    pub entry: u64,
    /// The sources of its taint.
    pub taint: Vec<String>,
}

impl Workspace {
    /// Searches the index; best hits first, not yet verified against the tapes.
    ///
    /// # Errors
    ///
    /// Errors of the index.
    pub async fn search(&self, wanted: &RecallQuery, meaning: Option<QueryVector>) -> Result<Vec<RecallHit>, String> {
        let (index, wanted) = (self.index.clone(), wanted.clone());
        blocking(move || {
            let reach = Scope { own: wanted.own.clone(), shared: wanted.shared.clone(), all: wanted.all };
            let passages = index.passages(&reach)?;
            let terms = question_terms(&wanted.question);
            let holding = index.holding(&terms)?;
            let mut candidates: HashMap<i64, (Stored, Option<f64>)> = HashMap::new();
            if let Some(meaning) = &meaning {
                let length = meaning.vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
                let vector: Vec<f32> = meaning.vector.iter().map(|x| x / length).collect();
                for (stored, cosine) in index.by_meaning(&meaning.model, &vector, &reach)? {
                    candidates.insert(stored.number, (stored, Some(cosine)));
                }
            }
            for stored in index.by_words(&wanted.question, &terms, &reach)? {
                candidates.entry(stored.number).or_insert((stored, None));
            }
            let question = RankedTerms::new(terms, &holding, passages);
            Ok(fused(candidates.into_values(), &question, passages, meaning.map(|meaning| meaning.baseline), &wanted))
        })
        .await
    }

    /// Drops hits whose entry was erased, reset or rewritten. Returns at most `limit`; of two with equal text, the
    /// newer one.
    pub async fn verify(&self, tapes: &Tapes, found: Vec<RecallHit>, limit: usize) -> Vec<RecallHit> {
        let mut standing: Vec<RecallHit> = Vec::new();
        for hit in found {
            if standing.len() >= limit {
                break;
            }
            if standing.iter().any(|other| other.text == hit.text) {
                continue;
            }
            if stands(tapes, &hit).await.unwrap_or(false) {
                standing.push(hit);
                continue;
            }
            let index = self.index.clone();
            let _ = blocking(move || index.forget_entries(&hit.tape, &[hit.entry])).await;
        }
        standing
    }

    /// Removes all passages that contain the text, ignoring case, with all derived data, and overwrites them in the
    /// file.
    ///
    /// # Errors
    ///
    /// Errors of the index.
    pub async fn forget(&self, text: String) -> Result<(), String> {
        let index = self.index.clone();
        blocking(move || index.forget_text(text.trim())).await.map(drop)
    }

    /// The model's baseline, if measured.
    ///
    /// # Errors
    ///
    /// Errors of the index.
    pub async fn baseline(&self, model: &str) -> Result<Option<Baseline>, String> {
        let (index, model) = (self.index.clone(), model.to_owned());
        blocking(move || index.baseline(&model)).await
    }

    /// Measures a model's baseline from its vectors of [`probes`](super::probes). `None` if its scores do not vary.
    ///
    /// # Errors
    ///
    /// Errors of the index.
    pub async fn measure_baseline(
        &self,
        model: &str,
        questions: &[Vec<f32>],
        statements: &[Vec<f32>],
    ) -> Result<Option<Baseline>, String> {
        let cosines: Vec<f64> = questions.iter().flat_map(|a| statements.iter().map(|b| cosine(a, b))).collect();
        let Some(baseline) = Baseline::from_cosines(cosines.clone()) else { return Ok(None) };
        let (index, model) = (self.index.clone(), model.to_owned());
        blocking(move || index.keep_baseline(&model, baseline, &cosines)).await?;
        Ok(Some(baseline))
    }

    /// Texts without a vector of the model.
    ///
    /// # Errors
    ///
    /// Errors of the index.
    pub async fn texts_without_vector(&self, model: &str, most: usize) -> Result<Vec<String>, String> {
        let (index, model) = (self.index.clone(), model.to_owned());
        blocking(move || index.texts_without_vector(&model, most)).await
    }

    /// Stores the model's vectors of these texts.
    ///
    /// # Errors
    ///
    /// Errors of the index.
    pub async fn store_vectors(&self, model: &str, vectors: Vec<(String, Vec<f32>)>) -> Result<(), String> {
        let (index, model) = (self.index.clone(), model.to_owned());
        blocking(move || index.keep_vectors(&model, &vectors)).await
    }

    /// A lock for measuring a model.
    pub async fn measuring(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.learning.lock().await
    }

    /// Whether embedding is paused after a failure.
    pub fn embedding_is_paused(&self) -> bool {
        self.paused_until.lock().is_some_and(|until| until > Instant::now())
    }

    /// Pauses embedding after a failure of the model. Returns `true` for the first failure, when it was not paused yet.
    pub fn pause_embedding(&self) -> bool {
        let now = Instant::now();
        let before = self.paused_until.lock().replace(now + EMBEDDING_PAUSE);
        before.is_none_or(|until| until <= now)
    }
}

/// Whether the entry still contains the passage, and is not forgotten.
async fn stands(tapes: &Tapes, hit: &RecallHit) -> bub_tape::Result<bool> {
    let tape = tapes.open(&hit.tape)?;
    let entry = tape.read(hit.entry.saturating_sub(1), 1).await?;
    let Some(entry) = entry.first().filter(|entry| entry.id == hit.entry) else { return Ok(false) };
    Ok(texts(entry).contains(&hit.text) && !tape.forgotten().await?.holds(entry))
}

/// Candidates with their scores, by reciprocal rank in both lists, without those in the context.
fn fused(
    candidates: impl Iterator<Item = (Stored, Option<f64>)>,
    question: &RankedTerms,
    passages: u64,
    baseline: Option<Baseline>,
    wanted: &RecallQuery,
) -> Vec<RecallHit> {
    let mut scored: Vec<(Stored, Option<f64>, f64)> = candidates
        .filter(|(stored, _)| is_wanted(stored, wanted))
        .map(|(stored, cosine)| {
            let coverage = question.coverage(&stored.passage.text);
            (stored, cosine, coverage)
        })
        .collect();
    // Of two with equal distance, the newer one.
    scored.sort_by(|(a, ..), (b, ..)| (&b.passage.date, b.number).cmp(&(&a.passage.date, a.number)));
    let mut ranks = vec![0.0; scored.len()];
    let by_meaning = |at: &usize| scored.get(*at).and_then(|(_, cosine, _)| *cosine);
    let by_words = |at: &usize| scored.get(*at).map(|(.., coverage)| *coverage).filter(|coverage| *coverage > 0.0);
    add_ranks(&mut ranks, by_meaning);
    add_ranks(&mut ranks, by_words);
    let mut found: Vec<(f64, RecallHit)> = scored
        .into_iter()
        .zip(ranks)
        .map(|((stored, cosine, coverage), rank)| {
            let score = match (baseline, cosine) {
                (Some(baseline), Some(cosine)) => baseline.score(cosine, coverage, passages),
                _ => self::by_words(coverage, passages),
            };
            (rank, of(stored, score))
        })
        .filter(|(_, found)| found.score >= wanted.min_score && found.score > 0.0)
        .collect();
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    found.into_iter().map(|(_, found)| found).collect()
}

fn add_ranks(ranks: &mut [f64], value: impl Fn(&usize) -> Option<f64>) {
    let mut order: Vec<(usize, f64)> = (0..ranks.len()).filter_map(|at| Some((at, value(&at)?))).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (rank, (at, _)) in order.into_iter().enumerate() {
        if let Some(sum) = ranks.get_mut(at) {
            *sum += 1.0 / (RANK_CONSTANT + rank as f64);
        }
    }
}

fn is_wanted(stored: &Stored, wanted: &RecallQuery) -> bool {
    let passage = &stored.passage;
    let is_of_window = stored.tape == wanted.own && passage.source == Source::History && passage.entry >= wanted.window;
    (wanted.sources.is_empty() || wanted.sources.contains(&passage.source))
        && !is_of_window
        && !wanted.sent.iter().any(|sent| sent.contains(&passage.text))
}

fn of(stored: Stored, score: f64) -> RecallHit {
    let Stored { tape, passage, .. } = stored;
    let (text, source, date) = (passage.text, passage.source, passage.date);
    RecallHit { text, score, source, date, tape, entry: passage.entry, taint: passage.taint }
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt().max(f64::MIN_POSITIVE)
}
