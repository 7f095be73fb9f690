//! `tape erase`: erases entries of tapes.

use super::super::text;
use super::store_archives::StoreArchives;
use super::tape_arg::{ResolvedTape, TapeArg};
use super::tape_location::TapeLocation;
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_recall::Recall;
use bub_recordings::Store as Recordings;
use bub_tape::{Entry, Erasure, FORGOTTEN, Forgotten, MEMORY, Store, Tape, Traces, Words, erase_traces, section_ids};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Entries that are read at once.
const PAGE: usize = 256;

/// The shortest text: a shorter one occurs in nearly every entry.
const MIN_TEXT: usize = 3;

/// Texts of an erased entry of at least so many bytes are looked for in recordings of other sessions. Shorter ones stand in
/// nearly all.
const MIN_RECORDED: usize = 8;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Session or tape, and the ids of the entries to erase
    #[arg(value_name = "SESSION|TAPE] [ENTRY")]
    given: Vec<String>,
    /// Erase all entries that contain this text, ignoring case; without a tape, in all sessions of the workspace
    #[arg(long, value_name = "TEXT", conflicts_with = "forgotten")]
    text: Option<String>,
    /// Erase all entries that `memory.forget` has forgotten; without a tape, in all sessions of the workspace
    #[arg(long)]
    forgotten: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Selects entries.
enum EraseFilter {
    Ids(BTreeSet<u64>),
    Text(Words),
    Forgotten,
}

/// The entries to erase from one tape.
struct Plan {
    tape: Tape,
    /// By sidecar, or `None` for the tape itself.
    parts: Vec<(Option<String>, Vec<Entry>)>,
    /// Entries that are not forgotten.
    remembered: u64,
    forgotten: Arc<Forgotten>,
}

impl Plan {
    fn entries(&self) -> u64 {
        self.parts.iter().map(|(_, entries)| entries.len() as u64).sum()
    }
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let (named, wanted) = read(arguments)?;
    let (recall, recordings) = (Recall::new(config.recall_dir()), Recordings::new(config.recordings_dir()));
    let (location, tapes) = match named {
        Some(named) => {
            let ResolvedTape { tape, location, .. } = find(&named, config, workspace).await?;
            (location, vec![tape])
        }
        None => of_workspace(TapeLocation::open(config, workspace).await?).await?,
    };
    let mut plans = Vec::new();
    for tape in tapes {
        plans.push(plan(&location, tape, &wanted).await?);
    }
    let traces = trace(&location, &plans, &wanted, true).await?;
    let remembered: u64 = plans.iter().map(|plan| plan.remembered).sum();
    let entries: u64 = plans.iter().map(Plan::entries).sum();
    let archived: u64 = traces.iter().flat_map(|traces| &traces.archives).map(|(_, entries)| entries).sum();
    let trash: usize = traces.iter().map(|traces| traces.trash.len()).sum();
    if remembered > 0 {
        let entries = text::count(remembered, "entry", "entries");
        writeln!(
            std::io::stderr(),
            "not erased because the current memory contains it: {entries}; forget it first, with ,memory.forget"
        )?;
    }
    if entries == 0 && archived == 0 && trash == 0 {
        bail!("no entry that can be erased matches");
    }
    if !arguments.yes && !confirm(&plans, archived, trash)? {
        bail!("the tapes stay as they are");
    }
    let mut erased = Vec::new();
    // A tape without such entries may have an archive with some.
    for plan in plans.iter().filter(|plan| plan.entries() > 0) {
        erased.push((plan.tape.name().to_owned(), erase(plan).await?));
    }
    recordings.note_erasure()?;
    remove_recordings(&recordings, &plans, arguments.text.as_deref());
    // Indexes are built again.
    recall.clear().map_err(anyhow::Error::msg)?;
    let traces = trace(&location, &plans, &wanted, false).await?;
    tell(arguments.json, &erased, &traces)?;
    Ok(ExitCode::SUCCESS)
}

/// The tape and the entries that the arguments name.
fn read(arguments: &Arguments) -> Result<(Option<String>, EraseFilter)> {
    let is_id = |given: &String| given.bytes().all(|byte| byte.is_ascii_digit());
    let (named, ids) = match arguments.given.split_first() {
        Some((first, rest)) if !is_id(first) => (Some(first.clone()), rest),
        _ => (None, arguments.given.as_slice()),
    };
    let mut entries = BTreeSet::new();
    for id in ids {
        let Ok(id) = id.parse() else {
            bail!("`{}` is not the id of an entry: `bub-wasm tape show` shows them", text::line(id))
        };
        entries.insert(id);
    }
    let wanted = match (&arguments.text, arguments.forgotten) {
        (Some(text), _) if text.trim().chars().count() < MIN_TEXT => {
            bail!("`--text` takes at least {MIN_TEXT} characters: a shorter text occurs nearly everywhere")
        }
        (Some(text), _) => EraseFilter::Text(Words::new([text.as_str()])),
        (None, true) => EraseFilter::Forgotten,
        (None, false) if entries.is_empty() => {
            bail!("say what to erase: ids of entries, `--text TEXT`, or `--forgotten`")
        }
        (None, false) => return Ok((Some(named.unwrap_or_default()), EraseFilter::Ids(entries))),
    };
    if !entries.is_empty() {
        bail!("ids of entries cannot be combined with `--text` or `--forgotten`");
    }
    Ok((named, wanted))
}

/// Finds a tape by its name or path, or by its session; empty: that of `cli:local`.
async fn find(named: &str, config: Config, workspace: &Path) -> Result<ResolvedTape> {
    let is_tape = named.contains("__") || named.contains('/') || named.ends_with(".jsonl");
    let named = match named {
        "" => TapeArg::default(),
        named if is_tape => TapeArg::from_name(named),
        named => TapeArg::from_session(named),
    };
    let found = named.find(config, workspace).await?;
    found.require_own()?;
    Ok(found)
}

/// All tapes of the workspace, including the shared one.
async fn of_workspace(location: TapeLocation) -> Result<(TapeLocation, Vec<Tape>)> {
    let mut tapes = Vec::new();
    for name in location.names().await? {
        if location.is_of_workspace(&name)
            && let Some(tape) = location.holds(&name).await?
        {
            tapes.push(tape);
        }
    }
    Ok((location, tapes))
}

async fn plan(location: &TapeLocation, tape: Tape, wanted: &EraseFilter) -> Result<Plan> {
    let store = super::tape_location::store(location)?;
    let forgotten = tape.forgotten().await?;
    let mut plan = Plan { parts: Vec::new(), remembered: 0, forgotten, tape };
    let family = plan.tape.name().to_owned();
    let mut names = vec![None];
    // Ids select entries of the tape itself.
    if !matches!(wanted, EraseFilter::Ids(_)) {
        let prefix = format!("{family}__sidecar__");
        let sidecars = store.sidecars(&family).await?;
        let sidecars = sidecars.iter().filter_map(|name| name.strip_prefix(&prefix)).filter(|name| *name != FORGOTTEN);
        names.extend(sidecars.map(|name| Some(name.to_owned())));
    }
    for sidecar in names {
        let name = sidecar.as_ref().map_or_else(|| family.clone(), |sidecar| format!("{family}__sidecar__{sidecar}"));
        let entries = choose(&**store, &name, wanted, &mut plan).await?;
        if !entries.is_empty() {
            plan.parts.push((sidecar, entries));
        }
    }
    Ok(plan)
}

/// The matching entries of one tape. A tool call includes its results, which no model accepts alone.
async fn choose(store: &dyn Store, name: &str, wanted: &EraseFilter, plan: &mut Plan) -> Result<Vec<Entry>> {
    let holds: Option<RangeInclusive<u64>> = section_ids(&store.section(name, MEMORY, None).await?);
    let mut chosen: Vec<Entry> = Vec::new();
    let mut call: Option<(Entry, bool)> = None;
    let mut after = 0;
    loop {
        let page = store.read(name, after, PAGE).await?;
        let Some(end) = page.last() else { break };
        after = end.id;
        for entry in page {
            let is_wanted = match wanted {
                EraseFilter::Ids(ids) => ids.contains(&entry.id),
                EraseFilter::Text(words) => words.stand_in(&entry),
                EraseFilter::Forgotten => plan.forgotten.holds(&entry),
            };
            let is_remembered = holds.as_ref().is_some_and(|holds| holds.contains(&entry.id));
            plan.remembered += u64::from(is_wanted && is_remembered);
            let mut goes = is_wanted && !is_remembered;
            match &*entry.kind {
                "tool_call" => call = Some((entry.clone(), goes)),
                "tool_result" => {
                    if let Some((call, call_goes)) = call.take() {
                        if goes && !call_goes {
                            chosen.push(call);
                        }
                        goes |= call_goes;
                    }
                }
                _ => {}
            }
            if goes {
                chosen.push(entry);
            }
        }
        tokio::task::yield_now().await;
    }
    if let EraseFilter::Ids(ids) = wanted {
        let found: BTreeSet<u64> = chosen.iter().map(|entry| entry.id).collect();
        if let Some(missing) = ids.difference(&found).next()
            && plan.remembered == 0
        {
            bail!("tape `{name}` has no entry {missing}; `bub-wasm tape show {name}` shows what there is");
        }
    }
    chosen.sort_by_key(|entry| entry.id);
    Ok(chosen)
}

/// Removes the recordings of the sessions that entries are erased from, and all others in which their texts stand, or the
/// text that was asked for.
fn remove_recordings(recordings: &Recordings, plans: &[Plan], text: Option<&str>) {
    let mut texts: Vec<String> =
        text.filter(|text| text.len() >= MIN_RECORDED).map(str::to_owned).into_iter().collect();
    for plan in plans.iter().filter(|plan| plan.entries() > 0) {
        recordings.remove_folder(bub_tape::family(plan.tape.name()));
        let entries = plan.parts.iter().flat_map(|(_, entries)| entries);
        texts.extend(entries.flat_map(bub_tape::entry_text::body).filter(|text| text.len() >= MIN_RECORDED));
    }
    recordings.remove_with(&texts);
}

/// Erases the planned entries. The receipt is written with the part of the tape itself.
async fn erase(plan: &Plan) -> Result<u64> {
    let mut erased = 0;
    let by = format!("user {}", rustix_user());
    for (sidecar, entries) in &plan.parts {
        let mut erasure = Erasure::new(entries);
        // A sidecar is left without a receipt, because its plugin reads only its own entries.
        if sidecar.is_none() {
            erasure = erasure.with_receipt(&by)?;
        }
        erased += plan.tape.erase(sidecar.as_deref(), erasure).await?;
    }
    Ok(erased)
}

/// The numeric id of the user, for the receipt.
fn rustix_user() -> u32 {
    rustix::process::getuid().as_raw()
}

/// Copies of the entries in archives, in the trash and in files beside the tapes.
async fn trace(location: &TapeLocation, plans: &[Plan], wanted: &EraseFilter, dry: bool) -> Result<Vec<Traces>> {
    let of_store = StoreArchives::open(location).await?;
    let mut traces = Vec::new();
    for plan in plans {
        let in_entry = |entry: &Entry| match wanted {
            EraseFilter::Ids(_) => false,
            EraseFilter::Text(words) => words.stand_in(entry),
            EraseFilter::Forgotten => plan.forgotten.holds(entry),
        };
        let in_text = |text: &str| match wanted {
            EraseFilter::Text(words) => words.stand_in_text(text),
            EraseFilter::Ids(_) | EraseFilter::Forgotten => false,
        };
        let name = plan.tape.name();
        let mut found = match &location.dir {
            Some(dir) => erase_traces(dir, name, &in_entry, &in_text, dry)
                .with_context(|| format!("what lies beside tape `{name}` cannot be looked at"))?,
            None => Traces::default(),
        };
        // Ids select entries of the tape itself, so no archive has to be read for them.
        if !matches!(wanted, EraseFilter::Ids(_)) {
            let stored = of_store.erase(name, &in_entry, dry).await?;
            found.archives.extend(stored.into_iter().map(|(archive, entries)| (archive.into(), entries)));
        }
        traces.push(found);
    }
    Ok(traces)
}

fn confirm(plans: &[Plan], archived: u64, trash: usize) -> Result<bool> {
    let with_entries: Vec<u64> = plans.iter().map(Plan::entries).filter(|entries| *entries > 0).collect();
    let mut what = Vec::new();
    if !with_entries.is_empty() {
        what.push(format!(
            "{} of {}",
            text::count(with_entries.iter().sum(), "entry", "entries"),
            text::count(with_entries.len() as u64, "tape", "tapes")
        ));
    }
    if archived > 0 {
        what.push(format!("{} of archives", text::count(archived, "entry", "entries")));
    }
    if trash > 0 {
        what.push(text::count(trash as u64, "file of the trash", "files of the trash"));
    }
    let what = what.join(", ");
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        bail!("there is no terminal to ask whether {what} are to be erased permanently: give `--yes`");
    }
    let mut terminal = std::io::stderr();
    write!(terminal, "take out {what} for good? [y/N] ")?;
    terminal.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn tell(as_json: bool, erased: &[(String, u64)], traces: &[Traces]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let shown = |path: &Path| path.display().to_string();
    if as_json {
        let tapes: Vec<Value> =
            erased.iter().map(|(tape, entries)| json!({ "tape": tape, "entries": entries })).collect();
        let archives: Vec<Value> = traces
            .iter()
            .flat_map(|traces| &traces.archives)
            .map(|(path, entries)| json!({ "path": shown(path), "entries": entries }))
            .collect();
        let trash: Vec<String> = traces.iter().flat_map(|traces| &traces.trash).map(|path| shown(path)).collect();
        let left: Vec<String> = traces.iter().flat_map(|traces| &traces.left).map(|path| shown(path)).collect();
        writeln!(out, "{}", json!({ "tapes": tapes, "archives": archives, "trash": trash, "still_in": left }))?;
        return Ok(());
    }
    for (tape, entries) in erased {
        let entries = text::count(*entries, "entry", "entries");
        writeln!(out, "{entries} erased from tape `{tape}`; the receipt is its last entry")?;
    }
    for traces in traces {
        for (path, entries) in &traces.archives {
            writeln!(out, "{} erased from archive `{}`", text::count(*entries, "entry", "entries"), shown(path))?;
        }
        for path in &traces.trash {
            writeln!(out, "removed from the trash: `{}`", shown(path))?;
        }
        for path in &traces.left {
            writeln!(out, "it is still in `{}`: remove that file if it is not needed", shown(path))?;
        }
    }
    Ok(())
}
