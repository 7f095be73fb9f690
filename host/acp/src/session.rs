//! A session that the editor has open.

use super::modes;
use super::workspaces::Workspace;
use agent_client_protocol_schema::v1::{RequestId, SessionModeState};
use bub_runtime::turn::{ApprovalRules, Cancel};
use parking_lot::Mutex as Locked;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{Mutex, watch};

/// The session.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) workspace: Arc<Workspace>,
    mode: Locked<&'static str>,
    rules: watch::Sender<ApprovalRules>,
    /// One prompt at a time.
    pub(crate) queue: Mutex<()>,
    prompts: Locked<Vec<(RequestId, watch::Sender<bool>)>>,
    has_title: AtomicBool,
}

impl Session {
    /// A session whose mode is that of the configuration. `has_title`: it was open before.
    pub(crate) fn new(id: String, workspace: Arc<Workspace>, has_title: bool) -> Arc<Self> {
        let policy = workspace.host().config.policy.clone();
        let mode = modes::initial(&policy);
        let rules = ApprovalRules { mode: policy.approve, allowed: policy.allowed };
        Arc::new(Self {
            id,
            workspace,
            mode: Locked::new(mode),
            rules: watch::Sender::new(rules),
            queue: Mutex::default(),
            prompts: Locked::default(),
            has_title: AtomicBool::new(has_title),
        })
    }

    /// Its modes, for the editor.
    pub(crate) fn modes(&self) -> SessionModeState {
        modes::state(*self.mode.lock())
    }

    /// Changes the mode, also for a turn that runs. `false`: there is no such mode.
    pub(crate) fn set_mode(&self, id: &str) -> bool {
        let Some((mode, rules)) = modes::rules(id, &self.workspace.host().config.policy) else { return false };
        *self.mode.lock() = mode;
        self.rules.send_replace(rules);
        true
    }

    /// When calls need the user's word.
    pub(crate) fn rules(&self) -> watch::Receiver<ApprovalRules> {
        self.rules.subscribe()
    }

    /// Whether the session has a title from now on that the editor knows; the answer is whether it had one.
    pub(crate) fn take_title(&self) -> bool {
        self.has_title.swap(true, Ordering::Relaxed)
    }

    /// Begins a prompt that can be cancelled until the returned value is dropped.
    pub(crate) fn begin(self: &Arc<Self>, id: RequestId) -> RunningPrompt {
        let (stop, cancel) = watch::channel(false);
        self.prompts.lock().push((id.clone(), stop));
        RunningPrompt { session: Arc::clone(self), id, cancel }
    }

    /// Cancels all prompts.
    pub(crate) fn cancel(&self) {
        for (_, stop) in self.prompts.lock().iter() {
            stop.send_replace(true);
        }
    }

    /// Cancels one prompt.
    pub(crate) fn cancel_prompt(&self, id: &RequestId) {
        for (_, stop) in self.prompts.lock().iter().filter(|(known, _)| known == id) {
            stop.send_replace(true);
        }
    }

    /// Whether a prompt runs or waits.
    pub(crate) fn is_busy(&self) -> bool {
        !self.prompts.lock().is_empty()
    }
}

/// A prompt that runs or waits.
pub(crate) struct RunningPrompt {
    session: Arc<Session>,
    id: RequestId,
    pub(crate) cancel: Cancel,
}

impl Drop for RunningPrompt {
    fn drop(&mut self) {
        let mut prompts = self.session.prompts.lock();
        if let Some(at) = prompts.iter().position(|(id, _)| *id == self.id) {
            prompts.remove(at);
        }
    }
}
