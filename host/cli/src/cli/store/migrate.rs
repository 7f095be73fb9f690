//! `store migrate`.

use super::address::StoreAddress;
use anyhow::Result;
use bub_config::Config;
use bub_postgres::status;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// `postgres://HOST/NAME`; other stores have no migrations [default: `tape_store` of config.toml]
    #[arg(value_name = "STORE")]
    store: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: &Config) -> Result<ExitCode> {
    let address = StoreAddress::parse(arguments.store.as_deref(), config)?;
    let versions = match &address {
        StoreAddress::Postgres(name) => {
            let (before, after) = status::migrate(config.database(name)?).await?;
            Some((before.found.version, after.found.version))
        }
        StoreAddress::Files(_) | StoreAddress::Sqlite(_) => None,
    };
    let mut out = std::io::stdout().lock();
    match versions {
        _ if arguments.json => {
            let (from, to) = versions.unzip();
            writeln!(out, "{}", json!({ "store": address.to_string(), "from": from, "to": to }))?;
        }
        None => writeln!(out, "`{address}` has no migrations")?,
        Some((from, to)) if from == to => writeln!(out, "`{address}` has version {to} already")?,
        Some((from, to)) => writeln!(out, "`{address}` was migrated from version {from} to version {to}")?,
    }
    Ok(ExitCode::SUCCESS)
}
