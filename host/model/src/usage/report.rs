//! Usage reports by model, session and day.

use super::call::{Call, clipped, clipped_path};
use super::log::UsageLog;
use bub_system::clock;
use jiff::ToSpan;
use jiff::civil::Date;
use std::collections::BTreeMap;
use std::io;

/// Maximum number of days: a century.
const MAX_DAYS: u32 = 36_500;

/// Sums over several calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// Number of calls.
    pub calls: u64,
    /// Calls with estimated tokens.
    pub estimated: u64,
    /// Prompt tokens.
    pub prompt: u64,
    /// Prompt tokens that the provider read from a cache.
    pub cached: u64,
    /// Completion tokens.
    pub completion: u64,
    /// All tokens.
    pub total: u64,
}

impl Sum {
    /// Adds the sums of other calls.
    pub fn add_all(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.calls, other.calls),
            (&mut self.estimated, other.estimated),
            (&mut self.prompt, other.prompt),
            (&mut self.cached, other.cached),
            (&mut self.completion, other.completion),
            (&mut self.total, other.total),
        ] {
            *sum = sum.saturating_add(more);
        }
    }

    fn add(&mut self, call: &Call) {
        let tokens = call.tokens();
        self.calls += 1;
        self.estimated += u64::from(tokens.is_estimate);
        for (sum, tokens) in [
            (&mut self.prompt, tokens.prompt),
            (&mut self.cached, tokens.cached),
            (&mut self.completion, tokens.completion),
            (&mut self.total, tokens.total),
        ] {
            *sum = sum.saturating_add(tokens);
        }
    }
}

/// A session and its directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// The directory.
    pub workspace: String,
}

impl Session {
    /// A session, with clipped names as in the log.
    pub fn new(id: &str, workspace: &str) -> Self {
        Self { id: clipped(id), workspace: clipped_path(workspace) }
    }
}

/// Usage of a range of days, inclusive.
#[derive(Debug)]
pub struct Report {
    /// The first day.
    pub first: Date,
    /// The last one: today.
    pub last: Date,
    /// The total.
    pub total: Sum,
    /// By model, most tokens first.
    pub models: Vec<(String, Sum)>,
    /// By session, most tokens first.
    pub sessions: Vec<(Session, Sum)>,
    /// By day, newest first, without days that have no calls.
    pub days: Vec<(Date, Sum)>,
    /// By day, model and session, oldest first.
    pub rows: Vec<ReportRow>,
}

/// Calls of one session to one model on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRow {
    /// The day, in local time.
    pub day: Date,
    /// The model.
    pub model: String,
    /// The session; empty where sessions are not told apart.
    pub session: Session,
    /// The tokens.
    pub sum: Sum,
}

impl Report {
    /// The report of days that ends today, from sums by day, model and session.
    pub fn from_sums(last: Date, days: u32, sums: impl IntoIterator<Item = (Date, String, Session, Sum)>) -> Self {
        let mut total = Sum::default();
        let (mut models, mut sessions, mut by_day) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut rows = BTreeMap::new();
        for (day, model, session, sum) in sums {
            total.add_all(&sum);
            models.entry(model.clone()).or_insert_with(Sum::default).add_all(&sum);
            sessions.entry(session.clone()).or_insert_with(Sum::default).add_all(&sum);
            by_day.entry(day).or_insert_with(Sum::default).add_all(&sum);
            rows.entry((day, model, session)).or_insert_with(Sum::default).add_all(&sum);
        }
        let row = |((day, model, session), sum)| ReportRow { day, model, session, sum };
        Self {
            first: first_day(last, days),
            last,
            total,
            models: most_first(models),
            sessions: most_first(sessions),
            days: by_day.into_iter().rev().collect(),
            rows: rows.into_iter().map(row).collect(),
        }
    }
}

/// The first of that many days.
fn first_day(last: Date, days: u32) -> Date {
    last.saturating_sub(i64::from(days.clamp(1, MAX_DAYS) - 1).days())
}

/// The usage of the last `days` days including today, optionally of one session.
///
/// # Errors
///
/// The log cannot be read.
pub fn report(log: &UsageLog, days: u32, of: Option<&Session>) -> io::Result<Report> {
    let last = clock::now().date();
    let first = first_day(last, days);
    let mut sums = BTreeMap::new();
    log.calls(first, last, |day, call| {
        let session = Session { id: call.session.clone(), workspace: call.workspace.clone() };
        if of.is_some_and(|of| *of != session) {
            return;
        }
        sums.entry((day, call.model.clone(), session)).or_insert_with(Sum::default).add(&call);
    })?;
    let sums = sums.into_iter().map(|((day, model, session), sum)| (day, model, session, sum));
    Ok(Report::from_sums(last, days, sums))
}

fn most_first<K: Ord>(sums: BTreeMap<K, Sum>) -> Vec<(K, Sum)> {
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.total));
    sums
}
