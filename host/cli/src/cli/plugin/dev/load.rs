//! Loads a build into the home, where a running `chat` or `serve` finds it.

use super::screen::{Screen, took};
use crate::cli::plugin::grant_prompt::{self, Decision, GrantChoice};
use crate::cli::plugin::project::Project;
use crate::cli::plugin::{check, report, test};
use anyhow::{Context, Result};
use bub_permissions::{Grant, Grants};
use bub_runtime::host::{Host, grant_edit};
use bub_runtime::plugin::{self, Plugin, PluginFiles, Source};
use bub_types::text::{bytes, one_line};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Loads builds of one plugin.
pub(super) struct Loader {
    host: Arc<Host>,
    choice: GrantChoice,
    screen: Screen,
    /// The digest of the build that is loaded.
    loaded: Option<String>,
    /// Grants that were asked for and decided on.
    decided: Vec<Grant>,
}

impl Loader {
    pub(super) fn new(host: Arc<Host>, choice: GrantChoice, screen: Screen) -> Self {
        Self { host, choice, screen, loaded: None, decided: Vec::new() }
    }

    /// The build that serves after one that failed.
    pub(super) fn state(&self) -> &'static str {
        if self.loaded.is_some() { "the build before stays loaded" } else { "nothing was loaded" }
    }

    /// Loads what a build of that duration has made, and checks it. A build that does not load leaves the one before in
    /// place.
    ///
    /// # Errors
    ///
    /// The terminal was closed.
    pub(super) async fn load(&mut self, project: &Project, build: Duration) -> Result<()> {
        let build = took(build);
        let begun = Instant::now();
        let component = match self.install(project).await {
            Ok(Some(component)) => component,
            Ok(None) => return self.screen.step("built", format!("in {build}; nothing has changed")),
            Err(error) => {
                let what = format!("built in {build}, and not loaded; {}", self.state());
                return self.screen.failed("failed", what, &[one_line(&format!("{error:#}"))]);
            }
        };
        let (size, load) = (bytes(component.len() as u64), took(begun.elapsed()));
        let what = format!("{size}, built in {build}, loaded in {load}; it serves from the next turn on");
        self.screen.step("loaded", what)?;
        self.check(project, &component).await
    }

    /// Writes the component to its place and gives it its grants. `None`: it is there already.
    async fn install(&mut self, project: &Project) -> Result<Option<Vec<u8>>> {
        let artifact = project.artifact();
        let shown = one_line(&artifact.display().to_string());
        let component = plugin::bytes_of(&artifact)
            .with_context(|| format!("the build did not make `{shown}`, the `artifact` of its project file"))?;
        let digest = plugin::digest(&component);
        if self.loaded.as_ref() == Some(&digest) {
            return Ok(None);
        }
        let candidate = self.host.probe(&project.name, &component).await?;
        let plugins = self.host.plugins();
        plugins.would_take(&candidate)?;
        let before = plugins.iter().find(|plugin| plugin.name == project.name && plugin.source == Source::User);
        let held = before.map(|before| self.host.grants.given(before, Grants::clone)).unwrap_or_default();
        let given = self.decide(&candidate, &held, component.len() as u64)?;
        let files = PluginFiles::new(&self.host.config, &project.name)?;
        match self.loaded.is_none() {
            // The version before the first build can be restored by `plugin rollback`.
            true => files.install(&component)?,
            false => files.replace(&component)?,
        }
        grant_edit::write(&self.host, &candidate, &given, true)?;
        self.loaded = Some(digest);
        Ok(Some(component))
    }

    /// The grants of a build: those that it holds, and what is decided about further ones.
    fn decide(&mut self, candidate: &Plugin, held: &Grants, size: u64) -> Result<Grants> {
        let mut all = held.clone();
        let is_open = |grant: &Grant| !held.allow(grant) && !self.decided.contains(grant);
        let open: Vec<Grant> = candidate.wanted().into_iter().filter(is_open).collect();
        if open.is_empty() {
            return Ok(all);
        }
        let mut out = std::io::stdout();
        report::write(&mut out, candidate, size)?;
        let decision = self.choice.decide(candidate, held, true)?;
        self.decided.extend(open);
        if let Decision::Give(given) = decision {
            for grant in &given {
                all.insert(grant.clone());
            }
            let shown: Vec<String> = given.iter().map(|grant| one_line(grant.as_str())).collect();
            self.screen.step("grants", format!("{}, for every build of this name", shown.join(" ")))?;
        }
        let missing: Vec<Grant> = candidate.wanted().into_iter().filter(|grant| !all.allow(grant)).collect();
        grant_prompt::report_missing(&mut out, &candidate.name, &missing)?;
        Ok(all)
    }

    /// Runs the sandboxed check of the build that serves.
    async fn check(&self, project: &Project, component: &[u8]) -> Result<()> {
        let settings = match test::settings(project) {
            Ok(settings) => settings,
            Err(error) => return self.screen.failed("check", one_line(&format!("{error:#}")), &[]),
        };
        match check::of_component(&self.host.config, &project.name, component, settings).await {
            Ok(trial) if trial.is_broken => self.screen.failed("check", trial.summary, &trial.lines),
            Ok(trial) => self.screen.step("check", trial.summary),
            Err(error) => self.screen.failed("check", one_line(&format!("{error:#}")), &[]),
        }
    }
}
