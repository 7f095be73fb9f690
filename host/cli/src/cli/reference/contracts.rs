//! All hooks: the table of the host, and the WIT interfaces with their comments.

use super::{begin, sentence, table};
use anyhow::{Context, Result};
use bub_types::hook::{DispatchMode, HOOKS};

/// The contracts that define hooks.
const CONTRACTS: [&str; 5] = [
    include_str!("../../../../../wit/deps/bub-hooks/hooks.wit"),
    include_str!("../../../../../wit/deps/bub-context/context.wit"),
    include_str!("../../../../../wit/deps/bub-model/model.wit"),
    include_str!("../../../../../wit/deps/bub-tools/tools.wit"),
    include_str!("../../../../../wit/deps/bub-channel/channel.wit"),
];

/// The one that is too long to be shown completely.
const TAPE: &str = include_str!("../../../../../wit/deps/bub-tape/tape.wit");

pub(super) fn hooks() -> Result<String> {
    let intro = "A hook is a WIT interface; a plugin that exports it implements the hook.\n\
        It is called once you have granted it `hook:NAME` ([Grants](grants.md)); `store` needs `hook:tape-store`.\n\
        `tools` and `commands` need no grant, because tools and commands are called by name only.\n\
        The table has the hooks in the order in which a turn reaches them.\n\n\
        | Dispatch | Which plugins are called |\n| --- | --- |\n";
    let mut page = begin("Hooks", intro).trim_end().to_owned() + "\n";
    for way in [DispatchMode::FirstResult, DispatchMode::Broadcast, DispatchMode::Chain, DispatchMode::Observer] {
        let about = match way {
            DispatchMode::FirstResult => "One after the other, the latest registered first, until one answers.",
            DispatchMode::Broadcast => "All of them; their answers are combined.",
            DispatchMode::Chain => "All of them, each with what the one before it changed.",
            DispatchMode::Observer => "All of them; an error is logged and changes nothing.",
        };
        page.push_str(&format!("| {} | {about} |\n", way.name()));
    }
    page.push('\n');
    let rows = HOOKS.iter().map(|hook| {
        let link = format!("[`{0}`](#{0})", hook.name);
        vec![link, hook.way.name().to_owned(), format!("`{}`", hook.stage), sentence(hook.power)]
    });
    table(&mut page, &["Hook", "Dispatch", "Stage in errors", "What a plugin sees and can change"], rows);
    for hook in HOOKS {
        let found = CONTRACTS.iter().chain([&TAPE]).find_map(|contract| interface(contract, hook.name));
        let (about, text) = found.with_context(|| format!("no contract has an interface `{}`", hook.name))?;
        page.push_str(&format!("\n## `{}`\n\n", hook.name));
        if !about.is_empty() {
            page.push_str(&format!("{about}\n\n"));
        }
        page.push_str(&format!("```wit\n{text}\n```\n"));
    }
    Ok(page)
}

/// The comment of an interface, and its text.
fn interface(contract: &str, name: &str) -> Option<(String, String)> {
    let lines: Vec<&str> = contract.lines().collect();
    let start = lines.iter().position(|line| *line == format!("interface {name} {{"))?;
    let about = lines.get(..start)?.iter().rev().map_while(|line| line.strip_prefix("///"));
    let mut about: Vec<&str> = about.map(str::trim).collect();
    about.reverse();
    let end = start + lines.get(start..)?.iter().position(|line| *line == "}")?;
    Some((about.join("\n"), lines.get(start..=end)?.join("\n")))
}
