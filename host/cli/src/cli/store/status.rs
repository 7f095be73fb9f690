//! `store status`.

use super::super::text;
use super::address::StoreAddress;
use anyhow::Result;
use bub_config::Config;
use bub_postgres::status::{self, SchemaStatus};
use bub_tape::transfer::Transfer;
use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;

/// Names that are requested at once.
const NAMES: usize = 1000;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// `files`, `files:DIR`, `sqlite:PATH` or `postgres://HOST/NAME` [default: `tape_store` of config.toml]
    #[arg(value_name = "STORE")]
    store: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How many names of each kind a store holds.
#[derive(Default)]
struct Counts {
    tapes: u64,
    sidecars: u64,
    archives: u64,
}

pub(super) async fn run(arguments: &Arguments, config: &Config) -> Result<ExitCode> {
    let address = StoreAddress::parse(arguments.store.as_deref(), config)?;
    let schema = match &address {
        StoreAddress::Postgres(name) => Some(status::schema(config.database(name)?).await?),
        StoreAddress::Files(_) | StoreAddress::Sqlite(_) => None,
    };
    let is_usable = schema.as_ref().is_none_or(SchemaStatus::is_usable);
    // Counting neither makes nor extends a schema.
    let is_current = schema.as_ref().is_none_or(|schema| schema.pending.is_empty());
    let counts = match is_usable && is_current {
        true => match address.open_existing(config).await? {
            Some(store) => Some(count(&*store).await?),
            None => None,
        },
        false => None,
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", as_json(&address, schema.as_ref(), counts.as_ref()))?;
    } else {
        print(&mut out, &address, schema.as_ref(), counts.as_ref())?;
    }
    Ok(if is_usable { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn count(store: &dyn Transfer) -> Result<Counts> {
    let (mut counts, mut last) = (Counts::default(), None::<String>);
    loop {
        let page = store.holdings(last.as_deref(), NAMES).await?;
        let Some(end) = page.last() else { return Ok(counts) };
        last = Some(end.name.clone());
        for holding in &page {
            match (holding.is_archive, holding.is_tape()) {
                (true, _) => counts.archives += 1,
                (false, true) => counts.tapes += 1,
                (false, false) => counts.sidecars += 1,
            }
        }
    }
}

fn as_json(address: &StoreAddress, schema: Option<&SchemaStatus>, counts: Option<&Counts>) -> Value {
    json!({
        "store": address.to_string(),
        "kind": address.kind(),
        "schema": schema.map(|schema| json!({
            "version": schema.found.version,
            "oldest": schema.found.oldest,
            "reads": schema.reads,
            "pending": schema.pending,
            "needs_consent": schema.needs_consent,
            "usable": schema.is_usable(),
        })),
        "tapes": counts.map(|counts| counts.tapes),
        "sidecars": counts.map(|counts| counts.sidecars),
        "archives": counts.map(|counts| counts.archives),
    })
}

fn print(
    out: &mut impl Write,
    address: &StoreAddress,
    schema: Option<&SchemaStatus>,
    counts: Option<&Counts>,
) -> Result<()> {
    writeln!(out, "store: {address}")?;
    if let Some(schema) = schema {
        let (found, reads) = (schema.found, schema.reads);
        match (found.version, schema.is_usable()) {
            (0, _) => writeln!(out, "schema: none; this program makes version {reads}")?,
            (version, true) => writeln!(
                out,
                "schema: version {version}, for programs from version {} on; this program reads version {reads}",
                found.oldest
            )?,
            (version, false) => writeln!(
                out,
                "schema: version {version}, for programs from version {} on; this program reads version {reads} and \
                 cannot use it: use the program that wrote it",
                found.oldest
            )?,
        }
        writeln!(out, "{}", migrations(schema))?;
    }
    match counts {
        Some(counts) => writeln!(
            out,
            "holds: {}, {}, {}",
            text::count(counts.tapes, "tape", "tapes"),
            text::count(counts.sidecars, "sidecar", "sidecars"),
            text::count(counts.archives, "archive", "archives")
        )?,
        None if schema.is_none() => writeln!(out, "holds: nothing yet")?,
        None => {}
    }
    Ok(())
}

fn migrations(schema: &SchemaStatus) -> String {
    let versions: Vec<String> = schema.pending.iter().map(i32::to_string).collect();
    match (versions.is_empty(), schema.found.version, schema.needs_consent) {
        (true, ..) => "migrations: none are pending".to_owned(),
        (false, 0, _) => "migrations: the next start makes the tables, or `bub-wasm store migrate`".to_owned(),
        (false, _, false) => {
            format!("migrations: to {}; the next start makes them, or `bub-wasm store migrate`", versions.join(", "))
        }
        (false, _, true) => format!(
            "migrations: to {}; they exclude programs that can use the store now: end those, then run `bub-wasm store \
             migrate`",
            versions.join(", ")
        ),
    }
}
