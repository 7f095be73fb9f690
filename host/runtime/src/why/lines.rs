//! Where config.toml says something.

use bub_config::Config;
use bub_permissions::policy::commands::CommandRule;
use std::fs;

/// Bytes of config.toml that are looked through.
const MAX_FILE: u64 = 4 << 20;

/// The rule that is written like that: its number, and its line. `None`: it is not there any more.
pub(super) fn rule(config: &Config, written: &str) -> Option<(usize, Option<usize>)> {
    let place = config.process.rules.iter().position(|rule: &CommandRule| rule.to_string() == written)?;
    let mut headers = lines(config).into_iter().filter(|(_, line)| line.replace(' ', "") == "[[process.rules]]");
    Some((place + 1, headers.nth(place).map(|(number, _)| number)))
}

/// The line of a key of a table, or of the table.
pub(super) fn key(config: &Config, table: &str, key: &str) -> Option<usize> {
    let (mut is_inside, mut header) = (false, None);
    for (number, line) in lines(config) {
        if line.starts_with('[') {
            is_inside = line.replace([' ', '"'], "") == format!("[{table}]");
            header = header.or(is_inside.then_some(number));
        } else if is_inside && line.split('=').next().is_some_and(|name| name.trim() == key) {
            return Some(number);
        }
    }
    header
}

/// The lines with their numbers, from 1.
fn lines(config: &Config) -> Vec<(usize, String)> {
    let file = config.file();
    if !fs::metadata(&file).is_ok_and(|about| about.is_file() && about.len() <= MAX_FILE) {
        return Vec::new();
    }
    let text = fs::read_to_string(&file).unwrap_or_default();
    text.lines().enumerate().map(|(at, line)| (at + 1, line.trim().to_owned())).collect()
}
