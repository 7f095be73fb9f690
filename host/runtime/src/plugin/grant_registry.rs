//! The grants in effect.
//! Grants are stored in config.toml, which is read again while the program runs, so that a revoked grant is gone at the
//! next call.

use super::loaded::{Plugin, Source};
use super::mcp::MCP_GUEST;
use bub_config::Config;
use bub_permissions::{Grant, GrantKind, Grants};
use bub_system::files::WatchedFile;
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the file is checked at most.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The grants of all plugins.
pub struct GrantRegistry {
    file: Mutex<WatchedFile>,
    configured: RwLock<Arc<Configured>>,
    is_hushed: AtomicBool,
    /// Whether grants reach this home while turns are under way, because another worker has changed a plugin.
    is_shared: bool,
}

/// Earlier versions of one plugin whose grants are remembered.
const MAX_SUPERSEDED: usize = 4;

/// The grants of an earlier version, by its digest.
type Superseded = BTreeMap<String, Vec<(String, Grants)>>;

/// The configuration of plugins.
struct Configured {
    plugins: BTreeMap<String, bub_config::Plugin>,
    /// Those of workspaces, by digest.
    trusted: BTreeMap<String, bub_config::Trusted>,
    /// Where plugins are shared, the grants that versions had which others have replaced: turns end with the version that
    /// they began with. A grant that is revoked from the new version is revoked from them, too.
    superseded: Superseded,
}

impl Configured {
    /// Remembers the grants of versions that `next` replaces.
    fn superseded_by(&self, next: &BTreeMap<String, bub_config::Plugin>) -> Superseded {
        let mut all = self.superseded.clone();
        all.retain(|name, _| next.get(name).is_some_and(|plugin| plugin.grants.is_some()));
        for (name, plugin) in next.iter().filter(|(_, plugin)| plugin.grants.is_some()) {
            let Some(old) = self.plugins.get(name) else { continue };
            if let (Some(grants), Some(digest)) = (&old.grants, &old.digest)
                && !plugin.covers(digest)
            {
                let versions = all.entry(name.clone()).or_default();
                versions.retain(|(known, _)| known != digest);
                versions.push((digest.clone(), grants.clone()));
                let surplus = versions.len().saturating_sub(MAX_SUPERSEDED);
                versions.drain(..surplus);
            }
        }
        all
    }

    /// The grants that an earlier version had, and the one that replaced it still has.
    fn given_to_superseded(&self, plugin: &Plugin, now: &Grants) -> Option<Grants> {
        let versions = self.superseded.get(&plugin.name)?;
        let (_, grants) = versions.iter().find(|(digest, _)| *digest == plugin.digest)?;
        Some(grants.iter().filter(|grant| now.allow(grant)).cloned().collect())
    }
}

impl GrantRegistry {
    /// The grants that `config` gives.
    pub fn new(config: &Config) -> Self {
        let configured = Configured {
            plugins: config.plugins.clone(),
            trusted: config.trusted_plugins.clone(),
            superseded: Superseded::new(),
        };
        Self {
            file: Mutex::new(WatchedFile::new(config.file(), CHECK_INTERVAL)),
            configured: RwLock::new(Arc::new(configured)),
            is_hushed: AtomicBool::new(false),
            is_shared: config.shares_plugins(),
        }
    }

    /// Stops logging errors of the file, because another component reports them.
    pub fn mute(&self) {
        self.is_hushed.store(true, Ordering::Relaxed);
    }

    /// Whether the plugin holds the grant: it requests it, and the user gave it to these bytes.
    pub fn allows(&self, plugin: &Plugin, grant: &Grant) -> bool {
        self.given(plugin, |given| given.allow(grant)) && plugin.asks_for(grant)
    }

    /// Whether the plugin may start programs, in a sandbox or without one.
    pub fn starts_programs(&self, plugin: &Plugin) -> bool {
        [Grant::PROCESS, Grant::PROCESS_SANDBOXED].iter().any(|grant| self.allows(plugin, grant))
    }

    /// The grants that the user gave to the plugin, requested or not.
    pub fn given<T: Default>(&self, plugin: &Plugin, read: impl FnOnce(&Grants) -> T) -> T {
        let all = self.configured();
        let configured = all.plugins.get(&plugin.name);
        match (plugin.source, configured.and_then(|configured| configured.grants.as_ref())) {
            (Source::Embedded, None) => read(&plugin.table),
            (Source::Embedded, Some(grants)) => read(grants),
            // Other bytes start without grants, until the user confirms them.
            (Source::User, Some(grants)) if configured.is_some_and(|configured| configured.covers(&plugin.digest)) => {
                read(grants)
            }
            (Source::User, Some(grants)) => {
                all.given_to_superseded(plugin, grants).map_or_else(T::default, |given| read(&given))
            }
            (Source::User, None) => T::default(),
            // By its bytes alone: what is said of a name is said of the user's own plugin.
            (Source::Workspace, _) => {
                all.trusted.get(&plugin.digest).map_or_else(T::default, |trusted| read(&trusted.grants))
            }
        }
    }

    /// The plugins that are switched on and were given exactly that grant, whether they are there or not.
    pub fn given_to(&self, grant: &Grant) -> Vec<String> {
        let all = self.configured();
        let is_given = |configured: &bub_config::Plugin| {
            configured.enabled
                && configured.grants.as_ref().is_some_and(|grants| grants.iter().any(|given| given == grant))
        };
        all.plugins.iter().filter(|(_, configured)| is_given(configured)).map(|(name, _)| name.clone()).collect()
    }

    /// The grants of that kind that the plugin holds.
    pub fn held(&self, plugin: &Plugin, kind: GrantKind) -> Vec<Grant> {
        // Either side may be the wider one: `http:*` that was given, or that is wanted.
        self.given(plugin, |given| {
            let wants = plugin.wants.as_ref();
            let is_meant = |grant: &&Grant| grant.kind() == kind;
            let both = given.iter().filter(is_meant).filter(|grant| wants.is_none_or(|wants| wants.allow(grant)));
            let wanted = wants.into_iter().flat_map(Grants::iter).filter(is_meant);
            let narrower = wanted.filter(|grant| given.allow(grant));
            let held: BTreeSet<&Grant> = both.chain(narrower).collect();
            held.into_iter().cloned().collect()
        })
    }

    /// Whether there are grants for that name that these bytes do not get.
    pub fn is_for_other_bytes(&self, plugin: &Plugin) -> bool {
        plugin.source == Source::User
            && self
                .configured()
                .plugins
                .get(&plugin.name)
                .is_some_and(|configured| configured.grants.is_some() && !configured.covers(&plugin.digest))
    }

    /// Grants that the plugin requests and does not hold.
    pub fn missing(&self, plugin: &Plugin) -> Vec<Grant> {
        // Its grants come with the servers that are configured: what it asks for beyond them is for others.
        if plugin.source == Source::Embedded && plugin.name == MCP_GUEST {
            return Vec::new();
        }
        // Not within `given`: a plugin without grants lacks all of them.
        let given = self.given(plugin, Grants::clone);
        plugin.wanted().into_iter().filter(|grant| !given.allow(grant)).collect()
    }

    /// Whether the user has yet to say what this plugin of theirs may do: nothing is said of these bytes.
    pub fn is_undecided(&self, plugin: &Plugin) -> bool {
        let is_said =
            |configured: &bub_config::Plugin| configured.grants.is_some() && configured.covers(&plugin.digest);
        plugin.source == Source::User && !self.configured().plugins.get(&plugin.name).is_some_and(is_said)
    }

    /// The user's settings for a workspace's plugin of those bytes; none, when it may not run.
    pub fn trusted(&self, digest: &str) -> Option<bub_config::Trusted> {
        self.configured().trusted.get(digest).cloned()
    }

    /// Whether the user says anything of a plugin of that name.
    pub fn speaks_of(&self, name: &str) -> bool {
        self.configured().plugins.contains_key(name)
    }

    /// The configuration that is in force at this moment.
    fn configured(&self) -> Arc<Configured> {
        self.invalidate();
        self.configured.read().clone()
    }

    fn invalidate(&self) {
        let mut file = self.file.lock();
        if file.is_due() {
            self.reload(&mut file);
        }
    }

    /// Reads the file now, after a write.
    pub fn reload_now(&self) {
        self.reload(&mut self.file.lock());
    }

    fn reload(&self, file: &mut WatchedFile) {
        if !file.has_changed() {
            return;
        }
        match bub_config::read_plugins(file.path()) {
            Ok((plugins, trusted)) => {
                let before = self.configured.read().clone();
                let superseded = if self.is_shared { before.superseded_by(&plugins) } else { Superseded::new() };
                *self.configured.write() = Arc::new(Configured { plugins, trusted, superseded });
            }
            // A file that is just being written, or that was written wrongly, takes nothing away and gives nothing.
            Err(error) if self.is_hushed.load(Ordering::Relaxed) => tracing::debug!("{error:#}"),
            Err(error) => tracing::warn!("the grants stay as they were: {error:#}"),
        }
    }
}
