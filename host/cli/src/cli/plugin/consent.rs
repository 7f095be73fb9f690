//! What a plugin is given when it arrives: what the command line says, or what its owner answers.

use super::super::prompt;
use super::{grants, report};
use anyhow::Result;
use bub_permissions::Grants;
use bub_runtime::host::Host;
use bub_runtime::imports::grant_risk;
use bub_runtime::plugin::{Plugin, grant_command};
use bub_types::text::one_line;
use std::io::{IsTerminal, Write};

/// What stands on the command line of what is given to plugins that arrive.
#[derive(clap::Args, Clone, Default)]
pub(in crate::cli) struct Consent {
    /// Give new plugins all grants that they request, without asking
    #[arg(long, conflicts_with = "grant")]
    yes: bool,
    /// Give new plugins this grant, as in `hook:build-prompt`, without asking; can be repeated
    #[arg(long, value_name = "GRANT")]
    grant: Vec<String>,
}

/// What the owner decided.
pub(super) enum Decision {
    /// It is given these.
    Give(Vec<String>),
    /// It is there, and is given nothing that was not given before.
    Nothing,
    /// It is not wanted at all, or nobody has answered.
    Leave,
}

/// What an answer stands for.
struct Choice {
    key: &'static str,
    means: &'static str,
    holds: bool,
}

impl Consent {
    /// Whether it is said on the command line, so that nobody has to be asked.
    pub(in crate::cli) fn is_said(&self) -> bool {
        self.yes || !self.grant.is_empty()
    }

    /// Whether what is said makes sense.
    ///
    /// # Errors
    ///
    /// The first that is no grant.
    pub(in crate::cli) fn check(&self) -> Result<()> {
        grants::check_form(&self.grant)
    }

    /// What the command line says of that plugin; none, where it says nothing. Of a `--grant` that is said of several
    /// plugins each gets what it asks for.
    pub(super) fn said_of(&self, plugin: &Plugin) -> Option<Decision> {
        if self.yes {
            return Some(Decision::Give(plugin.wanted()));
        }
        let given: Vec<String> = self.grant.iter().filter(|grant| plugin.asks_for(grant)).cloned().collect();
        match given.is_empty() {
            true => self.is_said().then_some(Decision::Nothing),
            false => Some(Decision::Give(given)),
        }
    }

    /// Decides about a plugin that stands on the screen already and is to be added. `before`: what the version before it
    /// was given. `is_there`: it has been added before, and can no longer stay away.
    ///
    /// # Errors
    ///
    /// What is said on the command line cannot be given, or the terminal has gone.
    pub(super) fn decide(&self, plugin: &Plugin, before: &Grants, is_there: bool) -> Result<Decision> {
        grants::check(plugin, &self.grant)?;
        match self.said_of(plugin) {
            Some(decision) => Ok(decision),
            None if sees() => ask(plugin, before, if is_there { None } else { Some("do not add it") }),
            None => Ok(Decision::Nothing),
        }
    }
}

/// Whether somebody is there who can be asked.
fn sees() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Asks. `leave`: what it means to decide nothing, where that can be chosen.
///
/// # Errors
///
/// The terminal has gone.
pub(super) fn ask(plugin: &Plugin, before: &Grants, leave: Option<&'static str>) -> Result<Decision> {
    let wanted = plugin.wanted();
    let kept: Vec<String> = wanted.iter().filter(|grant| before.allow(grant)).cloned().collect();
    let choices = [
        Choice { key: "y", means: "all that it wants", holds: !wanted.is_empty() },
        Choice { key: "k", means: "what the version before had", holds: !kept.is_empty() && kept.len() < wanted.len() },
        Choice { key: "e", means: "ask for each", holds: wanted.len() > 1 },
        Choice { key: "n", means: "nothing", holds: true },
        Choice { key: "q", means: leave.unwrap_or_default(), holds: leave.is_some() },
    ];
    let offered: Vec<&Choice> = choices.iter().filter(|choice| choice.holds).collect();
    let shown: Vec<String> = offered.iter().map(|choice| format!("{} {}", choice.key, choice.means)).collect();
    loop {
        let question = format!("Give `{}`: {}? [n] ", plugin.name, shown.join(" · "));
        // The end of the input is no answer.
        let Some(line) = prompt::ask(&question)? else { return Ok(Decision::Leave) };
        // The whole line: one that begins with a `y` may have been written for something else.
        let answer = match line.trim().to_ascii_lowercase().as_str() {
            "" | "no" => "n".to_owned(),
            "yes" => "y".to_owned(),
            answer => answer.to_owned(),
        };
        match offered.iter().find(|choice| choice.key == answer).map(|choice| choice.key) {
            Some("y") => return Ok(Decision::Give(wanted)),
            Some("k") => return Ok(Decision::Give(kept)),
            Some("e") => return each(plugin, wanted),
            Some("n") => return Ok(Decision::Nothing),
            Some(_) => return Ok(Decision::Leave),
            None => {}
        }
    }
}

fn each(plugin: &Plugin, wanted: Vec<String>) -> Result<Decision> {
    let mut given = Vec::new();
    for grant in wanted {
        let (shown, power, why) = (one_line(&grant), grant_risk::of_grant(&grant), report::because(plugin, &grant));
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

/// Does as was decided, and says so. The plugin's file is there by now.
///
/// # Errors
///
/// The configuration cannot be written, or the terminal has gone.
pub(super) fn settle(out: &mut impl Write, host: &Host, plugin: &Plugin, decision: &Decision) -> Result<()> {
    if let Decision::Give(given) = decision
        && !given.is_empty()
    {
        grants::give(out, host, plugin, given, false)?;
    }
    let missing = host.ledger.missing(plugin);
    if !missing.is_empty() {
        let command = grant_command(&plugin.name, &missing);
        writeln!(out, "it does not hold all that it asks for; to give it: {command}")?;
    }
    Ok(())
}
