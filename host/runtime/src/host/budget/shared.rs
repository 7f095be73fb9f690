//! Usage that several workers share: reserved before a call, and settled behind its answer by a task of its own.

use super::unsettled::{Unsettled, UnsettledFiles};
use bub_model::usage::{Call, Report, Session, Sum, clipped};
use bub_postgres::{CallRow, Database, Refusal, Scope, UsageRow, UsageTable};
use bub_system::clock;
use bub_tape::Result;
use jiff::ToSpan;
use jiff::civil::{Date, date};
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

/// How long one settlement may take, before it is kept in a file.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(10);

/// How often calls that were kept are sent again.
const RESEND_INTERVAL: Duration = Duration::from_secs(5);

/// How often reservations are renewed; the table's own time is three times as long.
const RENEWAL: Duration = Duration::from_secs(20);

/// How long a report, or a call that finds no room, waits for this process's own settlements.
const OWN_TIMEOUT: Duration = Duration::from_secs(2);

/// The usage of all workers.
#[derive(Clone)]
pub struct SharedUsage(Arc<Inner>);

struct Inner {
    table: UsageTable,
    files: UnsettledFiles,
    /// The settlements to be written, in order. The first is removed when it is written.
    pending: Mutex<VecDeque<Settlement>>,
    /// Something is pending.
    added: Arc<Notify>,
    /// Nothing is.
    drained: Notify,
    /// Reservations of this process.
    live: AtomicUsize,
    ratios: Mutex<BTreeMap<String, bub_estimate::Ratio>>,
}

#[derive(Clone)]
enum Settlement {
    Call(Box<Unsettled>),
    Release([u8; 16]),
}

pub(super) enum Reserved {
    Done(Reservation),
    Refused(Refusal),
}

/// Tokens that are reserved for a call. Dropped, they are released.
pub(super) struct Reservation {
    usage: Arc<Inner>,
    id: [u8; 16],
    is_settled: bool,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.usage.live.fetch_sub(1, Ordering::Relaxed);
        if !self.is_settled {
            self.usage.push(Settlement::Release(self.id));
        }
    }
}

/// Seconds that local time is ahead of UTC.
fn ahead() -> i32 {
    clock::now().offset().seconds()
}

impl SharedUsage {
    /// The usage in that database. Calls of the home that were kept in files are sent soon.
    pub(super) async fn start(home: &Path, database: Database) -> Result<Self> {
        let table = UsageTable::new(database)?;
        let mut ratios = BTreeMap::new();
        for (model, estimated, reported) in table.recent().await? {
            report_ratio(&mut ratios, &model, estimated, reported);
        }
        let added = Arc::new(Notify::new());
        let inner = Arc::new(Inner {
            table,
            files: UnsettledFiles::new(home),
            pending: Mutex::default(),
            added: added.clone(),
            drained: Notify::new(),
            live: AtomicUsize::new(0),
            ratios: Mutex::new(ratios),
        });
        tokio::spawn(write(Arc::downgrade(&inner), added));
        tokio::spawn(renew(Arc::downgrade(&inner)));
        Ok(Self(inner))
    }

    pub(super) fn name(&self) -> &str {
        self.0.table.name()
    }

    /// Reserves tokens in all scopes, or in none. One statement, unless there is no room while calls of this process wait
    /// to be settled.
    pub(super) async fn reserve(&self, tokens: u64, scopes: &[(Scope<'_>, u64)]) -> Result<Reserved> {
        let table = &self.0.table;
        let names: Vec<String> = scopes.iter().map(|(scope, _)| clipped(name(*scope))).collect();
        let scopes: Vec<(Scope<'_>, u64)> =
            scopes.iter().zip(&names).map(|((scope, cap), name)| (renamed(*scope, name), *cap)).collect();
        let id = table.call_id()?;
        // Counted before it is asked for, so that it is released or renewed whenever this future is dropped.
        self.0.live.fetch_add(1, Ordering::Relaxed);
        let mut reservation = Reservation { usage: self.0.clone(), id, is_settled: false };
        let mut answer = table.reserve(id, ahead(), tokens, &scopes).await?;
        if answer.is_err() && !self.0.pending.lock().is_empty() {
            self.flush(OWN_TIMEOUT).await;
            answer = table.reserve(id, ahead(), tokens, &scopes).await?;
        }
        Ok(match answer {
            Ok(()) => Reserved::Done(reservation),
            Err(refusal) => {
                reservation.is_settled = true;
                Reserved::Refused(refusal)
            }
        })
    }

    /// Adds a call, behind the answer.
    pub(super) fn settle(&self, reservation: Option<Reservation>, call: &Call) {
        if let Some((estimated, reported)) = call.report() {
            report_ratio(&mut self.0.ratios.lock(), &call.model, estimated, reported);
        }
        let id = match reservation {
            Some(mut reservation) => {
                reservation.is_settled = true;
                reservation.id
            }
            None => match self.0.table.call_id() {
                Ok(id) => id,
                Err(error) => {
                    tracing::warn!("{} tokens of model `{}` are not counted: {error}", call.tokens().total, call.model);
                    return;
                }
            },
        };
        self.0.push(Settlement::Call(Box::new(Unsettled::now(id, call))));
    }

    pub(super) fn ratio(&self, model: &str) -> bub_estimate::Ratio {
        self.0.ratios.lock().get(model).copied().unwrap_or_default()
    }

    pub(super) async fn used(&self, scope: Scope<'_>) -> Result<u64> {
        self.flush(OWN_TIMEOUT).await;
        let name = clipped(name(scope));
        self.0.table.used(ahead(), renamed(scope, &name)).await
    }

    pub(super) async fn report(&self, days: u32, of: Option<&Session>, by_session: bool) -> Result<Report> {
        self.flush(OWN_TIMEOUT).await;
        let of = of.map(|session| (session.id.as_str(), session.workspace.as_str()));
        let (today, rows) = self.0.table.report(ahead(), days, of, by_session).await?;
        let last = day(today);
        Ok(Report::from_sums(last, days, rows.into_iter().map(|row| sums(last, row))))
    }

    /// Waits until nothing is pending.
    async fn flush(&self, limit: Duration) -> bool {
        let drained = async {
            loop {
                let drained = self.0.drained.notified();
                if self.0.pending.lock().is_empty() {
                    return;
                }
                drained.await;
            }
        };
        timeout(limit, drained).await.is_ok()
    }

    /// Waits until nothing is pending, and keeps in files what still is.
    pub(super) async fn flush_or_keep(&self, limit: Duration) {
        if !self.flush(limit).await {
            let pending = std::mem::take(&mut *self.0.pending.lock());
            pending.into_iter().for_each(|settlement| self.0.keep(settlement));
        }
    }
}

fn name<'a>(scope: Scope<'a>) -> &'a str {
    match scope {
        Scope::All => "",
        Scope::Plugin(name) | Scope::Caller(name) => name,
    }
}

fn renamed<'a>(scope: Scope<'_>, name: &'a str) -> Scope<'a> {
    match scope {
        Scope::All => Scope::All,
        Scope::Plugin(_) => Scope::Plugin(name),
        Scope::Caller(_) => Scope::Caller(name),
    }
}

fn report_ratio(ratios: &mut BTreeMap<String, bub_estimate::Ratio>, model: &str, estimated: u64, reported: u64) {
    if let Some(ratio) = bub_estimate::Ratio::report(ratios.get(model).copied(), estimated, reported) {
        ratios.insert(model.to_owned(), ratio);
    }
}

fn day(since_1970: i32) -> Date {
    date(1970, 1, 1).saturating_add(i64::from(since_1970).days())
}

fn sums(today: Date, row: UsageRow) -> (Date, String, Session, Sum) {
    let UsageRow { days_ago, model, session, workspace, calls, estimated, prompt, cached, completion, total } = row;
    let day = today.saturating_sub(i64::from(days_ago).days());
    let sum = Sum { calls, estimated, prompt, cached, completion, total };
    (day, model, Session { id: session, workspace }, sum)
}

fn call_row(call: &Call) -> CallRow {
    let tokens = call.tokens();
    CallRow {
        model: call.model.clone(),
        session: call.session.clone(),
        workspace: call.workspace.clone(),
        plugin: call.plugin.clone(),
        purpose: call.purpose.clone(),
        caller: call.caller.clone(),
        prompt: tokens.prompt,
        cached: tokens.cached,
        completion: tokens.completion,
        total: tokens.total,
        weighed: call.estimate(),
        estimated: tokens.is_estimate,
    }
}

impl Inner {
    fn push(&self, settlement: Settlement) {
        self.pending.lock().push_back(settlement);
        self.added.notify_one();
    }

    async fn settle(&self, settlement: &Settlement) -> Result<()> {
        match settlement {
            Settlement::Release(id) => self.table.release(*id).await,
            Settlement::Call(unsettled) => self.send(unsettled).await,
        }
    }

    async fn send(&self, unsettled: &Unsettled) -> Result<()> {
        self.table.settle(unsettled.id, ahead(), unsettled.age(), &call_row(&unsettled.call)).await
    }

    /// Keeps in a file what the database does not take. A release is not kept: the reservation expires.
    fn keep(&self, settlement: Settlement) {
        let Settlement::Call(unsettled) = settlement else { return };
        if let Err(error) = self.files.keep(&unsettled) {
            let (tokens, dir) = (unsettled.call.tokens().total, self.files.dir().display());
            let (model, session) = (&unsettled.call.model, &unsettled.call.session);
            tracing::warn!(
                "{tokens} tokens of model `{model}` in session `{session}` are not counted: `{dir}` cannot be written: {error}"
            );
        }
    }

    /// Writes what is pending. `is_away`: the database did not answer last, and is not asked again before its time.
    async fn write_pending(&self, is_away: &mut bool) {
        loop {
            let Some(next) = self.pending.lock().front().cloned() else { break };
            if !*is_away {
                let why = match timeout(SETTLE_TIMEOUT, self.settle(&next)).await {
                    Ok(Ok(())) => None,
                    Ok(Err(error)) => Some(error.to_string()),
                    Err(_) => Some("the database does not answer".to_owned()),
                };
                if let Some(why) = why {
                    *is_away = true;
                    let dir = self.files.dir().display();
                    tracing::warn!("{why}; until it answers, what models used is kept in `{dir}`, and sent then");
                }
            }
            if *is_away {
                self.keep(next);
            }
            self.pending.lock().pop_front();
        }
        self.drained.notify_waiters();
    }

    /// Sends calls that were kept. Returns whether the database answers.
    async fn send_kept(&self) -> bool {
        let kept = self.files.list();
        let mut sent = 0;
        for (path, unsettled) in &kept {
            if !matches!(timeout(SETTLE_TIMEOUT, self.send(unsettled)).await, Ok(Ok(()))) {
                break;
            }
            // Another process of the home may have been faster: the id counts once.
            let _ = std::fs::remove_file(path);
            sent += 1;
        }
        if sent > 0 {
            tracing::info!("{sent} model calls that the database had not taken are written down there now");
        }
        sent == kept.len()
    }
}

/// Writes until the usage is dropped.
async fn write(inner: Weak<Inner>, added: Arc<Notify>) {
    let (mut is_away, mut last_sent) = (false, None::<Instant>);
    loop {
        let Some(usage) = inner.upgrade() else { return };
        usage.write_pending(&mut is_away).await;
        if last_sent.is_none_or(|last| last.elapsed() >= RESEND_INTERVAL) {
            is_away = !usage.send_kept().await;
            last_sent = Some(Instant::now());
        }
        drop(usage);
        let _something_is_pending = timeout(RESEND_INTERVAL, added.notified()).await;
    }
}

/// Renews the reservations of calls under way.
async fn renew(inner: Weak<Inner>) {
    loop {
        sleep(RENEWAL).await;
        let Some(usage) = inner.upgrade() else { return };
        if usage.live.load(Ordering::Relaxed) > 0
            && let Err(error) = usage.table.renew().await
        {
            tracing::warn!("{error}: other workers may use tokens that are reserved here");
        }
    }
}
