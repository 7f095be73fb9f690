//! `plugin new`: makes the project of a plugin, of templates that the program carries.

mod folder;
mod kit;
mod template;

use super::project::{self, Project};
use crate::cli::prompt;
use anyhow::{Context, Result, bail};
use bub_permissions::shell_word;
use bub_types::plugin_name::check_name;
use bub_types::text::one_line;
use clap::builder::PossibleValuesParser;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// How often a question is asked before the command gives up.
const ATTEMPTS: usize = 3;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Name of the plugin and of its directory, which is made in the current one
    name: String,
    /// Language that it is written in
    #[arg(long, value_name = "LANGUAGE", value_parser = PossibleValuesParser::new(kit::languages()))]
    lang: Option<String>,
    /// The purpose of the plugin
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(kit::KINDS.map(|(kind, _)| kind)))]
    kind: Option<String>,
}

pub(super) fn run(arguments: Arguments) -> Result<ExitCode> {
    let Arguments { name, lang, kind } = arguments;
    check_name(&name).with_context(|| format!("`{}` is not a name for a plugin", one_line(&name)))?;
    let target = Path::new(&name);
    // Before anything is asked; it is checked again when the project is put there.
    folder::check_free(target)?;
    let missing: Vec<&str> = [("--lang", &lang), ("--kind", &kind)]
        .into_iter()
        .filter(|(_, given)| given.is_none())
        .map(|(option, _)| option)
        .collect();
    if !missing.is_empty() && !is_interactive() {
        let [languages, kinds] = [kit::languages(), kit::KINDS.map(|(kind, _)| kind).to_vec()].map(|all| all.join("|"));
        bail!(
            "there is no terminal to ask on, so {} must be given: bub-wasm plugin new {name} --lang {languages} --kind {kinds}",
            missing.join(" and ")
        );
    }
    let lang = match lang {
        Some(lang) => lang,
        None => choose("Language", kit::languages().into_iter().map(|lang| (lang, "")))?,
    };
    let kinds = kit::kinds_of(&lang);
    let kind = match kind {
        Some(kind) if kinds.contains(&kind.as_str()) => kind,
        Some(kind) => bail!("there is no template for a {kind} in {lang}; there are: {}", kinds.join(", ")),
        None => choose("Kind", kit::KINDS.into_iter().filter(|(kind, _)| kinds.contains(kind)))?,
    };
    let files = template::files(&name, &lang, &kind)?;
    folder::create(target, &files)?;
    let project = Project::read(target)?;
    report(&project, &lang, &kind)?;
    Ok(ExitCode::SUCCESS)
}

fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Asks for one of the choices, by its name or its number.
fn choose<'a>(what: &str, choices: impl Iterator<Item = (&'a str, &'a str)>) -> Result<String> {
    let choices: Vec<(&str, &str)> = choices.collect();
    let mut out = std::io::stdout();
    for (number, (choice, about)) in choices.iter().enumerate() {
        writeln!(out, "{}", format!("  {}  {choice:<11} {about}", number + 1).trim_end())?;
    }
    for _ in 0..ATTEMPTS {
        let Some(line) = prompt::ask(&format!("{what}, by name or number: "))? else { break };
        let line = line.trim();
        let by_number = line.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
        if let Some((choice, _)) = by_number.or_else(|| choices.iter().find(|(choice, _)| *choice == line)) {
            return Ok((*choice).to_owned());
        }
        writeln!(out, "`{}` is none of them", one_line(line))?;
    }
    bail!("nothing was chosen; --lang and --kind choose without a question")
}

fn report(project: &Project, lang: &str, kind: &str) -> Result<()> {
    let name = &project.name;
    let mut out = std::io::stdout().lock();
    writeln!(out, "made `{name}`, a {kind} in {}; its README.md says what is where. Next:", kit::title(lang))?;
    writeln!(out)?;
    writeln!(out, "  cd {name}")?;
    for command in &project.build {
        writeln!(out, "  {command}")?;
    }
    writeln!(out, "  bub-wasm plugin test")?;
    let artifact = project.relative_artifact();
    writeln!(out, "  bub-wasm plugin add {}", shell_word(&artifact.to_string_lossy()))?;
    let missing = project::missing_programs(project);
    if !missing.is_empty() {
        writeln!(out)?;
    }
    for missing in missing {
        writeln!(out, "{missing}")?;
    }
    Ok(())
}
