//! The spans that this thread works in, the innermost last.

use crate::context::TraceContext;
use crate::slab;
use std::cell::RefCell;

/// The id of all spans that are neither exported nor in the log. Nothing is known of them.
pub(crate) const IGNORED: u64 = u64::MAX;

thread_local! {
    static STACK: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn enter(id: u64) {
    // A thread that ends has no spans.
    let _ = STACK.try_with(|stack| stack.borrow_mut().push(id));
}

pub(crate) fn exit(id: u64) {
    let _ = STACK.try_with(|stack| {
        let mut stack = stack.borrow_mut();
        if stack.last() == Some(&id) {
            stack.pop();
        } else if let Some(at) = stack.iter().rposition(|entered| *entered == id) {
            // It was left before one that was entered later.
            stack.remove(at);
        }
    });
}

/// The innermost span.
pub(crate) fn innermost() -> Option<u64> {
    STACK.try_with(|stack| stack.borrow().last().copied()).ok().flatten()
}

/// The place in a trace that this thread works at.
pub(crate) fn context() -> Option<TraceContext> {
    let find = |stack: &RefCell<Vec<u64>>| {
        for id in stack.borrow().iter().rev() {
            if *id == IGNORED {
                return None;
            }
            // A span of the log alone is in the one around it.
            if let Some(slot) = slab::get(*id) {
                return slot.span.lock().context;
            }
        }
        None
    };
    STACK.try_with(find).ok().flatten()
}
