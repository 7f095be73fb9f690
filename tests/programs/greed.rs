//! Memory that does harm when the host asks for it. The guest has no say then, and cannot read its configuration: what
//! it does hangs on the size that is asked for.

use std::alloc::{GlobalAlloc, Layout, System};

/// An allocation of this size never returns.
const SPINS_WHEN_WANTED: usize = 7_777;

/// Bytes for which the guest calls the host while the host waits for them.
const CALLS_WHEN_WANTED: usize = 8_888;

/// Bytes that are never taken back.
pub const SPINS_WHEN_FREED: usize = 6_666;

pub struct Greed;

// SAFETY: memory is the system allocator's; the sizes `*_WHEN_WANTED` are never allocated.
unsafe impl GlobalAlloc for Greed {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match layout.size() {
            SPINS_WHEN_WANTED => super::spin(),
            CALLS_WHEN_WANTED => {
                crate::bub::plugin::log::log(crate::bub::plugin::log::Level::Error, "called while it was asked");
                std::ptr::null_mut()
            }
            // SAFETY: the layout is the caller's.
            _ => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if layout.size() == SPINS_WHEN_FREED {
            super::spin();
        }
        // SAFETY: it was given by `alloc` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}
