//! The grants of a new plugin: by the command line, or by prompts.

use super::super::prompt;
use super::{grants, report};
use anyhow::Result;
use bub_permissions::{Grant, Grants};
use bub_runtime::host::{Host, grant_edit};
use bub_runtime::imports::grant_risk;
use bub_runtime::plugin::{Plugin, grant_command};
use bub_types::text::one_line;
use std::io::{IsTerminal, Write};

// Options of the command line for the grants of new plugins. A doc comment would become the help of a command.
#[derive(clap::Args, Clone, Default)]
pub(in crate::cli) struct GrantOptions {
    /// Give new plugins all grants that they request, without asking
    #[arg(long, conflicts_with = "grant")]
    yes: bool,
    /// Give new plugins this grant, as in `hook:build-prompt`, without asking; can be repeated
    #[arg(long, value_name = "GRANT")]
    grant: Vec<String>,
}

/// The grants that the options decide.
#[derive(Default)]
pub(super) struct GrantChoice {
    gives_all: bool,
    grants: Vec<Grant>,
}

/// The decision about a plugin.
pub(super) enum Decision {
    /// Give it these grants.
    Give(Vec<Grant>),
    /// Keep it, without further grants.
    Nothing,
    /// Do not add it, or there was no answer.
    Leave,
}

/// A choice of the prompt.
struct Choice {
    key: &'static str,
    label: &'static str,
    is_offered: bool,
}

impl GrantOptions {
    /// # Errors
    ///
    /// A grant is invalid.
    pub(super) fn parse(&self) -> Result<GrantChoice> {
        Ok(GrantChoice { gives_all: self.yes, grants: grant_edit::parse(&self.grant)? })
    }
}

impl GrantChoice {
    /// Whether the command line decides, without a prompt.
    pub(super) fn is_made(&self) -> bool {
        self.gives_all || !self.grants.is_empty()
    }

    /// The decision of the command line, if it makes one. Of several `--grant`, a plugin gets those that it asks for.
    pub(super) fn decision_for(&self, plugin: &Plugin) -> Option<Decision> {
        if self.gives_all {
            return Some(Decision::Give(plugin.wanted()));
        }
        let given: Vec<Grant> = self.grants.iter().filter(|grant| plugin.asks_for(grant)).cloned().collect();
        match given.is_empty() {
            true => self.is_made().then_some(Decision::Nothing),
            false => Some(Decision::Give(given)),
        }
    }

    /// Decides about a plugin that is being added and was shown already. `before`: the grants of the previous version.
    /// `is_there`: it has been added before, so it cannot be declined.
    ///
    /// # Errors
    ///
    /// The plugin does not request a grant of the command line, or the terminal was closed.
    pub(super) fn decide(&self, plugin: &Plugin, before: &Grants, is_there: bool) -> Result<Decision> {
        grant_edit::check_requested(plugin, &self.grants)?;
        match self.decision_for(plugin) {
            Some(decision) => Ok(decision),
            None if is_interactive() => ask(plugin, before, if is_there { None } else { Some("do not add it") }),
            None => Ok(Decision::Nothing),
        }
    }
}

/// Whether a person can be asked.
fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Asks for the grants of a plugin. `leave`: the label of the choice to decline, if it is offered.
///
/// # Errors
///
/// The terminal was closed.
pub(super) fn ask(plugin: &Plugin, before: &Grants, leave: Option<&'static str>) -> Result<Decision> {
    let wanted = plugin.wanted();
    let kept: Vec<Grant> = wanted.iter().filter(|grant| before.allow(grant)).cloned().collect();
    let choices = [
        Choice { key: "y", label: "all that it requests", is_offered: !wanted.is_empty() },
        Choice {
            key: "k",
            label: "the grants of the previous version",
            is_offered: !kept.is_empty() && kept.len() < wanted.len(),
        },
        Choice { key: "e", label: "ask for each", is_offered: wanted.len() > 1 },
        Choice { key: "n", label: "nothing", is_offered: true },
        Choice { key: "q", label: leave.unwrap_or_default(), is_offered: leave.is_some() },
    ];
    let offered: Vec<&Choice> = choices.iter().filter(|choice| choice.is_offered).collect();
    let shown: Vec<String> = offered.iter().map(|choice| format!("{} {}", choice.key, choice.label)).collect();
    loop {
        let question = format!("Give `{}`: {}? [n] ", plugin.name, shown.join(" · "));
        // The end of the input is not an answer.
        let Some(line) = prompt::ask(&question)? else { return Ok(Decision::Leave) };
        // The whole line must match: one that begins with `y` may have been typed for another program.
        let answer = match line.trim().to_ascii_lowercase().as_str() {
            "" | "no" => "n".to_owned(),
            "yes" => "y".to_owned(),
            answer => answer.to_owned(),
        };
        match offered.iter().find(|choice| choice.key == answer).map(|choice| choice.key) {
            Some("y") => return Ok(Decision::Give(wanted)),
            Some("k") => return Ok(Decision::Give(kept)),
            Some("e") => return ask_each(plugin, wanted),
            Some("n") => return Ok(Decision::Nothing),
            Some(_) => return Ok(Decision::Leave),
            None => {}
        }
    }
}

fn ask_each(plugin: &Plugin, wanted: Vec<Grant>) -> Result<Decision> {
    let mut given = Vec::new();
    for grant in wanted {
        let (shown, power, why) =
            (one_line(grant.as_str()), grant_risk::of_grant(&grant), report::because(plugin, &grant));
        let question = format!("  {shown}: {power}{why}. Give it? [y/N] ");
        loop {
            match prompt::ask(&question)? {
                Some(line) if prompt::is_yes(&line) => given.push(grant),
                Some(line) if prompt::is_no(&line) => {}
                Some(_) => continue,
                None => return Ok(Decision::Leave),
            }
            break;
        }
    }
    Ok(if given.is_empty() { Decision::Nothing } else { Decision::Give(given) })
}

/// Stores the decision and prints it. The plugin's file exists by now.
///
/// # Errors
///
/// The configuration cannot be written, or the terminal was closed.
pub(super) fn apply(out: &mut impl Write, host: &Host, plugin: &Plugin, decision: &Decision) -> Result<()> {
    if let Decision::Give(given) = decision
        && !given.is_empty()
    {
        grants::give(out, host, plugin, given, false)?;
    }
    report_missing(out, &plugin.name, &host.grants.missing(plugin))
}

/// Prints the command that gives a plugin the grants that it lacks.
///
/// # Errors
///
/// The terminal was closed.
pub(super) fn report_missing(out: &mut impl Write, plugin: &str, missing: &[Grant]) -> Result<()> {
    if !missing.is_empty() {
        writeln!(out, "it requests further grants; to give them: {}", grant_command(plugin, missing))?;
    }
    Ok(())
}
