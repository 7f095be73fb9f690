//! The spans that are open. Each has a slot, which the next span takes over with its memory.

use crate::callsite::Callsite;
use crate::context::TraceContext;
use crate::ids;
use crate::record::Attributes;
use parking_lot::Mutex;
use std::num::NonZeroU64;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use std::time::Instant;

/// Slots of a page, and pages: so many spans can be open at once.
const SLOTS: usize = 256;
const PAGES: usize = 256;

/// A bit of all ids that are given here.
const OWN: u64 = 1 << 63;

/// The largest buffer that a slot keeps for its next span, in bytes.
const MAX_KEPT: usize = 1 << 10;

static PAGE: [OnceLock<Box<[Slot]>>; PAGES] = [const { OnceLock::new() }; PAGES];

static FREE: Mutex<Free> = Mutex::new(Free { free: Vec::new(), next: 0, round: None });

/// The slots that no span has.
struct Free {
    free: Vec<u32>,
    /// The first that was never used.
    next: u32,
    /// A number in ids, so that an old id is not taken for one of the slot's next span.
    round: Option<u32>,
}

/// A place for a span.
#[derive(Default)]
pub(crate) struct Slot {
    /// The id of the span that is in it; 0: none.
    id: AtomicU64,
    references: AtomicUsize,
    /// The id that the log has given the span; 0: it does not want it.
    log: AtomicU64,
    pub(crate) span: Mutex<OpenSpan>,
}

/// A span that is open.
#[derive(Default)]
pub(crate) struct OpenSpan {
    /// What it is recorded with; `None`: its trace is not sampled.
    pub(crate) recorded: Option<Recorded>,
    pub(crate) context: Option<TraceContext>,
    pub(crate) callsite: Option<&'static Callsite>,
    pub(crate) attributes: Attributes,
}

/// Why a span has no slot.
pub(crate) struct Refused {
    /// Too many are open; otherwise it is not recorded.
    pub(crate) is_full: bool,
}

/// What is kept of a span until it ends.
pub(crate) struct Recorded {
    /// The span around it; 0: none.
    pub(crate) parent: u64,
    /// Whether the parent is a span of another process.
    pub(crate) is_remote: bool,
    /// Nanoseconds since 1970.
    pub(crate) start: u64,
    pub(crate) begun: Instant,
}

impl Slot {
    /// The id that the log has given the span.
    pub(crate) fn log(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.log.load(Ordering::Relaxed))
    }

    /// Another part of the program has the span.
    pub(crate) fn acquire(&self) {
        self.references.fetch_add(1, Ordering::Relaxed);
    }

    /// A part of the program does not have it any longer. `true`: no other has it, it has ended.
    pub(crate) fn release(&self) -> bool {
        let is_last = self.references.fetch_sub(1, Ordering::Release) == 1;
        if is_last {
            // What others have written to it is seen here.
            fence(Ordering::Acquire);
        }
        is_last
    }

    /// The span has ended, and the next one can have the slot.
    pub(crate) fn free(&self) {
        let index = self.id.swap(0, Ordering::AcqRel) as u32;
        self.span.lock().clear();
        FREE.lock().free.push(index);
    }
}

impl OpenSpan {
    fn clear(&mut self) {
        (self.recorded, self.context, self.callsite) = (None, None, None);
        self.attributes.clear(MAX_KEPT);
    }
}

/// The slot of the span with that id, if it is one of this slab.
pub(crate) fn get(id: u64) -> Option<&'static Slot> {
    if id & OWN == 0 {
        return None;
    }
    let index = id as u32 as usize;
    let slot = PAGE.get(index / SLOTS)?.get()?.get(index % SLOTS)?;
    // An id of the log may have that bit too.
    (slot.id.load(Ordering::Acquire) == id).then_some(slot)
}

/// A slot for a new span, and its id. `open` describes the span; with `false`, it is not recorded. `log` is the id that the
/// log has given it.
pub(crate) fn insert(log: Option<NonZeroU64>, open: impl FnOnce(&mut OpenSpan) -> bool) -> Result<NonZeroU64, Refused> {
    let (index, round) = FREE.lock().take();
    let (index, slot) = index.and_then(|index| Some((index, place(index)?))).ok_or(Refused { is_full: true })?;
    if !open(&mut slot.span.lock()) {
        slot.span.lock().clear();
        FREE.lock().free.push(index);
        return Err(Refused { is_full: false });
    }
    slot.references.store(1, Ordering::Relaxed);
    slot.log.store(log.map_or(0, NonZeroU64::get), Ordering::Relaxed);
    let id = OWN | u64::from(round) << 32 | u64::from(index);
    slot.id.store(id, Ordering::Release);
    NonZeroU64::new(id).ok_or(Refused { is_full: true })
}

impl Free {
    /// A slot, if there is one, and the number for the id of its span.
    fn take(&mut self) -> (Option<u32>, u32) {
        let round = self.round.map_or_else(|| ids::span_id() as u32, |round| round.wrapping_add(1));
        self.round = Some(round);
        let next = self.next;
        let index = self.free.pop().or_else(|| {
            self.next += u32::from((next as usize) < SLOTS * PAGES);
            (self.next > next).then_some(next)
        });
        (index, round & !(1 << 31))
    }
}

fn place(index: u32) -> Option<&'static Slot> {
    let index = index as usize;
    let page = PAGE.get(index / SLOTS)?;
    let page = page.get_or_init(|| (0..SLOTS).map(|_| Slot::default()).collect());
    page.get(index % SLOTS)
}
