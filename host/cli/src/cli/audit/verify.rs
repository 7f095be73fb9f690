//! `audit verify`.

use super::super::tape::TapeLocation;
use super::super::text;
use super::selection::{Selection, store, title};
use anyhow::{Context, Result, bail};
use bub_audit::{AuditFolder, Fault, Report, SignedHead, check_witness};
use bub_config::{Config, Witness};
use bub_recordings::{Recording, Store};
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// Compare the signed heads with this list of a witness as well: a file, or the address that `witness` of the
    /// configuration names [default: the file that `witness` names]
    #[arg(long, value_name = "FILE|URL")]
    witness: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is known beside the tapes.
struct Signed {
    heads: bub_audit::HeadLog,
    /// The latest head of each tape that a witness has; none: no witness's list is at hand.
    witnessed: Option<HashMap<String, SignedHead>>,
    /// What is wrong with keys, heads or the list of the witness.
    faults: Vec<Fault>,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let signed = signed(arguments, &config).await?;
    let recordings = Store::new(config.recordings_dir());
    let known: BTreeSet<String> = signed.heads.heads.iter().map(|head| head.tape.clone()).collect();
    let known: Vec<String> = known.into_iter().collect();
    let location = TapeLocation::open(config, workspace).await?;
    let tapes = arguments.selection.tapes(&location, &known).await?;
    let mut rows = Vec::new();
    let mut out = std::io::stdout().lock();
    let mut is_wrong = !signed.faults.is_empty();
    for tape in tapes {
        let heads = signed.heads.of(&tape);
        let report = bub_audit::verify(&*store(&location)?, &tape, &heads).await?;
        let changed = changed(&recordings, &report);
        is_wrong |= !report.faults.is_empty() || !changed.is_empty();
        let witnessed = signed.witnessed.as_ref().map(|witnessed| witnessed.get(&tape));
        match arguments.json {
            true => rows.push(as_json(&report, &changed, heads.last(), witnessed)),
            false => {
                print(&mut out, &title(&location, &tape).await, &report, heads.last(), witnessed)?;
                for recording in changed {
                    writeln!(out, "  tampered: recording `{recording}` was changed after it was written")?;
                }
            }
        }
    }
    if arguments.json {
        let faults: Vec<_> = signed.faults.iter().map(fault_json).collect();
        writeln!(out, "{:#}", json!({ "tampered": is_wrong, "tapes": rows, "faults": faults }))?;
    } else {
        for fault in &signed.faults {
            writeln!(out, "tampered: {fault}")?;
        }
    }
    Ok(if is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The recordings of turns that are not those that the chain names. One that is gone was removed by its bounds, or with an
/// erased entry.
fn changed(recordings: &Store, report: &Report) -> Vec<String> {
    let digests: HashMap<&str, &str> =
        report.recordings.iter().map(|mark| (mark.turn.as_str(), mark.digest.as_str())).collect();
    if digests.is_empty() {
        return Vec::new();
    }
    let mut listed = recordings.list(Some(&report.tape));
    listed.retain(|listed| {
        let chained = digests.get(listed.name.as_str());
        // The digest of the whole file stands in its manifest's line, and is checked when it is read.
        let is_same = |digest: &&str| {
            Recording::read(&listed.file).is_ok_and(|found| found.digest == **digest && found.problem.is_none())
        };
        chained.is_some_and(|digest| !is_same(digest))
    });
    listed.into_iter().map(|listed| listed.name).collect()
}

/// Reads keys, heads and, if it is at hand, the list of the witness.
async fn signed(arguments: &Arguments, config: &Config) -> Result<Signed> {
    let folder = AuditFolder::new(config.audit_dir());
    let failed = || format!("the signed heads in `{}` cannot be read", folder.path().display());
    let keys = folder.keys().with_context(failed)?;
    let heads = folder.heads(&keys).with_context(failed)?;
    let mut faults = keys.faults.clone();
    faults.extend(heads.faults.clone());
    let mut witnessed = None;
    if let Some((name, lines)) = list(arguments.witness.as_deref(), config).await? {
        let failed = || format!("the list of the witness `{}` cannot be read", text::line(&name));
        let (found, wrong) = check_witness(lines, &heads, &keys).with_context(failed)?;
        witnessed = Some(found);
        // Lines behind one that is wrong were not read.
        if heads.faults.is_empty() {
            faults.extend(wrong);
        }
    }
    Ok(Signed { heads, witnessed, faults })
}

/// The list of the witness, and its name: that which the user names, or the file of the configuration.
async fn list(named: Option<&str>, config: &Config) -> Result<Option<(String, Box<dyn BufRead>)>> {
    let path = match (named, config.witness()) {
        (Some(url), witness) if url.contains("://") => {
            // Its headers hold secrets, which go nowhere else.
            let (Some(Witness::Http(address, headers)), true) =
                (witness?, config.audit.witness.as_deref() == Some(url))
            else {
                bail!(
                    "`{}` is not the `witness` in `[audit]` of config.toml: write it there, or give a file",
                    text::line(url)
                );
            };
            let read = bub_runtime::host::witness_list(&address, &headers).await;
            let list = read.with_context(|| format!("the list of the witness `{}` cannot be read", text::line(url)))?;
            return Ok(Some((url.to_owned(), Box::new(Cursor::new(list)))));
        }
        (Some(path), _) => PathBuf::from(path),
        (None, Ok(Some(Witness::File(path)))) if path.exists() => path,
        (None, _) => return Ok(None),
    };
    let failed = || format!("the list of the witness `{}` cannot be read", path.display());
    let file = File::open(&path).with_context(failed)?;
    Ok(Some((path.display().to_string(), Box::new(BufReader::new(file)))))
}

fn print(
    out: &mut impl Write,
    title: &str,
    report: &Report,
    signed: Option<&SignedHead>,
    witnessed: Option<Option<&SignedHead>>,
) -> Result<()> {
    let entries = text::count(report.entries, "entry", "entries");
    let head = |what: &str, head: Option<&SignedHead>| match head {
        Some(head) => format!("{what} at record {} of {}, {}", head.seq, report.records, head.at),
        None => format!("not {what}"),
    };
    let mut line = format!("{title}: {entries}, {} unchained, {}", report.unchained, head("signed", signed));
    if let Some(witnessed) = witnessed {
        line += "; ";
        line += &head("witnessed", witnessed);
    }
    writeln!(out, "{line}")?;
    for fault in &report.faults {
        writeln!(out, "  tampered: {fault}")?;
    }
    Ok(())
}

fn as_json(
    report: &Report,
    changed: &[String],
    signed: Option<&SignedHead>,
    witnessed: Option<Option<&SignedHead>>,
) -> serde_json::Value {
    let head = |head: Option<&SignedHead>| head.map(|head| json!({ "seq": head.seq, "at": head.at, "key": head.key }));
    json!({
        "tape": report.tape,
        "entries": report.entries,
        "unchained": report.unchained,
        "records": report.records,
        "head": report.head.as_ref().map(|head| json!({ "chain": head.chain, "seq": head.seq, "hash": head.hash })),
        "signed": head(signed),
        "witnessed": witnessed.map(head),
        "recordings": report.recordings,
        "changed_recordings": changed,
        "faults": report.faults.iter().map(fault_json).collect::<Vec<_>>(),
    })
}

fn fault_json(fault: &Fault) -> serde_json::Value {
    json!({ "place": fault.place.to_string(), "kind": fault.kind.name(), "text": fault.to_string() })
}
