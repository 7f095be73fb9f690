//! The plugins that are being compiled, for progress output: compiling takes seconds.

use parking_lot::{Mutex, MutexGuard};

/// Compilations of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiling {
    /// The plugin; none between two.
    pub plugin: Option<String>,
    /// Plugins that were compiled so far.
    pub done: usize,
}

static NOW: Mutex<Compiling> = Mutex::new(Compiling { plugin: None, done: 0 });

fn lock() -> MutexGuard<'static, Compiling> {
    NOW.lock()
}

/// The current progress of the compilations.
pub fn now() -> Compiling {
    lock().clone()
}

/// Held while a plugin is compiled.
pub(super) struct Running;

impl Running {
    pub(super) fn begin(plugin: &str) -> Self {
        lock().plugin = Some(plugin.to_owned());
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut now = lock();
        now.plugin = None;
        now.done += 1;
    }
}
