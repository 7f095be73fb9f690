//! The configuration, read again while the program serves: when one of its files changes, and on SIGHUP.

use anyhow::Result;
use bub_config::{Config, Print, Waiting};
use bub_gateway::Gateway;
use bub_runtime::host::Watch;
use bub_server::{Door, Tls, Tokens};
use bub_types::text::one_line;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long files have to stay as they are before they are read: whoever writes may not be done.
const QUIET: Duration = Duration::from_millis(100);

/// How long they have to stay as they are before it is said that something is wrong with them.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reads the configuration again, and lets what it says hold.
pub(super) struct Renewal {
    gateway: Arc<Gateway>,
    door: Door,
    above: Above,
    /// Whether somebody has asked for it, who is done with writing.
    is_asked: AtomicBool,
    state: Mutex<State>,
}

/// What the command line says: it stands above the file, as at the start.
pub(super) struct Above {
    /// `--listen`.
    pub(super) listen: Option<SocketAddr>,
    /// `--insecure-http`.
    pub(super) insecure_http: bool,
}

struct State {
    /// What is in effect.
    holds: Print,
    /// What was decided about: it is in effect, or it is wrong and that was told.
    decided: Print,
    /// What the files hold since, and what is wrong with that as far as it is known.
    seen: Option<(Print, Instant, Option<String>)>,
    /// What is told already to wait for the next start.
    waiting: Vec<Waiting>,
}

/// The files of which all that is made, in the order of a [`Print`].
pub(super) fn files(config: &Config) -> Vec<PathBuf> {
    config.sources().into_iter().chain(own_files(config)).collect()
}

/// Those that `serve` alone reads: the owner's token, and what connections are encrypted with.
pub(super) fn own_files(config: &Config) -> Vec<PathBuf> {
    [Tokens::file(config)].into_iter().chain(Tls::files(config)).collect()
}

impl Renewal {
    /// `holds`: what the [files] held of which the gateway and the door were made.
    pub(super) fn new(gateway: Arc<Gateway>, door: Door, above: Above, holds: Print) -> Arc<Self> {
        let state = State { decided: holds.clone(), holds, seen: None, waiting: Vec::new() };
        Arc::new(Self { gateway, door, above, is_asked: AtomicBool::new(false), state: Mutex::new(state) })
    }

    /// Watches plugins and configuration for as long as the answer is held.
    pub(super) fn watch(self: &Arc<Self>) -> Watch {
        let (renewal, host) = (self.clone(), self.gateway.host());
        // One line is enough.
        host.ledger.hush();
        host.watch_with(files(&host.config), move || {
            let renewal = renewal.clone();
            async move {
                let is_whole = renewal.look().await;
                renewal.gateway.host().refresh().await && is_whole
            }
        })
    }

    /// The next look takes the files as they are, and says what is wrong with them, also once more.
    pub(super) fn ask(&self) {
        self.is_asked.store(true, Ordering::Relaxed);
    }

    /// `false`: somebody may still be writing.
    async fn look(&self) -> bool {
        let mut state = self.state.lock().await;
        let is_asked = self.is_asked.swap(false, Ordering::Relaxed);
        let print = Print::of(files(&self.gateway.host().config));
        if print.says_the_same(&state.holds) {
            state.decided = print;
            state.seen = None;
            return true;
        }
        if print == state.decided && !is_asked {
            state.seen = None;
            return true;
        }
        let (since, known) = match state.seen.take() {
            Some((seen, since, known)) if seen == print => (since, known),
            _ => (Instant::now(), None),
        };
        let age = since.elapsed();
        if !is_asked && age < QUIET {
            state.seen = Some((print, since, known));
            return false;
        }
        let wrong = match known {
            Some(wrong) => wrong,
            None => match self.renew(&print, &mut state).await {
                Ok(true) => return true,
                // They have changed while they were read.
                Ok(false) => return false,
                Err(error) => one_line(&format!("{error:#}")),
            },
        };
        if !is_asked && age < PATIENCE {
            state.seen = Some((print, since, Some(wrong)));
            return false;
        }
        tracing::warn!("the configuration stays as it was: {wrong}");
        state.decided = print;
        true
    }

    /// `false`: the files have changed meanwhile, and nothing else has.
    async fn renew(&self, print: &Print, state: &mut State) -> Result<bool> {
        let before = self.gateway.host();
        let mut config = Config::load(Some(&before.config.home))?;
        if let Some(listen) = self.above.listen {
            config.serve.listen = listen;
        }
        config.policy.unattended();
        let tokens = Tokens::load(&config)?;
        let (config, waiting) = config.beside(&before.config);
        config.serve.check_exposure(self.above.insecure_http)?;
        let tls = Tls::load(&config)?;
        if Print::of(files(&config)) != *print {
            return Ok(false);
        }
        let host = before.renewed(config).await?;
        self.door.renew(tokens, tls, &host.config.serve);
        self.gateway.renew(host).await;
        tracing::info!("the changed configuration is in effect");
        for new in waiting.iter().filter(|new| !state.waiting.contains(new)) {
            tracing::warn!("{new}");
        }
        *state = State { holds: print.clone(), decided: print.clone(), seen: None, waiting };
        Ok(true)
    }
}
