//! What was made of files, kept from one set of plugins to the next: a file that has not changed is not read again, and a
//! version that does not load leaves the one before it in its place.

use super::embedded::{EMBEDDED, Embedded};
use super::found::{Found, Look, Stamp, check_name, is_embedded, look, user_dir};
use super::load::{Candidate, Plugin, Source, compile, digest, introduce};
use crate::config;
use crate::grants::Grants;
use crate::host::Host;
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};

/// All that was loaded, or was to be.
#[derive(Default)]
pub(crate) struct Shelf {
    pub(super) embedded: BTreeMap<&'static str, Result<Arc<Plugin>, String>>,
    pub(super) slots: BTreeMap<Found, Slot>,
    /// Whether a file is still being written to.
    pub(crate) is_unfinished: bool,
}

/// What was made of a file.
#[derive(Default)]
pub(super) struct Slot {
    stamp: Option<Stamp>,
    /// Of the file as it is.
    pub(super) latest: Option<Latest>,
    /// The version that was in the last set.
    pub(super) serving: Option<Arc<Plugin>>,
}

pub(super) enum Latest {
    Plugin(Arc<Plugin>),
    /// Why there is none.
    Failed(String),
    /// A workspace's file that nobody has vouched for: its digest.
    Untrusted(String),
}

/// A file of a workspace that is not run, because the user has not said that its bytes may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untrusted {
    /// The name that it would have.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// SHA-256 of its bytes, in hex.
    pub digest: String,
}

impl Shelf {
    /// The embedded guests that are not switched off.
    pub(super) async fn load_embedded(&mut self, host: &Arc<Host>) {
        let mut loading = Loading::new();
        for embedded in EMBEDDED {
            if host.config.plugin(embedded.name).enabled && !self.embedded.contains_key(embedded.name) {
                let host = host.clone();
                loading.spawn(async move { (embedded.name, load_one(&host, embedded).await) });
            }
        }
        while let Some((name, loaded)) = loading.next().await {
            self.embedded.insert(name, loaded.map_err(|error| format!("{error:#}")));
        }
    }

    /// Looks at these files, and loads what has changed. With `waits` a file that somebody may still be writing to stays as
    /// it was, and [`Self::is_unfinished`] says so.
    pub(super) async fn look(&mut self, host: &Arc<Host>, files: &[Found], waits: bool) {
        self.is_unfinished = false;
        self.slots.retain(|found, _| files.contains(found));
        let mut looking = Loading::new();
        for found in files {
            let (host, found) = (host.clone(), found.clone());
            let mut slot = self.slots.remove(&found).unwrap_or_default();
            looking.spawn(async move {
                let looked = slot.look(&host, &found, waits).await;
                (found, slot, looked)
            });
        }
        while let Some((found, mut slot, looked)) = looking.next().await {
            match looked {
                Ok(true) => {}
                Ok(false) => self.is_unfinished = true,
                Err(error) => slot.latest = Some(Latest::Failed(format!("{error:#}"))),
            }
            self.slots.insert(found, slot);
        }
    }
}

/// Plugins that are loaded side by side: as many at once as there are processors, because each is held in memory as a
/// whole, and on threads of their own, because turns must not wait for it.
struct Loading<T> {
    tasks: JoinSet<T>,
    places: Arc<Semaphore>,
}

impl<T: Send + 'static> Loading<T> {
    fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self { tasks: JoinSet::new(), places: Arc::new(Semaphore::new(processors)) }
    }

    fn spawn(&mut self, load: impl Future<Output = T> + Send + 'static) {
        let (places, runtime) = (self.places.clone(), Handle::current());
        self.tasks.spawn_blocking(move || {
            runtime.block_on(async {
                // Closed by nobody: there is always a place in the end.
                let _place = places.acquire().await;
                load.await
            })
        });
    }

    /// The next that is ready, in whichever order; none when all were, or when the program ends.
    async fn next(&mut self) -> Option<T> {
        match self.tasks.join_next().await?.map_err(JoinError::try_into_panic) {
            Ok(loaded) => Some(loaded),
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            Err(Err(_)) => None,
        }
    }
}

async fn load_one(host: &Arc<Host>, embedded: &'static Embedded) -> Result<Arc<Plugin>> {
    let candidate = Candidate {
        name: embedded.name,
        source: Source::Embedded,
        file: None,
        bytes: embedded.bytes,
        digest: digest(embedded.bytes),
        table: Grants::new(embedded.grants.iter().copied()),
        reserved: Vec::new(),
        limits: host.config.limits_of(embedded.name),
        settings: &host.config.plugin(embedded.name),
    };
    load(host, candidate).await
}

impl Slot {
    /// `false`: somebody may still be writing to it.
    async fn look(&mut self, host: &Arc<Host>, found: &Found, waits: bool) -> Result<bool> {
        if let Err(error) = check_name(&found.name).and_then(|()| check_taken(host, found)) {
            // Not the file is wrong but its name: no version of it serves, and it is looked at when the name is free.
            *self = Self::default();
            return Err(error);
        }
        // What is no longer trusted does not serve on in anybody's place.
        let is_trusted = |plugin: &mut Arc<Plugin>| {
            plugin.source != Source::Workspace || host.ledger.trusted(&plugin.digest).is_some()
        };
        self.serving = self.serving.take_if(is_trusted);
        let stamp = Stamp::of(&found.path);
        if stamp.is_some() && stamp == self.stamp && !self.is_vouched_for_now(host) {
            return Ok(true);
        }
        self.stamp = None;
        let (bytes, stamp) = match look(&found.path, waits)? {
            Look::Whole(bytes, stamp) => (bytes, stamp),
            Look::Unfinished => return Ok(false),
        };
        self.stamp = Some(stamp);
        let digest = digest(&bytes);
        let settings = match found.source {
            Source::Workspace => match host.ledger.trusted(&digest) {
                Some(trusted) => trusted.settings(),
                None => {
                    self.serving = None;
                    self.latest = Some(Latest::Untrusted(digest));
                    return Ok(true);
                }
            },
            _ => host.config.plugin(&found.name),
        };
        if let Some(Latest::Plugin(plugin)) = &self.latest
            && plugin.digest == digest
        {
            return Ok(true);
        }
        let candidate = Candidate::of_file(host, found, (&bytes, digest), &settings);
        self.latest = Some(Latest::Plugin(load(host, candidate).await?));
        Ok(true)
    }

    /// Whether what the user says of the bytes has changed since they were looked at.
    fn is_vouched_for_now(&self, host: &Host) -> bool {
        match &self.latest {
            Some(Latest::Untrusted(digest)) => host.ledger.trusted(digest).is_some(),
            Some(Latest::Plugin(plugin)) if plugin.source == Source::Workspace => {
                host.ledger.trusted(&plugin.digest).is_none()
            }
            _ => false,
        }
    }
}

/// What is about the user's own plugin of a name must not be about a stranger's.
fn check_taken(host: &Host, found: &Found) -> Result<()> {
    let name = &found.name;
    if is_embedded(name) && (found.source == Source::Workspace || host.config.plugin(name).enabled) {
        let or = match found.source {
            Source::Workspace => "rename the file".to_owned(),
            _ => {
                format!("set `enabled = false` in `[plugins.{name}]` to use the file in its place, or rename the file")
            }
        };
        bail!("the name is taken by an embedded plugin; {or}");
    }
    if found.source == Source::Workspace && host.ledger.speaks_of(name) {
        bail!("the name is taken by `[plugins.{name}]` of config.toml; rename the file");
    }
    Ok(())
}

impl<'a> Candidate<'a> {
    /// These bytes with their digest, as the file that they stand in, or are to stand in.
    fn of_file(host: &Host, found: &'a Found, bytes: (&'a [u8], String), settings: &'a config::Plugin) -> Self {
        let limits = match found.source {
            Source::Workspace => host.config.limits_with(settings),
            _ => host.config.limits_of(&found.name),
        };
        Self {
            name: &found.name,
            source: found.source,
            file: Some(found.path.clone()),
            bytes: bytes.0,
            digest: bytes.1,
            table: Grants::default(),
            reserved: EMBEDDED.iter().map(|guest| guest.name).filter(|name| host.config.plugin(name).enabled).collect(),
            limits,
            settings,
        }
    }
}

/// What these bytes would be as the user's own plugin of that name. It serves nobody.
///
/// # Errors
///
/// Why they would not load.
pub(crate) async fn probe(host: &Arc<Host>, name: &str, bytes: &[u8]) -> Result<Arc<Plugin>> {
    check_name(name)?;
    let path = user_dir(&host.config).join(format!("{name}.wasm"));
    let found = Found { source: Source::User, name: name.to_owned(), path };
    check_taken(host, &found)?;
    let settings = host.config.plugin(name);
    load(host, Candidate::of_file(host, &found, (bytes, digest(bytes)), &settings)).await
}

async fn load(host: &Arc<Host>, candidate: Candidate<'_>) -> Result<Arc<Plugin>> {
    let plugin = compile(host, candidate).await?;
    Ok(Arc::new(introduce(host, plugin).await?))
}
