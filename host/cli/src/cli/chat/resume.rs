//! The state of a chat beside its tape: the history of its line editor, and whether the owner was asked to trust the
//! workspace.

use super::super::style::Style;
use super::super::tape::TapeLocation;
use super::super::{prompt, sessions, terminal_mode, text, trust};
use super::screen::Screen;
use anyhow::Result;
use bub_config::Config;
use bub_runtime::host::Host;
use bub_tape::{json, tape_name, typed};
use bub_terminal::StreamedText;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Messages that are shown when a conversation is resumed.
const MAX_MESSAGES: usize = 6;

/// Lines of each of them.
const MAX_LINES: usize = 20;

/// Sessions to choose from.
const MAX_CHOICES: usize = 15;

/// The files of the chats in one workspace.
pub(in crate::cli) struct ChatHistory {
    /// `$BUB_HOME/history/WORKSPACE`, without an ending.
    stem: PathBuf,
}

impl ChatHistory {
    pub(in crate::cli) fn new(config: &Config, workspace: &Path) -> Self {
        let name = tape_name(workspace, "");
        let half = name.split_once("__").map_or(name.as_str(), |(half, _)| half);
        Self { stem: config.home.join("history").join(half) }
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.stem.with_extension(ending)
    }

    /// The history of the line editor.
    pub(super) fn history(&self) -> PathBuf {
        self.file("lines")
    }

    fn write(&self, ending: &str, text: &str) -> std::io::Result<()> {
        let file = self.file(ending);
        super::editor::private(&file)?;
        fs::write(file, format!("{text}\n"))
    }

    /// Asks, once, whether the owner trusts the workspace.
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

/// The session to resume.
pub(super) enum Choice {
    Session(String),
    /// There is none; start a new one.
    New,
    /// Quit.
    Leave,
}

/// The session of that id or name. Without one, the user chooses; without a terminal, it is the latest one.
///
/// # Errors
///
/// There is no such session, or the tapes cannot be read.
pub(super) async fn choose(host: &Arc<Host>, wanted: Option<&str>, is_interactive: bool) -> Result<Choice> {
    let location = TapeLocation::from_host(host);
    if let Some(wanted) = wanted {
        let session = sessions::find_by_name(&location, wanted).await?;
        return Ok(session.id().map_or(Choice::New, |id| Choice::Session(id.to_owned())));
    }
    if !is_interactive {
        let latest = sessions::Sessions::new(&host.config).latest(&host.workspace)?;
        return Ok(latest.map_or(Choice::New, Choice::Session));
    }
    let mut offered = sessions::recent(&location, MAX_CHOICES, Screen::width()).await?;
    if offered.len() < 2 {
        return Ok(offered.pop().map_or(Choice::New, |(id, _)| Choice::Session(id)));
    }
    offered.iter().try_for_each(|(_, line)| writeln!(std::io::stdout(), "{line}"))?;
    tokio::task::spawn_blocking(move || ask(&offered)).await?
}

/// Warns that another process runs a turn of the session.
pub(super) async fn warn_of_holder(host: &Arc<Host>, session: &str) {
    let tape = tape_name(&host.workspace, session);
    if let Some(holder) = host.tapes().journals().holder(&tape).await {
        let id = text::cut(session, 40);
        // Stderr may be closed.
        let _ = writeln!(std::io::stderr(), "{holder} runs a turn of session `{id}`: what you say waits for its end");
    }
}

/// Asks for a number. Text that was typed ahead counts, because the choice is harmless.
fn ask(offered: &[(String, String)]) -> Result<Choice> {
    loop {
        write!(std::io::stdout(), "Which one? A number, Enter for the first, `n` for a new one, `q` to leave: ")?;
        std::io::stdout().flush()?;
        let mut line = String::new();
        if terminal_mode::as_before(|| std::io::stdin().read_line(&mut line))? == 0 {
            writeln!(std::io::stdout())?;
            return Ok(Choice::Leave);
        }
        let word = line.trim();
        let number = if word.is_empty() { Some(1) } else { word.parse::<usize>().ok() };
        match (number.and_then(|number| offered.get(number.checked_sub(1)?)), word) {
            (Some((id, _)), _) => return Ok(Choice::Session(id.clone())),
            (None, "n") => return Ok(Choice::New),
            (None, "q" | ",quit" | ",exit") => return Ok(Choice::Leave),
            _ => writeln!(std::io::stdout(), "`{}` is none of 1 to {}", text::cut(word, 40), offered.len())?,
        }
    }
}

/// Shows the end of a conversation.
///
/// # Errors
///
/// Its tape cannot be read, or the terminal has gone.
pub(super) async fn show(host: &Arc<Host>, session: &str, style: Style) -> Result<()> {
    let name = tape_name(&host.workspace, session);
    let tape = host.tapes().open(&name)?.without_forgotten();
    let window = tape.since_anchor().await?;
    let spoken = window.iter().filter(|entry| entry.is("message")).filter_map(|entry| {
        let role = json::get(&entry.payload, "role").and_then(json::string)?;
        let content = json::get(&entry.payload, "content").and_then(json::string)?;
        Some((role == "user", content))
    });
    let spoken: Vec<_> = spoken.collect();
    let width = Screen::width();
    let mut out = std::io::stdout().lock();
    for (by_user, content) in &spoken[spoken.len().saturating_sub(MAX_MESSAGES)..] {
        let mut lines = if *by_user {
            text::fold(&format!("› {}", typed(content)), width)
        } else {
            let mut said = StreamedText::new(style.has_colors(), false);
            said.push(content);
            said.take_rest(width)
        };
        if let Some(more) = lines.len().checked_sub(MAX_LINES).filter(|more| *more > 0) {
            lines.truncate(MAX_LINES);
            lines.push(style.dim(format!("… {more} more lines")));
        }
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        writeln!(out)?;
    }
    Ok(())
}
