//! `forget-person`: exports and erases what one sender has said.
//!
//! What was derived from their turns goes first, and the turns, by which it is found, go last: a run that was cut off is
//! continued by the next one.

mod archives;
mod export;
mod find;
mod leftovers;
mod memory;
mod person;
mod quotes;
mod turns;

use self::archives::Archives;
use self::find::{Found, FoundTape, find};
use self::leftovers::Leftover;
use self::person::{Person, Sender};
use super::tape::TapeLocation;
use super::{prompt, text};
use anyhow::{Context, Result, bail, ensure};
use bstr::ByteSlice;
use bub_config::Config;
use bub_gateway::{KeptRow, KeptWords};
use bub_recall::Recall;
use bub_recordings::Store as Recordings;
use bub_tape::{Entry, Erasure, MEMORY, failpoint, family};
use bub_types::suggest;
use bub_types::text::escaped;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The longest sender, in bytes.
const MAX_SENDER: usize = 512;

/// Texts of at least so many bytes are looked for in recordings of other sessions. Shorter ones stand in nearly all.
const MIN_RECORDED: usize = 8;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The sender exactly as channels name it: what stands behind `sender_id=` on tapes
    #[arg(value_name = "SENDER")]
    sender: String,
    /// File to export to before anything is erased, which must not exist [default: in the current directory]
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// Erase without an export
    #[arg(long, conflicts_with = "export")]
    no_export: bool,
    /// Only show what would be erased
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is there, by place.
#[derive(Default, PartialEq, Eq)]
struct Counts {
    entries: u64,
    tapes: u64,
    archived: u64,
    lines: u64,
    inbox: u64,
    recordings: u64,
    files: u64,
    /// Messages of others that quote them, which stay.
    quoting: u64,
}

impl Counts {
    fn is_empty(&self) -> bool {
        *self == Self { quoting: self.quoting, ..Self::default() }
    }

    fn places(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("entries of tapes", self.entries),
            ("tapes with such entries", self.tapes),
            ("entries of archives and of the trash", self.archived),
            ("lines of the memory", self.lines),
            ("messages and answers in the inbox", self.inbox),
            ("recordings of turns", self.recordings),
            ("other files", self.files),
            ("messages of others that quote them, which stay", self.quoting),
        ]
    }
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let person = arguments.sender.as_str();
    let shown = escaped(person, 80);
    ensure!(!person.trim().is_empty(), "the sender is empty: name it as it stands behind `sender_id=` on tapes");
    let is_plain = person.len() <= MAX_SENDER && !person.chars().any(char::is_control);
    ensure!(is_plain, "`{shown}` cannot be a sender: it is too long, or has control characters");
    let (home, recordings) = (config.home.clone(), Recordings::new(config.recordings_dir()));
    let recall = Recall::new(config.recall_dir());
    let patience = config.tapes.journal.lock_wait;
    let location = TapeLocation::open(config, workspace).await?;
    let kept = KeptWords::new(home.clone(), location.database());
    if !arguments.dry_run {
        kept.wait_for_turns(&Sender(person), patience).await?;
        settle(&location, &kept, person).await?;
    }
    let archives = Archives::open(&location).await?;
    let content = |row: KeptRow| row.envelope.get("content").and_then(Value::as_str).map(str::to_owned);
    let open_words = kept.rows(&Sender(person)).await?.into_iter().filter_map(content).collect();
    let found = find(&location, &archives, person, open_words).await?;
    let texts: Vec<String> = found.texts.iter().filter(|text| text.len() >= MIN_RECORDED).cloned().collect();
    let rows = kept.rows(&Person::new(person, &found, &location)).await?;
    let leftovers = leftovers::find(&home, &found.quotes);
    let counts = count(&found, &rows, &leftovers, &recordings, &texts);
    if counts.is_empty() {
        if !arguments.dry_run {
            // An earlier run may have been cut off before it did.
            kept.forget_samples().await;
        }
        let near = suggest::hint(person, found.senders.iter().map(String::as_str).filter(|known| *known != person));
        let mut out = std::io::stdout();
        match arguments.json {
            true => writeln!(out, "{}", json!({ "sender": person, "found": report(&counts) }))?,
            false => writeln!(out, "nothing of sender `{shown}` is in `{}`{}", home.display(), escaped(&near, 200))?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.dry_run {
        tell(arguments, &shown, "would be erased", &counts, None)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.yes && !confirm(&shown, &counts)? {
        bail!("everything stays as it is");
    }
    kept.check_ended(&rows)?;
    let exported = match arguments.no_export {
        true => None,
        false => Some(export::write(arguments.export.as_deref(), person, &found, &rows)?),
    };
    failpoint::point("forget.exported");
    recordings.note_erasure()?;
    recordings.remove_with(&texts);
    for found in found.tapes.iter().filter(|found| found.entries() > 0) {
        recordings.remove_folder(family(found.tape.name()));
    }
    failpoint::point("forget.recordings");
    leftovers::erase(&leftovers, &found.quotes)?;
    failpoint::point("forget.files");
    erase_derived(&archives, &found).await?;
    failpoint::point("forget.derived");
    // Indexes are built again.
    recall.clear().map_err(anyhow::Error::msg)?;
    kept.erase(&rows).await?;
    failpoint::point("forget.inbox");
    for found in &found.tapes {
        archives.erase(found.tape.name(), &found.archived).await?;
        failpoint::point("forget.archive");
    }
    for found in found.tapes.iter().filter(|found| !found.turns.is_empty()) {
        let erasure = Erasure::new(&found.turns).with_receipt(&by())?;
        found.tape.erase(None, erasure).await?;
        failpoint::point("forget.tape");
    }
    kept.forget_samples().await;
    tell(arguments, &shown, "erased", &counts, exported.as_deref())?;
    Ok(ExitCode::SUCCESS)
}

/// Who erases, for receipts.
fn by() -> String {
    format!("user {}", rustix::process::getuid().as_raw())
}

/// Puts turns on their tapes that were interrupted and are still in journals, as the next turn of the session would. Waits for
/// turns that run.
async fn settle(location: &TapeLocation, kept: &KeptWords, person: &str) -> Result<()> {
    let Some(tapes) = location.tapes() else { return Ok(()) };
    let is_plain = person.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:@+-".contains(&byte));
    // Another name may be escaped in the records.
    let sender = if is_plain { format!("sender_id={person}") } else { "sender_id=".to_owned() };
    let is_theirs = |records: &[u8]| records.find(sender.as_bytes()).is_some();
    for tape in kept.unfinished(&is_theirs).await? {
        tapes.open(&tape)?.erase(None, Erasure::default()).await?;
    }
    Ok(())
}

/// Erases what is not a turn of the person: quotations, also in archives, lines of memories, sidecars. What others are found
/// by goes last.
async fn erase_derived(archives: &Archives, found: &Found) -> Result<()> {
    let goes = |line: &str| found.lines.contains(line) || found.quotes.stand_in_line(line);
    for one in &found.tapes {
        erase_entries(one, &one.derived).await?;
        failpoint::point("forget.quotations");
    }
    for one in &found.tapes {
        archives.erase(one.tape.name(), &one.archived_derived).await?;
    }
    for one in found.tapes.iter().filter(|one| one.memory) {
        for tape in [one.tape.clone(), one.tape.sidecar(MEMORY)?] {
            memory::write_without(&tape, &goes, false).await.with_context(|| {
                format!("the memory of tape `{}` has changed meanwhile: run the command again", one.tape.name())
            })?;
        }
        failpoint::point("forget.memory");
    }
    for one in &found.tapes {
        erase_entries(one, &one.superseded).await?;
    }
    Ok(())
}

async fn erase_entries(found: &FoundTape, parts: &[(Option<String>, Vec<Entry>)]) -> Result<()> {
    for (sidecar, entries) in parts {
        let mut erasure = Erasure::new(entries);
        // A sidecar is left without a receipt, because its plugin reads only its own entries.
        if sidecar.is_none() {
            erasure = erasure.with_receipt(&by())?;
        }
        found.tape.erase(sidecar.as_deref(), erasure).await?;
    }
    Ok(())
}

fn count(found: &Found, rows: &[KeptRow], leftovers: &[Leftover], recordings: &Recordings, texts: &[String]) -> Counts {
    let tapes = &found.tapes;
    let with_entries = || tapes.iter().filter(|found| found.entries() > 0);
    let of_sessions: Vec<PathBuf> = with_entries()
        .flat_map(|found| recordings.list(Some(family(found.tape.name()))))
        .map(|recording| recording.file)
        .collect();
    let quoting = recordings.with(texts).into_iter().filter(|recording| !of_sessions.contains(&recording.file)).count();
    Counts {
        entries: tapes.iter().map(FoundTape::entries).sum(),
        tapes: with_entries().count() as u64,
        archived: tapes.iter().map(|found| (found.archived.len() + found.archived_derived.len()) as u64).sum(),
        lines: if tapes.iter().any(|found| found.memory) { found.lines.len().max(1) as u64 } else { 0 },
        inbox: rows.len() as u64,
        recordings: (of_sessions.len() + quoting) as u64,
        files: leftovers.len() as u64,
        quoting: tapes.iter().map(|found| found.quoting).sum(),
    }
}

fn report(counts: &Counts) -> serde_json::Value {
    let places = counts.places().into_iter().map(|(place, count)| (place.to_owned(), json!(count)));
    serde_json::Value::Object(places.collect())
}

fn tell(arguments: &Arguments, shown: &str, fate: &str, counts: &Counts, exported: Option<&Path>) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let exported = exported.map(|path| path.display().to_string());
        let sender = &arguments.sender;
        writeln!(out, "{}", json!({ "sender": sender, "fate": fate, "found": report(counts), "export": exported }))?;
        return Ok(());
    }
    writeln!(out, "of sender `{shown}`, {fate}:")?;
    for (place, count) in counts.places().into_iter().filter(|(_, count)| *count > 0) {
        writeln!(out, "  {count} {place}")?;
    }
    if let Some(path) = exported {
        writeln!(
            out,
            "exported to `{}`: keep it where it is safe, or delete it",
            text::line(&path.display().to_string())
        )?;
    }
    writeln!(
        out,
        "not touched: backups, exports, logs, files of workspaces, and what model providers and channels keep"
    )?;
    Ok(())
}

fn confirm(shown: &str, counts: &Counts) -> Result<bool> {
    let what = format!(
        "{} of sender `{shown}` and what was made of them",
        text::count(counts.entries + counts.archived + counts.inbox, "entry", "entries")
    );
    ensure!(
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
        "there is no terminal to ask whether {what} are to be erased permanently: give `--yes`, or `--dry-run` to see them"
    );
    let answer = prompt::ask(&format!("erase {what} for good? [y/N] "))?;
    Ok(matches!(answer.as_deref().map(str::trim), Some("y" | "Y" | "yes")))
}
