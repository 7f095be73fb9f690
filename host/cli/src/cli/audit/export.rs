//! `audit export`.

use super::super::tape::TapeLocation;
use super::selection::{Selection, store};
use anyhow::{Context, Result, ensure};
use bub_audit::{AuditFolder, Head};
use bub_config::Config;
use bub_tape::{CHAIN, Store, sidecar_name};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// Entries that are held at once.
const PAGE: usize = 256;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// Format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// JSON lines: each entry of tapes and sidecars, each record of a chain, each signed head and each public key
    #[default]
    Jsonl,
    /// An in-toto statement about the heads of the chains, in a signed DSSE envelope
    InToto,
    /// The same statement as a COSE_Sign1 message, in CBOR
    Cose,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    ensure!(
        arguments.format != Format::Cose || !std::io::stdout().is_terminal(),
        "`--format cose` writes bytes that a terminal cannot show: redirect them to a file, as in `> heads.cose`"
    );
    let folder = AuditFolder::new(config.audit_dir());
    let location = TapeLocation::open(config, workspace).await?;
    let tapes = arguments.selection.tapes(&location, &[]).await?;
    let mut out = std::io::stdout().lock();
    if arguments.format != Format::Jsonl {
        let mut heads = Vec::new();
        for tape in tapes {
            let report = bub_audit::verify(&*store(&location)?, &tape, &[]).await?;
            ensure!(
                report.faults.is_empty(),
                "tape `{tape}` does not fit its chain: see `bub-wasm audit verify {tape}`"
            );
            let of =
                |head: bub_audit::record::PastChain| Head { tape, chain: head.chain, seq: head.seq, hash: head.hash };
            heads.extend(report.head.map(of));
        }
        ensure!(!heads.is_empty(), "no tape has a chain yet; `bub-wasm audit sign` begins one");
        if arguments.format == Format::Cose {
            let message = bub_audit::cose(&folder, &heads);
            out.write_all(
                &message.with_context(|| format!("the key in `{}` cannot be used", folder.path().display()))?,
            )?;
            return Ok(ExitCode::SUCCESS);
        }
        let envelope = bub_audit::envelope(&folder, &heads);
        let envelope = envelope.with_context(|| format!("the key in `{}` cannot be used", folder.path().display()))?;
        writeln!(out, "{envelope:#}")?;
        return Ok(ExitCode::SUCCESS);
    }
    for tape in &tapes {
        let store = store(&location)?;
        let mut parts = vec![tape.clone()];
        parts.extend(store.sidecars(tape).await?);
        parts.push(sidecar_name(tape, CHAIN)?);
        for part in parts {
            entries(&mut out, &*store, tape, &part).await?;
        }
    }
    let keys = folder.keys()?;
    for key in &keys.keys {
        writeln!(out, "{}", json!({ "key": key }))?;
    }
    for head in folder.heads(&keys)?.heads.iter().filter(|head| tapes.contains(&head.tape)) {
        writeln!(out, "{}", json!({ "head": head }))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the entries of a tape or a sidecar, with their payloads as they are.
async fn entries(out: &mut impl Write, store: &dyn Store, tape: &str, part: &str) -> Result<()> {
    let mut after = 0;
    loop {
        let page = store.read(part, after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.id;
        for entry in &page {
            let sidecar = part.strip_prefix(tape).and_then(|rest| rest.strip_prefix("__sidecar__"));
            let (tape, sidecar) = (json!(tape), sidecar.map_or(Value::Null, Value::from));
            let sum = json!(bub_audit::entry_digest(entry));
            let line = entry.line();
            writeln!(out, r#"{{"tape": {tape}, "sidecar": {sidecar}, "sha256": {sum}, "entry": {line}}}"#)?;
        }
    }
}
