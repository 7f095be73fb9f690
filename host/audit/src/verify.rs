//! Verification of a tape against its chain, and of the chain against signed heads.

mod expected;

use std::collections::{HashMap, HashSet};

use bub_tape::{CHAIN, Result, Store, check_tape_name, sidecar_name};

use super::digest::{NONE, entry_digest};
use super::fault::{Fault, FaultKind};
use super::heads::SignedHead;
use super::record::{PastChain, RecordingMark, Sealed, TAPE};
use super::writer::{MAX_PAST, name_of, parts};
use expected::{Expected, Part};

/// Entries per step.
const PAGE: usize = 256;

/// Findings that are kept of one tape.
const MAX_FAULTS: usize = 16;

/// What verification says of a tape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The tape.
    pub tape: String,
    /// Entries of the tape and its sidecars, the chain's own records left out.
    pub entries: u64,
    /// Those that the chain does not know: other programs wrote them, or they are older than the chain.
    pub unchained: u64,
    /// Records of the chain.
    pub records: u64,
    /// The last record.
    pub head: Option<PastChain>,
    /// Recordings that the chain names, with their digests.
    pub recordings: Vec<RecordingMark>,
    /// What is wrong, the first place first.
    pub faults: Vec<Fault>,
}

/// Verifies a tape, and its chain against heads of it, in the order in which they were signed. The store may be a chained
/// one or the one beneath.
///
/// # Errors
///
/// The store's.
pub async fn verify(store: &dyn Store, tape: &str, heads: &[SignedHead]) -> Result<Report> {
    check_tape_name(tape)?;
    let mut report = Report { tape: tape.to_owned(), ..Report::default() };
    let chain = Chain::read(store, tape, &mut report).await?;
    if report.faults.is_empty() {
        let mut found = Vec::new();
        let expected = Expected::new(&chain.records, &mut found);
        report.faults.append(&mut found);
        check_parts(store, tape, &expected, &mut report).await?;
    }
    chain.check_heads(heads, &mut report);
    report.faults.truncate(MAX_FAULTS);
    Ok(report)
}

/// A chain as it was read.
struct Chain {
    records: Vec<Sealed>,
}

impl Chain {
    /// Reads the chain, and follows it record by record as long as it holds.
    async fn read(store: &dyn Store, tape: &str, report: &mut Report) -> Result<Self> {
        let name = sidecar_name(tape, CHAIN)?;
        let (mut records, mut after): (Vec<Option<Sealed>>, u64) = (Vec::new(), 0);
        loop {
            let page = store.read(&name, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.id;
            records.extend(page.iter().map(|entry| Sealed::parse(entry).filter(|record| record.record.seq > 0)));
            tokio::task::yield_now().await;
        }
        let seqs: HashMap<u64, usize> = records.iter().flatten().fold(HashMap::new(), |mut seqs, record| {
            *seqs.entry(record.record.seq).or_default() += 1;
            seqs
        });
        let mut chain = Self { records: Vec::with_capacity(records.len()) };
        let (mut prev, mut id) = (NONE.to_owned(), None::<String>);
        for (seq, record) in (1..).zip(records) {
            let fault = |kind, why: &str| Fault::record(seq, kind, why);
            let Some(sealed) = record else {
                // A line that no record was behind is one too many.
                let kind = if seqs.contains_key(&seq) { FaultKind::Inserted } else { FaultKind::Changed };
                report.faults.push(fault(kind, ""));
                break;
            };
            let found = &sealed.record;
            let is_of = id.as_ref().is_none_or(|id| *id == found.chain);
            if found.seq != seq {
                let kind = match (seqs.get(&seq), seqs.get(&found.seq)) {
                    (_, Some(2..)) => FaultKind::Inserted,
                    (Some(_), _) => FaultKind::Reordered,
                    _ => FaultKind::Removed,
                };
                report.faults.push(fault(kind, ""));
                break;
            }
            if found.prev != prev || !is_of {
                report.faults.push(fault(FaultKind::Changed, "it does not follow the record before it"));
                break;
            }
            if found.broken {
                report.faults.push(fault(FaultKind::Changed, "the record before it could not be read"));
                break;
            }
            id.get_or_insert_with(|| found.chain.clone());
            prev.clone_from(&sealed.hash);
            chain.records.push(sealed);
        }
        report.records = chain.records.len() as u64;
        report.head = chain.records.last().map(|last| PastChain {
            chain: last.record.chain.clone(),
            seq: last.record.seq,
            hash: last.hash.clone(),
        });
        report.recordings = chain.records.iter().filter_map(|sealed| sealed.record.recording.clone()).collect();
        Ok(chain)
    }

    /// Compares the chain with heads that were signed of it.
    fn check_heads(&self, heads: &[SignedHead], report: &mut Report) {
        let first = self.records.first();
        let current = first.map(|first| first.record.chain.as_str());
        let past = first.and_then(|first| first.record.reset.as_ref()).map_or(&[][..], |reset| &reset.past);
        let is_whole = report.faults.is_empty();
        for head in heads {
            let fault = if current == Some(&head.chain) {
                let at = usize::try_from(head.seq).ok().and_then(|seq| self.records.get(seq.checked_sub(1)?));
                match at {
                    Some(record) => (record.hash != head.hash).then_some(FaultKind::Changed),
                    // Behind a fault the chain was not read.
                    None => is_whole.then_some(FaultKind::CutOff),
                }
            } else {
                match past.iter().find(|past| past.chain == head.chain) {
                    Some(past) if past.seq < head.seq => Some(FaultKind::CutOff),
                    Some(past) if past.seq == head.seq && past.hash != head.hash => Some(FaultKind::Changed),
                    Some(_) => None,
                    None if past.len() >= MAX_PAST => None,
                    None if !is_whole && current.is_none() => None,
                    None => Some(FaultKind::CutOff),
                }
            };
            if let Some(kind) = fault {
                let why = format!("its head was signed at {}", head.at);
                report.faults.push(Fault::record(head.seq, kind, why));
                return;
            }
        }
    }
}

/// Compares the tape and its sidecars with what the chain knows of them.
async fn check_parts(store: &dyn Store, tape: &str, expected: &Expected, report: &mut Report) -> Result<()> {
    let mut names = parts(store, tape).await?;
    names.extend(expected.parts.keys().cloned());
    names.sort_unstable();
    names.dedup();
    let nothing = Part::default();
    for part in names {
        let known = expected.parts.get(&part).unwrap_or(&nothing);
        check_part(store, &name_of(tape, &part)?, &part, known, report).await?;
    }
    Ok(())
}

async fn check_part(store: &dyn Store, name: &str, part: &str, known: &Part, report: &mut Report) -> Result<()> {
    let mut after = 0;
    let mut seen: HashSet<u64> = HashSet::new();
    let mut strange: Vec<(u64, String)> = Vec::new();
    loop {
        let page = store.read(name, after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = last.id;
        for entry in &page {
            report.entries += 1;
            let sum = entry_digest(entry);
            match known.entries.get(&entry.id) {
                Some(expected) if expected.is(&sum) => {
                    seen.insert(entry.id);
                }
                None if known.is_free(entry.id) => report.unchained += 1,
                _ => strange.push((entry.id, sum)),
            }
        }
        tokio::task::yield_now().await;
    }
    if strange.is_empty() && known.entries.iter().all(|(id, entry)| entry.may_be_missing || seen.contains(id)) {
        return Ok(());
    }
    let mut by_sum: HashMap<&str, u64> = HashMap::new();
    for (id, entry) in &known.entries {
        by_sum.entry(&entry.sum).or_insert(*id);
    }
    let mut moved = HashSet::new();
    let mut faults = Vec::new();
    for (id, sum) in &strange {
        let kind = match by_sum.get(sum.as_str()) {
            Some(original) if seen.contains(original) || known.may_miss(*original) => FaultKind::Inserted,
            Some(original) => {
                moved.insert(*original);
                FaultKind::Reordered
            }
            None if known.entries.contains_key(id) => FaultKind::Changed,
            None => FaultKind::Inserted,
        };
        faults.push((*id, kind));
    }
    let changed: HashSet<u64> = strange.iter().map(|(id, _)| *id).collect();
    let is_missing = |id: &u64| !seen.contains(id) && !known.may_miss(*id);
    // The ids behind the last one that is there.
    let last_there = seen.iter().chain(&changed).max().copied().unwrap_or(0);
    let missing = known.entries.keys().filter(|id| is_missing(id) && !moved.contains(*id) && !changed.contains(*id));
    let missing: Vec<u64> = missing.copied().collect();
    let cut = missing.iter().find(|id| **id > last_there);
    faults.extend(missing.iter().filter(|id| **id < last_there).map(|id| (*id, FaultKind::Removed)));
    faults.extend(cut.map(|id| (*id, FaultKind::CutOff)));
    faults.sort_unstable();
    report.faults.extend(faults.into_iter().take(MAX_FAULTS).map(|(id, kind)| Fault::entry(part, id, kind)));
    if part == TAPE {
        // The conversation comes first.
        report.faults.sort_by_key(|fault| matches!(&fault.place, super::fault::Place::Record(_)));
    }
    Ok(())
}
