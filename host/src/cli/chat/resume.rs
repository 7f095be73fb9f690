//! What a chat remembers from one time to the next, beside its tape: what was typed, and whether its owner was asked to
//! vouch for the workspace.

use super::super::paint::Paint;
use super::super::{prompt, text, trust};
use super::markdown::Said;
use super::screen::Screen;
use crate::config::Config;
use crate::host::Host;
use crate::tape::{json, tape_name};
use anyhow::Result;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Messages of the end of a conversation that are shown.
const SHOWN: usize = 6;

/// Lines of one of them.
const LINES: usize = 20;

/// The chats of one workspace.
pub(in crate::cli) struct Last {
    /// `$BUB_HOME/history/WORKSPACE`, without an ending.
    stem: PathBuf,
}

impl Last {
    pub(in crate::cli) fn of(config: &Config, workspace: &Path) -> Self {
        let name = tape_name(workspace, "");
        let half = name.split_once("__").map_or(name.as_str(), |(half, _)| half);
        Self { stem: config.home.join("history").join(half) }
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.stem.with_extension(ending)
    }

    /// What was typed here.
    pub(super) fn history(&self) -> PathBuf {
        self.file("lines")
    }

    fn write(&self, ending: &str, text: &str) -> std::io::Result<()> {
        let file = self.file(ending);
        super::editor::private(&file)?;
        fs::write(file, format!("{text}\n"))
    }

    /// Asks, once, whether the owner vouches for the files here.
    ///
    /// # Errors
    ///
    /// The terminal has gone, or the configuration cannot be written.
    pub(in crate::cli) fn ask_for_trust(&self, config: Config, workspace: &Path) -> Result<Config> {
        if config.trusts(workspace) || self.file("asked").exists() {
            return Ok(config);
        }
        let shown = text::line(&workspace.to_string_lossy());
        let asks = format!(
            "Are the files of `{shown}` yours, or as good as your own word? If not, the agent asks before it changes or runs anything once it has read one of them."
        );
        text::fold(&asks, Screen::width()).iter().try_for_each(|line| writeln!(std::io::stdout(), "{line}"))?;
        let is_trusted = loop {
            match prompt::ask("Trust this workspace? [y/N] ")? {
                Some(line) if prompt::is_yes(&line) => break true,
                Some(line) if prompt::is_no(&line) => break false,
                Some(_) => {}
                None => break false,
            }
        };
        self.write("asked", if is_trusted { "y" } else { "n" })?;
        if !is_trusted {
            writeln!(std::io::stdout(), "It is not trusted; `bub-wasm trust` changes that.")?;
            return Ok(config);
        }
        trust::trust(&config, workspace)?;
        Config::load(Some(&config.home))
    }
}

/// Shows how a conversation ended.
///
/// # Errors
///
/// Its tape cannot be read, or the terminal has gone.
pub(super) async fn show(host: &Arc<Host>, session: &str, paint: Paint) -> Result<()> {
    let name = tape_name(&host.workspace, session);
    let tape = host.tapes().open(&name)?;
    let window = tape.since_anchor().await?;
    let spoken = window.iter().filter(|entry| entry.is("message")).filter_map(|entry| {
        let role = json::get(&entry.payload, "role").and_then(json::string)?;
        let content = json::get(&entry.payload, "content").and_then(json::string)?;
        Some((role == "user", content))
    });
    let spoken: Vec<_> = spoken.collect();
    let width = Screen::width();
    let mut out = std::io::stdout().lock();
    for (by_user, content) in &spoken[spoken.len().saturating_sub(SHOWN)..] {
        let mut lines = if *by_user {
            text::fold(&format!("› {content}"), width)
        } else {
            let mut said = Said::new(paint.has_colors(), false);
            said.hear(content);
            said.rest(width)
        };
        if let Some(more) = lines.len().checked_sub(LINES).filter(|more| *more > 0) {
            lines.truncate(LINES);
            lines.push(paint.dim(format!("… {more} more lines")));
        }
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        writeln!(out)?;
    }
    Ok(())
}
