//! Plugins that all workers on one database share: taken over from there, and stored there.

mod applied;

use crate::plugin::{MAX_FILE, PluginFiles, digest, digest_of, is_digest, is_embedded, user_dir};
use anyhow::{Context, Result, bail, ensure};
use applied::{Applied, AppliedVersion, HomeLock, key};
use bub_config::{Config, Section};
use bub_postgres::{Database, NewPlugin, PluginKind, PluginRow, PluginTable, PluginVersion};
use bub_registry::Lock;
use bub_types::plugin_name::check_name;
use bub_types::text::one_line;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// How long the start of a turn waits for another process of the home that changes plugins.
const START_WAIT: Duration = Duration::from_secs(2);

/// How long a command does.
const COMMAND_WAIT: Duration = Duration::from_secs(10);

/// The shared plugins, as one home sees them.
pub struct SharedPlugins {
    table: PluginTable,
    /// The versions that were refused, also where the home cannot be written.
    refused: Applied,
    host: String,
}

/// Takes over what other workers have changed, before turns start. Returns the configuration as it is then.
///
/// # Errors
///
/// The database cannot be reached.
pub async fn pull_at_start(config: Config) -> Result<Config> {
    if !config.shares_plugins() {
        return Ok(config);
    }
    let Some(database) = config.connect().await? else { return Ok(config) };
    match SharedPlugins::new(database).pull(&config, START_WAIT).await? {
        true => reload(&config),
        false => Ok(config),
    }
}

fn reload(config: &Config) -> Result<Config> {
    Ok(Config::load(Some(&config.home))?.with_connection_of(config))
}

impl SharedPlugins {
    /// Those of that database.
    pub fn new(database: Database) -> Self {
        Self { table: PluginTable::new(database), refused: Applied::default(), host: host_name() }
    }

    /// Takes over versions that are new here. Returns whether anything changed. One statement, where nothing is new.
    ///
    /// # Errors
    ///
    /// The database does not answer.
    pub async fn pull(&mut self, config: &Config, wait: Duration) -> Result<bool> {
        let versions = self.table.versions().await?;
        let dir = user_dir(config);
        if self.is_done(&versions, &Applied::read(&dir)) {
            return Ok(false);
        }
        match HomeLock::take(&dir, wait).await {
            Ok(Some(_lock)) => self.pull_locked(config, versions).await,
            // The next comparison takes over changes that this process does not.
            Ok(None) => Ok(false),
            Err(error) => {
                // It serves on with what it has, and says so once for each version.
                let missed: Vec<PluginVersion> =
                    versions.into_iter().filter(|version| !self.refused.is_done(version)).collect();
                let mut is_new = false;
                for version in missed {
                    is_new |= self.refused.refuse(&version.stamp);
                }
                if is_new {
                    tracing::warn!("plugins of other workers are not taken over: {error:#}");
                }
                Ok(false)
            }
        }
    }

    fn is_done(&self, versions: &[PluginVersion], applied: &Applied) -> bool {
        versions.iter().all(|version| applied.is_done(version) || self.refused.is_done(version))
    }

    async fn pull_locked(&mut self, config: &Config, versions: Vec<PluginVersion>) -> Result<bool> {
        let dir = user_dir(config);
        let mut applied = Applied::read(&dir);
        applied.refused_too(std::mem::take(&mut self.refused), &versions);
        let mut changed = false;
        for version in versions.iter().filter(|version| !applied.is_done(version)).cloned().collect::<Vec<_>>() {
            let Some(row) = self.table.get(version.kind, &version.name).await? else { continue };
            let known = applied.get(&key(&version)).cloned();
            match self.apply(config, &version, &row, known.is_some()).await {
                Ok(is_different) => {
                    changed |= is_different;
                    log(&version, &row, known.as_ref(), is_different);
                    let taken = AppliedVersion { stamp: row.stamp.clone(), version: row.version, is_own: false };
                    applied.set(key(&version), taken);
                }
                Err(error) => {
                    if applied.refuse(&row.stamp) {
                        let (what, host) = (shown(&version), one_line(&row.host));
                        let why = one_line(&format!("{error:#}"));
                        tracing::warn!("{what}, version {} of `{host}`, is not taken over: {why}", row.version);
                    }
                }
            }
        }
        if let Err(error) = off_the_runtime(|| applied.write(&dir)) {
            tracing::warn!("plugins of other workers are compared again at the next start: {error:#}");
        }
        self.refused = applied;
        Ok(changed)
    }

    /// Makes this home have that version. The settings come first: with them, turns of the version before keep their grants
    /// while the new file is written.
    async fn apply(&self, config: &Config, version: &PluginVersion, row: &PluginRow, is_known: bool) -> Result<bool> {
        let name = version.name.as_str();
        match version.kind {
            PluginKind::Trusted => {
                ensure!(is_digest(name), "`{}` is no digest", one_line(name));
                ensure!(row.digest.is_none(), "a plugin of a workspace has no file");
                off_the_runtime(|| config.apply_settings(Section::Trusted(name), row.settings.as_deref()))
            }
            PluginKind::Plugin => {
                check_name(name)?;
                let bytes = self.new_bytes(config, name, row).await?;
                off_the_runtime(|| {
                    let files = PluginFiles::read_again(config, name)?;
                    // A plugin that was removed elsewhere, before this home knew of it, is another plugin here.
                    if row.digest.is_none() && !is_known && files.exists() {
                        return Ok(false);
                    }
                    let is_different = config.apply_settings(Section::Plugin(name), row.settings.as_deref())?;
                    match (&bytes, &row.digest) {
                        (Some(bytes), _) => files.install(bytes)?,
                        (None, None) if files.exists() && !is_embedded(name) => files.remove_file()?,
                        (None, _) => return Ok(is_different),
                    }
                    Ok(true)
                })
            }
        }
    }

    /// The bytes of the row's file, if this home has others.
    async fn new_bytes(&self, config: &Config, name: &str, row: &PluginRow) -> Result<Option<Vec<u8>>> {
        let Some(expected) = &row.digest else { return Ok(None) };
        ensure!(is_digest(expected), "`{}` is no digest", one_line(expected));
        ensure!(!is_embedded(name), "the name is taken by a plugin of this program");
        if digest_of(&file(config, name)).is_ok_and(|digest| digest == *expected) {
            return Ok(None);
        }
        // The lock is this home's own: a version that it does not know would take the place of one that is loaded.
        ensure!(
            !config.trust.requires(name) || Lock::read(&config.home)?.entry(name, expected).is_some(),
            "it needs a signature, by `[trust]` of config.toml: install it here by `bub-wasm plugin add`"
        );
        let bytes = self.table.file(expected, MAX_FILE).await?;
        let bytes = bytes.with_context(|| {
            let host = one_line(&row.host);
            format!("its file is not in the database; `bub-wasm plugin share {name}` on `{host}` stores it")
        })?;
        let found = off_the_runtime(|| digest(&bytes));
        if found != *expected {
            bail!("its file in the database is damaged: its SHA-256 is {found}, not {expected}");
        }
        Ok(Some(bytes))
    }

    /// Stores what this home has under that name. Returns the new version; `None`: it is stored already.
    async fn push(&self, config: &Config, version: &Key, applied: &mut Applied) -> Result<Option<(i64, Vec<String>)>> {
        let (kind, name) = (version.0, version.1.as_str());
        let bytes = match kind {
            PluginKind::Plugin if !is_embedded(name) && file(config, name).exists() => {
                Some(off_the_runtime(|| crate::plugin::bytes_of(&file(config, name)))?)
            }
            _ => None,
        };
        let own_digest = bytes.as_deref().map(digest);
        let settings = config.shared_settings(section(version))?;
        let key = format!("{}:{name}", kind.name());
        let row = self.table.get(kind, name).await?;
        // A file that was missing or damaged was refused elsewhere: a new version is looked at again.
        let is_new_file = match (&bytes, &own_digest) {
            (Some(bytes), Some(digest)) => self.table.add_file(digest, bytes).await?,
            _ => false,
        };
        let is_same =
            !is_new_file && row.as_ref().is_some_and(|row| row.digest == own_digest && row.settings == settings.toml);
        if is_same || (row.is_none() && bytes.is_none() && settings.toml.is_none()) {
            if let Some(row) = row {
                applied.set(key, AppliedVersion { stamp: row.stamp, version: row.version, is_own: false });
            }
            return Ok(None);
        }
        let base = applied.get(&key).map(|known| known.stamp.clone());
        let new = NewPlugin {
            kind,
            name,
            digest: own_digest.as_deref(),
            settings: settings.toml.as_deref(),
            host: &self.host,
            base: base.as_deref(),
        };
        let written = self.table.put(new).await?;
        if let Some((stamp, version, host)) = &written.replaced
            && base.as_ref() != Some(stamp)
        {
            let (what, host) = (shown_key(kind, name), one_line(host));
            tracing::warn!(
                "{what} was changed on `{host}` meanwhile: version {version} is replaced by version {}, which is from here",
                written.version
            );
        }
        applied.set(key, AppliedVersion { stamp: written.stamp, version: written.version, is_own: true });
        self.table.sweep().await?;
        Ok(Some((written.version, settings.omitted)))
    }
}

/// The subject of a row: its kind and its name or digest.
type Key = (PluginKind, String);

fn section(key: &Key) -> Section<'_> {
    match key.0 {
        PluginKind::Plugin => Section::Plugin(&key.1),
        PluginKind::Trusted => Section::Trusted(&key.1),
    }
}

fn file(config: &Config, name: &str) -> std::path::PathBuf {
    user_dir(config).join(format!("{name}.wasm"))
}

fn shown(version: &PluginVersion) -> String {
    shown_key(version.kind, &version.name)
}

fn shown_key(kind: PluginKind, name: &str) -> String {
    match kind {
        PluginKind::Plugin => format!("plugin `{}`", one_line(name)),
        PluginKind::Trusted => format!("the trust in `{}`", one_line(name)),
    }
}

fn log(version: &PluginVersion, row: &PluginRow, known: Option<&AppliedVersion>, is_different: bool) {
    let (what, host) = (shown(version), one_line(&row.host));
    if let Some(known) = known.filter(|known| known.is_own && row.base.as_ref() != Some(&known.stamp)) {
        tracing::warn!(
            "{what}: version {}, which was set here, is replaced by version {} of `{host}`, where it was not known",
            known.version,
            row.version
        );
    }
    if is_different {
        tracing::info!("{what} is taken over from `{host}`, version {}", row.version);
    }
}

/// The name of this machine, for people.
pub fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "unnamed".to_owned(),
        name => one_line(name).chars().take(100).collect(),
    }
}

/// A command that changes plugins, and stores for all workers what it has changed.
pub struct SharedChange {
    shared: SharedPlugins,
    _lock: HomeLock,
    before: BTreeMap<Key, State>,
}

/// The state of a plugin in a home.
type State = (Option<String>, Option<String>);

impl SharedChange {
    /// Takes over what other workers have changed. Until [`Self::end`] no other process of this home changes plugins.
    /// `None`: this home shares no plugins.
    ///
    /// # Errors
    ///
    /// The database cannot be reached, or another process is changing the plugins of this home.
    pub async fn begin(config: Config) -> Result<(Config, Option<Self>)> {
        let database = if config.shares_plugins() { config.connect().await? } else { None };
        let Some(database) = database else { return Ok((config, None)) };
        let lock = HomeLock::take(&user_dir(&config), COMMAND_WAIT).await?;
        let lock = lock.context("another process is changing the plugins of this home: try again when it has ended")?;
        let mut shared = SharedPlugins::new(database);
        let versions = shared.table.versions().await?;
        let config = match shared.pull_locked(&config, versions).await? {
            true => reload(&config)?,
            false => config,
        };
        let before = off_the_runtime(|| states(&config))?;
        Ok((config, Some(Self { shared, _lock: lock, before })))
    }

    /// Stores what has changed, and `named` in any case. Returns what was stored, a line for each, for people.
    ///
    /// # Errors
    ///
    /// The database does not answer: the change is active in this home alone.
    pub async fn end(self, home: &Path, named: Option<&str>) -> Result<Vec<String>> {
        let config = Config::load(Some(home))?;
        let dir = user_dir(&config);
        let after = off_the_runtime(|| states(&config))?;
        let (mut applied, mut stored) = (Applied::read(&dir), Vec::new());
        let keys = self.before.keys().chain(after.keys()).cloned();
        let is_named = |key: &Key| key.0 == PluginKind::Plugin && Some(key.1.as_str()) == named;
        let changed: std::collections::BTreeSet<Key> =
            keys.filter(|key| is_named(key) || self.before.get(key) != after.get(key)).collect();
        for key in changed {
            let what = shown_key(key.0, &key.1);
            let pushed = self.shared.push(&config, &key, &mut applied).await.with_context(|| {
                let again = match key.0 {
                    PluginKind::Plugin => format!("bub-wasm plugin share {}", key.1),
                    PluginKind::Trusted => "the same command again".to_owned(),
                };
                format!("{what} is changed here, and not stored for other workers; to store it: {again}")
            });
            off_the_runtime(|| applied.write(&dir))?;
            let Some((version, omitted)) = pushed? else { continue };
            stored.push(format!("{what} is stored for all workers, version {version}"));
            for path in omitted {
                let section = section(&key).name();
                let path = one_line(&path);
                stored
                    .push(format!("`{path}` of `{section}` may be a secret and stays on this machine: set it on each"));
            }
        }
        Ok(stored)
    }
}

/// All plugins of the user and their settings, and the trust in plugins of workspaces.
fn states(config: &Config) -> Result<BTreeMap<Key, State>> {
    let (plugins, trusted) = bub_config::read_plugins(&config.file())?;
    let files = std::fs::read_dir(user_dir(config)).into_iter().flatten().flatten().map(|file| file.path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "wasm"));
    let names = files.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    let names = names.filter(|name| check_name(name).is_ok()).chain(plugins.into_keys());
    let keys = names.map(|name| (PluginKind::Plugin, name));
    let keys = keys.chain(trusted.into_keys().map(|digest| (PluginKind::Trusted, digest)));
    let state = |key: Key| {
        let digest = match key.0 {
            PluginKind::Plugin => digest_of(&file(config, &key.1)).ok(),
            PluginKind::Trusted => None,
        };
        let settings = config.section_text(section(&key))?;
        Ok((key, (digest, settings)))
    };
    keys.map(state).collect()
}

/// Runs what waits for a disk beside the other tasks of the runtime, if it has other threads for them.
fn off_the_runtime<T>(work: impl FnOnce() -> T) -> T {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread => block_in_place(work),
        _ => work(),
    }
}
