//! Reloads the configuration while serving: when one of its files changes, and on SIGHUP.

use crate::cli::telemetry;
use anyhow::Result;
use bub_config::{Config, Fingerprint, RestartRequired};
use bub_gateway::Gateway;
use bub_runtime::host::Watch;
use bub_server::{AuthState, Tls, Tokens};
use bub_types::text::one_line;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long files must be unchanged before they are read, since a write may still be in progress.
const DEBOUNCE: Duration = Duration::from_millis(100);

/// How long files must be unchanged before an error in them is logged.
const ERROR_DELAY: Duration = Duration::from_secs(1);

/// Reloads the configuration and applies it to the host, the server and the gateway.
pub(super) struct ConfigReloader {
    gateway: Arc<Gateway>,
    auth: AuthState,
    command_line: CommandLine,
    /// Whether a reload was requested, by SIGHUP: no debouncing then.
    requested: AtomicBool,
    state: Mutex<State>,
}

/// Options of the command line, which override the file at every reload.
pub(super) struct CommandLine {
    /// `--listen`.
    pub(super) listen: Option<SocketAddr>,
    /// `--insecure-http`.
    pub(super) insecure_http: bool,
}

struct State {
    /// Files of the active configuration.
    active: Fingerprint,
    /// Files that were handled last: active, or invalid and logged.
    handled: Fingerprint,
    /// The last content seen, since when, and its error if it is known.
    seen: Option<(Fingerprint, Instant, Option<String>)>,
    /// Settings that were logged already as waiting for a restart.
    waiting: Vec<RestartRequired>,
}

/// All files that are watched, in the order of a [`Fingerprint`].
pub(super) fn files(config: &Config) -> Vec<PathBuf> {
    config.sources().into_iter().chain(own_files(config)).collect()
}

/// Files that only `serve` reads: the owner's token and the TLS files.
pub(super) fn own_files(config: &Config) -> Vec<PathBuf> {
    [Tokens::file(config)].into_iter().chain(Tls::files(config)).collect()
}

impl ConfigReloader {
    /// `active` is the fingerprint of the [files] that the gateway and the server were configured from.
    pub(super) fn new(
        gateway: Arc<Gateway>,
        auth: AuthState,
        command_line: CommandLine,
        active: Fingerprint,
    ) -> Arc<Self> {
        let state = State { handled: active.clone(), active, seen: None, waiting: Vec::new() };
        Arc::new(Self { gateway, auth, command_line, requested: AtomicBool::new(false), state: Mutex::new(state) })
    }

    /// Watches plugins and configuration until the returned value is dropped.
    pub(super) fn watch(self: &Arc<Self>) -> Watch {
        let (reloader, host) = (self.clone(), self.gateway.host());
        // One line is enough.
        host.grants.mute();
        // Signatures are checked with the lock.
        let lock = bub_registry::Lock::path(&host.config.home);
        let watched = files(&host.config).into_iter().chain([lock]).collect();
        host.watch_with(watched, move || {
            let reloader = reloader.clone();
            async move {
                let is_settled = reloader.check().await;
                reloader.gateway.host().refresh().await && is_settled
            }
        })
    }

    /// Makes the next check reload at once, and log an error even if it was logged before.
    pub(super) fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    /// `false`: files may still be being written.
    async fn check(&self) -> bool {
        let mut state = self.state.lock().await;
        let requested = self.requested.swap(false, Ordering::Relaxed);
        let fingerprint = Fingerprint::of_files(files(&self.gateway.host().config));
        if fingerprint.same_content(&state.active) {
            state.handled = fingerprint;
            state.seen = None;
            return true;
        }
        if fingerprint == state.handled && !requested {
            state.seen = None;
            return true;
        }
        let (since, known) = match state.seen.take() {
            Some((seen, since, known)) if seen == fingerprint => (since, known),
            _ => (Instant::now(), None),
        };
        let age = since.elapsed();
        if !requested && age < DEBOUNCE {
            state.seen = Some((fingerprint, since, known));
            return false;
        }
        let wrong = match known {
            Some(wrong) => wrong,
            None => match self.reload(&fingerprint, &mut state).await {
                Ok(true) => return true,
                // The files changed while they were read.
                Ok(false) => return false,
                Err(error) => one_line(&format!("{error:#}")),
            },
        };
        if !requested && age < ERROR_DELAY {
            state.seen = Some((fingerprint, since, Some(wrong)));
            return false;
        }
        tracing::warn!("the previous configuration stays active: {wrong}");
        state.handled = fingerprint;
        true
    }

    /// `false`: the files changed while they were read, and nothing was applied.
    async fn reload(&self, fingerprint: &Fingerprint, state: &mut State) -> Result<bool> {
        let before = self.gateway.host();
        let mut config = Config::load(Some(&before.config.home))?;
        if let Some(listen) = self.command_line.listen {
            config.serve.listen = listen;
        }
        config.policy.unattended();
        let tokens = Tokens::load(&config)?;
        let (config, waiting) = config.merge_reload(&before.config);
        config.serve.check_exposure(self.command_line.insecure_http)?;
        let tls = Tls::load(&config)?;
        if Fingerprint::of_files(files(&config)) != *fingerprint {
            return Ok(false);
        }
        let host = before.with_config(config).await?;
        telemetry::redact_with(&host.config);
        self.auth.reload(tokens, tls, &host.config.serve);
        self.gateway.reload(host).await;
        tracing::info!("the changed configuration is in effect");
        for new in waiting.iter().filter(|new| !state.waiting.contains(new)) {
            tracing::warn!("{new}");
        }
        *state = State { active: fingerprint.clone(), handled: fingerprint.clone(), seen: None, waiting };
        Ok(true)
    }
}
