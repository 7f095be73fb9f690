//! `plugin test`: builds the project of a plugin, runs its tests, checks the component, and makes recorded calls again.

pub(super) mod commands;
mod recorded;

use super::project::{self, Project};
use super::{check, mend};
use crate::cli::style::Style;
use crate::cli::{log, text};
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_runtime::plugin;
use bub_types::text::one_line;
use recorded::Outcome;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Lines of the output of a command that failed.
const MAX_LINES: usize = 40;

/// Lines of the difference of a recorded call.
const MAX_DIFFERENCE: usize = 40;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Directory of the project, with its `bub-plugin.toml`
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Accept what recorded calls do now: write it to their files
    #[arg(long)]
    update: bool,
}

pub(super) async fn run(arguments: Arguments, config: Config) -> Result<ExitCode> {
    let Arguments { dir, update } = arguments;
    test(&dir, update, &config).await
}

/// Tests the project in that directory, for `publish`.
pub(super) async fn run_in(dir: &Path, config: &Config) -> Result<ExitCode> {
    test(dir, false, config).await
}

async fn test(dir: &Path, update: bool, config: &Config) -> Result<ExitCode> {
    let project = Project::read(dir)?;
    let mut report = Report { style: Style::for_stdout(), failed: Vec::new() };
    let missing = project::missing_programs(&project);
    if !missing.is_empty() {
        for missing in &missing {
            report.fails("build", missing, &[])?;
        }
        return report.end(&project);
    }
    let is_built = report.commands(&project, "build", &project.build)?;
    report.commands(&project, "tests", &project.test)?;
    if is_built {
        component(&mut report, &project, config, update).await?;
    }
    report.end(&project)
}

/// Checks the component, and makes recorded calls of it.
async fn component(report: &mut Report, project: &Project, config: &Config, update: bool) -> Result<()> {
    let artifact = project.artifact();
    let shown = one_line(&artifact.display().to_string());
    let bytes = match plugin::bytes_of(&artifact) {
        Ok(bytes) => bytes,
        Err(error) => {
            let why = format!("`artifact` of {} is `{shown}`, and the build did not make it: {error:#}", project::FILE);
            return report.fails("check", &one_line(&why), &[]);
        }
    };
    let settings = match settings(project) {
        Ok(settings) => settings,
        Err(error) => return report.fails("check", &one_line(&format!("{error:#}")), &[]),
    };
    let trial = match check::of_component(config, &project.name, &bytes, settings).await {
        Ok(trial) => trial,
        Err(error) => {
            let why = one_line(&format!("{error:#}"));
            let fix: Vec<String> = mend::mend(&why).map(|mend| format!("fix: {mend}")).into_iter().collect();
            return report.fails("check", &format!("`{shown}` does not load: {why}"), &fix);
        }
    };
    let plugin = &trial.plugin;
    let size = text::bytes(bytes.len() as u64);
    match trial.is_broken {
        false => report
            .passes("check", &format!("{} {}, {size}, {}", plugin.name, plugin.manifest.version, trial.summary))?,
        true => report.fails("check", &trial.summary, &trial.lines)?,
    }
    let hush = log::mute();
    let outcomes = recorded::run(project, &bytes, plugin, config, update).await;
    drop(hush);
    match outcomes {
        Ok(outcomes) => report.recorded(&outcomes),
        Err(error) => report.fails("calls", &one_line(&format!("{error:#}")), &[]),
    }
}

/// The plugin's configuration and limits in the example of its configuration.
pub(super) fn settings(project: &Project) -> Result<bub_config::Plugin> {
    let Some(file) = project.config() else { return Ok(bub_config::Plugin::default()) };
    let shown = one_line(&file.display().to_string());
    let text = std::fs::read_to_string(&file).with_context(|| format!("`config` of {}: `{shown}`", project::FILE))?;
    let table: toml::Table =
        toml::from_str(&text).map_err(|error| anyhow::anyhow!("`{shown}`: {}", one_line(error.message())))?;
    let own = table.get("plugins").and_then(|plugins| plugins.get(&project.name));
    let Some(config) = own.and_then(|own| own.get("config")) else {
        bail!("`{shown}` has no table `[plugins.{}.config]`", project.name);
    };
    let Value::Object(config) = serde_json::to_value(config)? else {
        bail!("`config` of `[plugins.{}]` in `{shown}` is not a table", project.name);
    };
    // Of what the user alone decides, such as grants, an example decides nothing.
    let limits = own.and_then(|own| own.get("limits")).map(|limits| ("limits".to_owned(), limits.clone()));
    let mut settings: bub_config::Plugin = toml::Table::from_iter(limits)
        .try_into()
        .map_err(|error: toml::de::Error| anyhow::anyhow!("`{shown}`: {}", one_line(error.message())))?;
    settings.config = config;
    Ok(settings)
}

/// The output: a line for each step, and its faults below it.
struct Report {
    style: Style,
    failed: Vec<String>,
}

impl Report {
    fn passes(&mut self, step: &str, what: &str) -> Result<()> {
        Ok(writeln!(std::io::stdout(), "{step:<6} {}  {what}", self.style.green("ok"))?)
    }

    fn fails(&mut self, step: &str, what: &str, lines: &[String]) -> Result<()> {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{step:<6} {}  {what}", self.style.red("failed"))?;
        for line in lines {
            writeln!(out, "  {line}")?;
        }
        if !self.failed.iter().any(|failed| failed == step) {
            self.failed.push(step.to_owned());
        }
        Ok(())
    }

    /// Runs commands in order, to the first that fails.
    fn commands(&mut self, project: &Project, step: &str, commands: &[String]) -> Result<bool> {
        for command in commands {
            let shown = one_line(command);
            match commands::run(&project.dir, command) {
                Ok(None) => self.passes(step, &shown)?,
                Ok(Some(failure)) => {
                    let lines = failure.last_lines(MAX_LINES);
                    self.fails(step, &format!("{shown}: {}", failure.why), &lines)?;
                    return Ok(false);
                }
                Err(error) => {
                    self.fails(step, &format!("{shown}: {error}"), &[])?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn recorded(&mut self, outcomes: &[(String, Outcome)]) -> Result<()> {
        let same = outcomes.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Same)).count();
        for (file, outcome) in outcomes {
            match outcome {
                Outcome::Same => {}
                Outcome::Updated => self.passes("calls", &format!("{file} was updated"))?,
                Outcome::Wrong(why) => self.fails("calls", &format!("{file}: {why}"), &[])?,
                Outcome::Differs { before, after } => {
                    let mut lines = super::super::diff::lines(before, after, text::WIDTH - 2, self.style);
                    let more = lines.len().saturating_sub(MAX_DIFFERENCE);
                    lines.truncate(MAX_DIFFERENCE);
                    if more > 0 {
                        lines.push(format!("… and {more} more lines"));
                    }
                    self.fails(
                        "calls",
                        &format!("{file} differs; to accept it: bub-wasm plugin test --update"),
                        &lines,
                    )?;
                }
            }
        }
        match (outcomes.len(), same) {
            (0, _) => self.passes("calls", "none are recorded; `bub-wasm plugin record` records them"),
            (_, 0) => Ok(()),
            (_, same) => {
                let calls = text::count(same as u64, "recorded call does", "recorded calls do");
                self.passes("calls", &format!("{calls} the same as before"))
            }
        }
    }

    fn end(&self, project: &Project) -> Result<ExitCode> {
        let mut out = std::io::stdout().lock();
        if self.failed.is_empty() {
            writeln!(out, "plugin `{}` passes", project.name)?;
            return Ok(ExitCode::SUCCESS);
        }
        writeln!(out, "plugin `{}` fails: {}", project.name, self.failed.join(", "))?;
        Ok(ExitCode::FAILURE)
    }
}
