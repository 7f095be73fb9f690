//! What a tape and its sidecars hold, by the records of the chain.

use std::collections::BTreeMap;

use crate::fault::{Fault, FaultKind};
use crate::record::{Sealed, Span};

/// The parts by name.
#[derive(Default)]
pub(super) struct Expected {
    pub(super) parts: BTreeMap<String, Part>,
}

/// The tape, or a sidecar.
#[derive(Default)]
pub(super) struct Part {
    /// By id.
    pub(super) entries: BTreeMap<u64, Known>,
    /// Ids of entries whose digests are not known: after the first up to the second.
    skipped: Vec<(u64, u64)>,
    /// The last id that the chain knows.
    end: u64,
}

/// An entry.
pub(super) struct Known {
    /// Its digest.
    pub(super) sum: String,
    /// Its digest without its words, if it was to lose them.
    blank: Option<String>,
    /// It was to be erased.
    pub(super) may_be_missing: bool,
}

impl Known {
    pub(super) fn is(&self, sum: &str) -> bool {
        self.sum == sum || self.blank.as_deref() == Some(sum)
    }
}

impl Part {
    /// Whether an entry of that id need not be on the chain.
    pub(super) fn is_free(&self, id: u64) -> bool {
        id > self.end || self.skipped.iter().any(|(from, to)| *from < id && id <= *to)
    }

    /// Whether the entry of that id was to be erased.
    pub(super) fn may_miss(&self, id: u64) -> bool {
        self.entries.get(&id).is_some_and(|known| known.may_be_missing)
    }

    fn add(&mut self, span: &Span) {
        for (id, sum) in (span.first..).zip(&span.sums) {
            self.entries.insert(id, Known { sum: sum.clone(), blank: None, may_be_missing: false });
        }
    }
}

impl Expected {
    /// Follows the records. What they say of entries that were gone is added to `faults`.
    pub(super) fn new(records: &[Sealed], faults: &mut Vec<Fault>) -> Self {
        let mut all = Self::default();
        for sealed in records {
            let record = &sealed.record;
            for part in &record.cleared {
                all.parts.remove(part);
            }
            for lost in &record.lost {
                faults.push(Fault::entry(&lost.part, lost.from + 1, FaultKind::CutOff));
                let part = all.part(&lost.part);
                part.entries.retain(|id, _| *id <= lost.from);
            }
            for skipped in &record.skipped {
                all.part(&skipped.part).skipped.push((skipped.from, skipped.to));
            }
            for span in record.found.iter().chain(&record.wrote) {
                all.part(&span.part).add(span);
            }
            if let Some(erased) = &record.erased {
                let part = all.part(&erased.part);
                for id in &erased.ids {
                    if let Some(known) = part.entries.get_mut(id) {
                        known.may_be_missing = true;
                    }
                }
                for (id, sum) in &erased.blank {
                    if let Some(known) = part.entries.get_mut(id) {
                        known.blank = Some(sum.clone());
                    }
                }
            }
            if let Some(seq) = record.kept {
                let announced = usize::try_from(seq).ok().and_then(|seq| records.get(seq.checked_sub(1)?));
                if let Some(erased) = announced.and_then(|announced| announced.record.erased.as_ref()) {
                    let part = all.part(&erased.part);
                    let ids = erased.ids.iter().chain(erased.blank.iter().map(|(id, _)| id));
                    for id in ids {
                        if let Some(known) = part.entries.get_mut(id) {
                            (known.may_be_missing, known.blank) = (false, None);
                        }
                    }
                }
            }
            for (part, end) in &record.ends {
                all.part(part).end = *end;
            }
        }
        all
    }

    fn part(&mut self, name: &str) -> &mut Part {
        self.parts.entry(name.to_owned()).or_default()
    }
}
