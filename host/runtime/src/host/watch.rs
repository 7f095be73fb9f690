//! Watches the plugin directories and the configuration: changes apply to the next turn.

mod links;

use super::Host;
use crate::plugin::{user_dir, workspace_dir};
use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::future::Future;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// Changes within this time of each other are handled together.
const DEBOUNCE: Duration = Duration::from_millis(40);

/// Changes that never pause are handled after this time.
const MAX_DEBOUNCE: Duration = Duration::from_millis(400);

/// When to check again a file that is still being written.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// How often links that change while they are resolved are resolved again.
const MAX_ROUNDS: usize = 8;

/// How often the directories are polled where the system cannot report changes.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Handles a possible change. Returns `false` if a file is still being written: it is then called again soon.
type Refresh = Box<dyn Fn() -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

/// A running watcher. It stops when this value is dropped.
pub struct Watch {
    task: JoinHandle<()>,
    trigger: mpsc::Sender<()>,
}

impl Watch {
    /// Triggers a check.
    pub fn trigger(&self) {
        // If the queue is full, a check is pending already.
        let _ = self.trigger.try_send(());
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Host {
    /// Watches the plugin directories of the user and of the workspace, and the configuration file, until the result is
    /// dropped.
    pub fn watch(self: &Arc<Self>) -> Watch {
        let host = self.clone();
        self.watch_with(vec![self.config.file(), bub_registry::Lock::path(&self.config.home)], move || {
            let host = host.clone();
            async move { host.refresh().await }
        })
    }

    /// Watches the same directories and these files of the home, and calls `look` at first and whenever something has
    /// happened there: on a thread of its own, because what is read, hashed and loaded takes as long as files are large,
    /// and turns must not wait for it. If it returns `false`, a file is still being written, and it is called again soon.
    pub fn watch_with<F>(&self, files: Vec<PathBuf>, refresh: impl Fn() -> F + Send + Sync + 'static) -> Watch
    where
        F: Future<Output = bool> + Send + 'static,
    {
        let refresh: Refresh = Box::new(move || Box::pin(refresh()));
        let (trigger, changes) = mpsc::channel(1);
        let trigger_on_change = trigger.clone();
        let targets = Targets::default();
        let on_event = {
            let targets = targets.clone();
            move |event: notify::Result<Event>| {
                if event.as_ref().map_or(true, |event| concerns(event, &files, &targets)) {
                    let _ = trigger_on_change.try_send(());
                }
            }
        };
        let watched = Watched::new(on_event, targets, self);
        Watch { task: tokio::spawn(watch_loop(watched, changes, Arc::new(refresh))), trigger }
    }
}

async fn watch_loop(mut watched: Watched, mut changes: mpsc::Receiver<()>, refresh: Arc<Refresh>) {
    loop {
        // Before the refresh: later changes are then reported.
        watched.update();
        let (refresh, runtime) = (refresh.clone(), Handle::current());
        let refreshed = tokio::task::spawn_blocking(move || runtime.block_on(refresh())).await;
        // A refresh that panicked has changed nothing, and the next one may succeed.
        let longest = match (refreshed.unwrap_or(true), watched.is_watching()) {
            (false, _) => RETRY_DELAY,
            (true, true) => Duration::MAX,
            (true, false) => POLL_INTERVAL,
        };
        let change = timeout(longest, changes.recv()).await;
        if change.is_ok() {
            debounce(&mut changes).await;
        }
    }
}

/// Waits until no more changes arrive.
async fn debounce(changes: &mut mpsc::Receiver<()>) {
    let start = Instant::now();
    sleep(DEBOUNCE).await;
    while changes.try_recv().is_ok() && start.elapsed() < MAX_DEBOUNCE {
        sleep(DEBOUNCE).await;
    }
}

/// Whether something happened to a plugin, to a directory in which plugins may come to lie, or to the configuration. Reads
/// are no events: the host reads these files itself.
fn concerns(event: &Event, files: &[PathBuf], targets: &Targets) -> bool {
    let is_read = matches!(event.kind, EventKind::Access(kind) if kind != AccessKind::Close(AccessMode::Write));
    let is_plugin = |path: &Path| path.extension().is_some_and(|extension| extension == "wasm");
    let is_dir =
        |path: &Path| [".bub", "plugins"].iter().any(|name| path.file_name().is_some_and(|last| last == *name));
    let is_meant = |path: &PathBuf| is_plugin(path) || is_dir(path) || files.contains(path) || targets.hold(path);
    event.need_rescan() || !is_read && event.paths.iter().any(is_meant)
}

/// The targets of links among the plugins' files, by the last part of each path: one directory may have several names.
#[derive(Clone, Default)]
struct Targets(Arc<Mutex<BTreeSet<OsString>>>);

impl Targets {
    fn set(&self, paths: &BTreeSet<PathBuf>) {
        let names = paths.iter().filter_map(|path| path.file_name()).map(OsString::from).collect();
        *self.0.lock() = names;
    }

    fn hold(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| self.0.lock().contains(name))
    }
}

/// The directories that are watched, as they are now: one that is made anew has to be watched anew.
struct Watched {
    watcher: Option<RecommendedWatcher>,
    wanted: Vec<PathBuf>,
    /// Those of them in which plugins lie.
    plugins: Vec<PathBuf>,
    targets: Targets,
    /// Device and number of what is watched under that path.
    now: BTreeMap<PathBuf, (u64, u64)>,
    /// Whether all that is there is watched.
    is_all: bool,
}

impl Watched {
    fn new(on_event: impl Fn(notify::Result<Event>) + Send + 'static, targets: Targets, host: &Host) -> Self {
        let mut plugins = vec![user_dir(&host.config)];
        let mut wanted = vec![host.config.home.clone(), plugins[0].clone()];
        if let Some(dir) = workspace_dir(&host.config, &host.workspace) {
            // The directory may not be there yet, and nor may the one that it lies in.
            wanted.extend(dir.ancestors().take(3).map(Path::to_owned));
            plugins.push(dir);
        }
        let watcher = notify::recommended_watcher(on_event);
        if let Err(error) = &watcher {
            tracing::warn!("plugins are looked for every {} s: {error}", POLL_INTERVAL.as_secs());
        }
        Self { watcher: watcher.ok(), wanted, plugins, targets, now: BTreeMap::new(), is_all: false }
    }

    /// Whether the system reports changes.
    fn is_watching(&self) -> bool {
        self.watcher.is_some() && self.is_all
    }

    fn update(&mut self) {
        // A link that is followed may lead over a directory that is not watched yet.
        let mut links = self.links();
        for _ in 0..MAX_ROUNDS {
            self.watch(&links);
            let now = self.links();
            if now == links {
                return;
            }
            links = now;
        }
    }

    /// Where the links among the plugins' files lead at this moment.
    fn links(&self) -> BTreeSet<PathBuf> {
        self.plugins.iter().flat_map(|dir| links::paths(dir)).collect()
    }

    fn watch(&mut self, links: &BTreeSet<PathBuf>) {
        let Some(watcher) = &mut self.watcher else { return };
        self.is_all = true;
        self.targets.set(links);
        let beside = links.iter().filter_map(|path| path.parent()).map(Path::to_owned);
        let dirs: Vec<PathBuf> = self.wanted.iter().cloned().chain(beside).collect();
        // The system watches a directory once, whatever it is called: by another name it would be taken from the first.
        let mut watched = BTreeSet::new();
        for dir in &dirs {
            let Ok(meta) = dir.metadata() else {
                self.now.remove(dir);
                continue;
            };
            let which = (meta.dev(), meta.ino());
            if !watched.insert(which) || self.now.get(dir) == Some(&which) {
                continue;
            }
            if self.now.contains_key(dir) {
                let _ = watcher.unwatch(dir);
            }
            match watcher.watch(dir, RecursiveMode::NonRecursive) {
                Ok(()) => drop(self.now.insert(dir.clone(), which)),
                Err(error) => {
                    tracing::debug!("`{}` is not watched: {error}", dir.display());
                    self.now.remove(dir);
                    self.is_all = false;
                }
            }
        }
        // Directories that no link leads to any more.
        self.now.retain(|dir, which| {
            let stays = dirs.contains(dir);
            if !stays && !watched.contains(which) {
                let _ = watcher.unwatch(dir);
            }
            stays
        });
    }
}
