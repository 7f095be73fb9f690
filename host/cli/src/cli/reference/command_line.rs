//! All commands with their options.

use super::{begin, sentence, table};
use crate::cli::completions::visible;
use clap::{Arg, Command, CommandFactory};

pub(super) fn page() -> String {
    let intro = "`bub-wasm COMMAND --help` prints the same in the terminal.\n\
        [Exit codes](exit-codes.md) and [environment variables](environment.md) have pages of their own.\n";
    let mut page = begin("Commands", intro);
    let mut root = visible(&crate::cli::Arguments::command()).disable_help_subcommand(true).bin_name("bub-wasm");
    root.build();
    page.push_str("## Options of all commands\n\n");
    options(&mut page, root.get_arguments().filter(|arg| arg.is_global_set()));
    root.get_subcommands().for_each(|command| describe(&mut page, command, 2));
    page
}

fn describe(page: &mut String, command: &Command, level: usize) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    page.push_str(&format!("\n{} `{name}`\n\n", "#".repeat(level)));
    if let Some(about) = command.get_about() {
        page.push_str(&format!("{}\n\n", sentence(&about.to_string())));
    }
    let usage = command.clone().render_usage().to_string();
    page.push_str(&format!("```text\n{}\n```\n", usage.trim_start_matches("Usage: ").trim()));
    let own: Vec<&Arg> = command.get_arguments().filter(|arg| !arg.is_global_set() && is_own(arg)).collect();
    if !own.is_empty() {
        page.push('\n');
        options(page, own.into_iter());
    }
    let below = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    below.for_each(|below| describe(page, below, (level + 1).min(4)));
}

fn is_own(arg: &Arg) -> bool {
    !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str())
}

fn options<'a>(page: &mut String, all: impl Iterator<Item = &'a Arg>) {
    let rows = all.filter(|arg| is_own(arg)).map(|arg| vec![format!("`{}`", written(arg)), meaning(arg)]);
    table(page, &["Argument", "Meaning"], rows);
}

/// An option as it is typed: `-w, --workspace DIR`.
fn written(arg: &Arg) -> String {
    let takes_value = arg.get_action().takes_values();
    let names = arg.get_value_names().unwrap_or_default();
    let value = names.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(" ");
    if arg.is_positional() {
        return if arg.is_required_set() { value } else { format!("[{value}]") };
    }
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let aliases = arg.get_visible_aliases().unwrap_or_default();
    let names = short.into_iter().chain(long).chain(aliases.iter().map(|alias| format!("--{alias}")));
    let names = names.collect::<Vec<_>>().join(", ");
    if takes_value && !value.is_empty() { format!("{names} {value}") } else { names }
}

fn meaning(arg: &Arg) -> String {
    let mut text = sentence(&arg.get_help().map(ToString::to_string).unwrap_or_default());
    if arg.get_action().takes_values() {
        let values: Vec<String> = arg
            .get_possible_values()
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        if values.len() > 1 {
            text.push_str(&format!(" One of {}.", values.join(", ")));
        }
        let defaults: Vec<String> =
            arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
        if !defaults.is_empty() {
            text.push_str(&format!(" Default: {}.", defaults.join(", ")));
        }
    }
    text
}
