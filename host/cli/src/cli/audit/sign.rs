//! `audit sign`.

use super::super::tape::TapeLocation;
use super::super::text;
use super::selection::{Selection, store, title};
use anyhow::{Context, Result, ensure};
use bub_audit::{AuditFolder, ChainedStore};
use bub_config::Config;
use bub_runtime::host::HeadDelivery;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    ensure!(
        config.chains_entries(),
        "entries are not chained; `chain = true` in `[audit]` of config.toml turns that on"
    );
    let folder = AuditFolder::new(config.audit_dir());
    let delivery = HeadDelivery::new(&config);
    let location = TapeLocation::open(config, workspace).await?;
    let mut signed = Vec::new();
    let mut out = std::io::stdout().lock();
    for tape in arguments.selection.tapes(&location, &[]).await? {
        let store = store(&location)?;
        // A plugin that keeps the tapes has no chain.
        let base = store.base().context("the plugin that keeps the tapes has no chain of them")?;
        let chained = ChainedStore::new(Arc::clone(base), None);
        let Some(head) = chained.complete(&tape).await? else { continue };
        folder.sign(&head).with_context(|| format!("`{}`", folder.path().display()))?;
        match arguments.json {
            true => signed.push(json!({ "tape": head.tape, "chain": head.chain, "seq": head.seq, "hash": head.hash })),
            false => writeln!(out, "{}: signed at record {}", title(&location, &tape).await, head.seq)?,
        }
    }
    let delivered = delivery.run(false).await?;
    if arguments.json {
        writeln!(out, "{:#}", json!({ "signed": signed, "delivered": delivered }))?;
    } else if let Some(count) = delivered.filter(|count| *count > 0) {
        writeln!(out, "the witness has got {}", text::count(count, "signed head", "signed heads"))?;
    }
    Ok(ExitCode::SUCCESS)
}
