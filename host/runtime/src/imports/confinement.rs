//! What a program of a plugin may reach: decided here, by the plugin's grants, the turn, and the configuration.

use crate::guest::State;
use crate::host::{Confined, runs_later};
use crate::turn::Turn;
use bub_config::Config;
use bub_permissions::Grant;
use bub_sandbox::{Backend, Confinement, Network, SOCKET_VARIABLES, Sandbox};
use bub_system::process::{Environment, Hooks};
use bub_types::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where variables of a proxy lead is out of reach where the network is another one.
const PROXY_VARIABLES: [&str; 3] = ["ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"];

/// How a program is started.
pub(super) struct Start {
    /// The words before its shell.
    pub(super) wrapper: Vec<OsString>,
    /// What is done around its start.
    pub(super) hooks: Hooks,
    pub(super) environment: Environment,
    /// What confines it; none: nothing does.
    pub(super) confined: Option<Confined>,
}

impl State {
    /// Whether the plugin's programs run without a sandbox.
    ///
    /// # Errors
    ///
    /// It may run none.
    pub(super) fn runs_freely(&self) -> Result<bool, Error> {
        if self.host.grants.allows(&self.plugin, &Grant::PROCESS) {
            return Ok(true);
        }
        // The refusal names what it asks for.
        let asks_for = self.plugin.asks_for(&Grant::PROCESS_SANDBOXED);
        let wanted = if asks_for { Grant::PROCESS_SANDBOXED } else { Grant::PROCESS };
        self.granted(&wanted).map(|()| false)
    }

    /// How the plugin starts that command, if its programs may run. `is_free`: without a sandbox.
    ///
    /// # Errors
    ///
    /// What should confine it cannot.
    pub(super) fn start_of(
        &self,
        turn: &Arc<Turn>,
        is_free: bool,
        (command, directory): (&str, &Path),
    ) -> Result<Start, Error> {
        let config = &self.host.config;
        let environment = environment(config);
        let outside =
            || Start { wrapper: Vec::new(), hooks: Hooks::default(), environment: environment.clone(), confined: None };
        if is_free || turn.is_permitted_outside(&self.plugin.digest, command) {
            return Ok(outside());
        }
        let sandbox = self.host.sandboxes.find(config);
        if *sandbox.backend() == Backend::None {
            return match config.process.strict {
                true => Err(Error::denied(unheld(&sandbox))),
                false => Ok(outside()),
            };
        }
        let given = self.program_network(turn, &Grant::PROCESS_SANDBOXED);
        let confinement = confinement(turn, given.network(sandbox.needs_socket())?)?;
        let wrapped = sandbox.wrap(&confinement, directory).map_err(|reason| {
            Error::denied(format!("{reason}; `[process] sandbox` of config.toml says what holds programs"))
        })?;
        let rules = config.policy.runs_later.clone();
        let confined = Confined::new(given.reasons(), confinement.workspace, rules, confinement.keep);
        let mut dropped = SOCKET_VARIABLES.to_vec();
        if confinement.network != Network::Free {
            dropped.extend(PROXY_VARIABLES);
        }
        let variables = wrapped.variables.into_iter().map(|(name, value)| (name.to_owned(), value.into()));
        let environment = environment.without(&dropped).with(variables);
        Ok(Start {
            wrapper: wrapped.words,
            hooks: given.hooks(wrapped.preparation),
            environment,
            confined: Some(confined),
        })
    }
}

/// Why nothing runs where a sandbox is demanded.
fn unheld(sandbox: &Sandbox) -> String {
    format!("no program runs without a sandbox (`strict` of `[process]`): {}", sandbox.why().join("; "))
}

/// The variables of programs, in a sandbox or not.
pub(super) fn environment(config: &Config) -> Environment {
    let keys = config.model.keys.values().chain(&config.model.api_key).map(|key| key.expose());
    Environment::from_host(&config.process.env).without_secrets(&keys.collect::<Vec<_>>())
}

/// What a program of the turn may reach.
fn confinement(turn: &Arc<Turn>, network: Network) -> Result<Confinement, Error> {
    let (host, workspace) = (&turn.scope.host, real(&turn.workspace));
    let config = &host.config;
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    // Sessions have the same ids in other workspaces.
    let session = format!("{}\0{}", workspace.display(), turn.session_id);
    let private = host.sandboxes.private.of_session(&session).map_err(|error| {
        Error::denied(format!("a directory for the programs of this session cannot be made: {error}"))
    })?;
    let (read, write) = config.process.paths(home.as_deref());
    let own = [&config.home, &config.cache_dir];
    let secrets = config.secrets.files().map(Path::to_owned);
    let hide = own.into_iter().cloned().chain(secrets).map(|path| real(&path)).collect();
    let keep = runs_later(&workspace, &config.policy.runs_later);
    let limits = config.process.limits.limits();
    Ok(Confinement { workspace, home, private, read, write, keep, hide, network, limits })
}

/// Without links, if it is there.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
