//! The list of files that no plugin may open.

use bub_config::Config;
use bub_system::files::ProtectedFiles;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the list of protected files is believed. No plugin can change what it says; the user can.
const BELIEVED_FOR: Duration = Duration::from_secs(1);

/// The list of protected files, made anew when it is old.
#[derive(Default)]
pub struct ProtectionCache(Mutex<Option<(Instant, Arc<ProtectedFiles>)>>);

impl ProtectionCache {
    /// The files that are protected at this moment.
    pub fn files(&self, config: &Config) -> Arc<ProtectedFiles> {
        let mut kept = self.0.lock();
        match &*kept {
            Some((at, files)) if at.elapsed() < BELIEVED_FOR => files.clone(),
            _ => {
                let files = Arc::new(config.protected_files());
                *kept = Some((Instant::now(), files.clone()));
                files
            }
        }
    }
}
