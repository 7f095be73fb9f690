//! `plugin audit`: compares installed plugins with the lock, with keys and with advisories.

use anyhow::{Context, Result};
use bub_config::Config;
use bub_registry::{Advisories, Finding, Lock, Moment, Quarantined};
use bub_runtime::plugin::{digest_of, user_dir};
use bub_types::text::{count, one_line};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// File of advisories, in the format of OSV [default: `advisories` of `[trust]` in config.toml]
    #[arg(long, value_name = "FILE")]
    advisories: Option<PathBuf>,
}

/// Something that is wrong with a plugin.
struct Problem {
    plugin: String,
    digest: String,
    what: String,
    advisory: Option<Finding>,
}

/// Prints what is wrong, and quarantines what an advisory lists; the exit code is 1 if there is anything.
pub(super) fn run(arguments: Arguments, config: &Config) -> Result<ExitCode> {
    let configured = || config.trust.advisories.as_ref().map(|file| config.home.join(file));
    let file = arguments.advisories.or_else(configured);
    let advisories = match &file {
        Some(file) => Advisories::read(file)?,
        None => Advisories::default(),
    };
    let lock = Lock::read(&config.home)?;
    let mut problems = Vec::new();
    let installed = files(config)?;
    for (name, digest) in &installed {
        let entry = lock.entry(name, digest);
        let mut add = |what: String, advisory: Option<Finding>| {
            problems.push(Problem { plugin: name.clone(), digest: digest.clone(), what, advisory });
        };
        if let Some(found) = advisories.find(name, digest, entry) {
            add(listed(&found), Some(found));
        }
        match (entry, lock.plugins.get(name)) {
            (None, Some(locked)) => {
                add(format!("is not what was installed: plugins.lock has sha256 {}", one_line(&locked.digest)), None);
            }
            (Some(entry), _) => {
                let signature = entry.signature().ok().flatten();
                let moment = Moment::Installed(entry.installed);
                if let Some(Err(error)) =
                    signature.map(|signature| config.trust.check_signature(name, &signature, moment))
                {
                    add(format!("is not trusted: {}", one_line(&format!("{error:#}"))), None);
                }
            }
            (None, None) => {}
        }
    }
    // What `rollback` would bring back, and what runs in workspaces.
    let before = lock.plugins.iter().flat_map(|(name, entry)| {
        let kept = entry.before.iter().map(|before| &**before).chain(Some(entry).filter(|entry| entry.removed));
        kept.map(move |entry| (name.clone(), entry.digest.clone(), Some(entry)))
    });
    let trusted = config.trusted_plugins.keys().map(|digest| ("a workspace's plugin".to_owned(), digest.clone(), None));
    for (plugin, digest, entry) in before.chain(trusted) {
        if let Some(found) = advisories.find(&plugin, &digest, entry)
            && !problems.iter().any(|known| known.digest == digest)
        {
            let what = format!("(sha256 {}) {}", &digest[..digest.floor_char_boundary(12)], listed(&found));
            problems.push(Problem { plugin, digest, what, advisory: Some(found) });
        }
    }
    quarantine(config, &problems)?;
    let mut out = std::io::stdout();
    for Problem { plugin, what, advisory, .. } in &problems {
        let done = if advisory.is_some() { "; it is in quarantine now" } else { "" };
        writeln!(out, "plugin `{plugin}` {what}{done}")?;
    }
    if file.is_none() {
        writeln!(out, "no advisories were read: name a file by `--advisories`, or in `[trust]` of config.toml")?;
    }
    if problems.is_empty() {
        let plugins = count(installed.len() as u64, "plugin", "plugins");
        let known = count(advisories.len() as u64, "advisory", "advisories");
        writeln!(out, "{plugins} checked with {known}: nothing is wrong")?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}

fn listed(found: &Finding) -> String {
    let summary = if found.summary.is_empty() { String::new() } else { format!(": {}", found.summary) };
    format!("is listed by advisory `{}`{summary}", found.id)
}

/// The files of the user's plugins: name and digest.
pub(in crate::cli) fn files(config: &Config) -> Result<Vec<(String, String)>> {
    let dir = user_dir(config);
    let entries = match std::fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("`{}` cannot be read", dir.display())),
    };
    let mut files = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_none_or(|extension| extension != "wasm") {
            continue;
        }
        let name = one_line(&path.file_stem().unwrap_or_default().to_string_lossy());
        files.push((name, digest_of(&path).with_context(|| format!("`{}`", path.display()))?));
    }
    files.sort();
    Ok(files)
}

/// Quarantined content is not loaded from the next look at the files on.
fn quarantine(config: &Config, problems: &[Problem]) -> Result<()> {
    if problems.iter().all(|problem| problem.advisory.is_none()) {
        return Ok(());
    }
    Lock::change(&config.home, |lock| {
        for problem in problems {
            if let Some(Finding { id, summary }) = problem.advisory.clone() {
                let entry = Quarantined { plugin: problem.plugin.clone(), advisory: id, summary };
                lock.quarantine.insert(problem.digest.clone(), entry);
            }
        }
        Ok(())
    })
}
