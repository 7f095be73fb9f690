//! `store copy`.

use super::super::tape::progress::Progress;
use super::super::text;
use super::address::StoreAddress;
use super::idle;
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_tape::transfer::{self, Step, Totals};
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The store to copy: `files`, `files:DIR`, `sqlite:PATH` or `postgres://HOST/NAME`
    #[arg(value_name = "FROM")]
    from: String,
    /// The store to copy to; it may have a part of the copy already, and nothing else under the same names
    #[arg(value_name = "TO")]
    to: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: &Config) -> Result<ExitCode> {
    let from = StoreAddress::parse(Some(&arguments.from), config)?;
    let to = StoreAddress::parse(Some(&arguments.to), config)?;
    if from == to {
        bail!("`{}` and `{}` are the same store", arguments.from, arguments.to);
    }
    let source = from.open_existing(config).await?.with_context(|| format!("there are no tapes in `{from}`"))?;
    idle::ensure(&from, &source, config).await?;
    if let StoreAddress::Files(dir) = &to
        && *dir == config.tapes_dir()
    {
        config.make_home()?;
    }
    let target = to.open(config).await?;
    let mut shown = Shown::default();
    let copied = transfer::copy(&*source, &*target, &mut |step, entries| shown.at(step, entries)).await;
    let copied = copied.with_context(|| format!("`{from}` was not copied to `{to}` as a whole"))?;
    let compared = transfer::compare(&*source, &*target, &mut |step, entries| shown.at(step, entries)).await?;
    drop(shown);
    let mut out = std::io::stdout().lock();
    match compared {
        Ok(all) if arguments.json => writeln!(
            out,
            "{}",
            json!({
                "from": from.to_string(), "to": to.to_string(), "tapes": all.tapes, "sidecars": all.sidecars,
                "archives": all.archives, "entries": all.entries, "written": copied.entries, "difference": null,
            })
        )?,
        Ok(all) => {
            let entries = |count| text::count(count, "entry", "entries");
            writeln!(out, "wrote {}", entries(copied.entries))?;
            writeln!(out, "compared {} of {}: all are the same", entries(all.entries), names(&all))?;
            if from.is_configured(config) {
                writeln!(out, "`tape_store = \"{}\"` in config.toml uses the copy", arguments.to)?;
            }
        }
        Err(difference) => {
            if arguments.json {
                let found = json!({ "name": difference.name, "text": difference.text });
                writeln!(out, "{}", json!({ "from": from.to_string(), "to": to.to_string(), "difference": found }))?;
                return Ok(ExitCode::FAILURE);
            }
            bail!(
                "the copy differs in {difference}: if a turn wrote to one of the stores meanwhile, copy again without it"
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn names(all: &Totals) -> String {
    let tapes = text::count(all.tapes, "tape", "tapes");
    let sidecars = text::count(all.sidecars, "sidecar", "sidecars");
    format!("{tapes}, {sidecars} and {}", text::count(all.archives, "archive", "archives"))
}

/// The progress of the present step.
#[derive(Default)]
struct Shown(Option<(Step, Progress)>);

impl Shown {
    fn at(&mut self, step: Step, entries: u64) {
        if self.0.as_ref().is_none_or(|(shown, _)| *shown != step) {
            let what = match step {
                Step::Checking => "checking",
                Step::Copying => "copying",
                Step::Verifying => "verifying",
            };
            self.0 = Some((step, Progress::new(what)));
        }
        if let Some((_, progress)) = &mut self.0 {
            progress.at(entries, None);
        }
    }
}
