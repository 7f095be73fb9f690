//! `open`: prints a link that logs a browser in to the page of `serve`.

use super::text;
use anyhow::Result;
use bub_config::Config;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Log in as this token of config.toml [default: the owner's]
    #[arg(long, value_name = "NAME")]
    token: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, config: &Config) -> Result<ExitCode> {
    let origin = bub_server::running_origin(&config.home)?;
    let code = bub_server::issue_code(config, arguments.token.as_deref())?;
    let link = bub_server::login_link(&origin, &code);
    let minutes = bub_server::CODE_LIFETIME.as_mins();
    let mut out = std::io::stdout().lock();
    match arguments.json {
        true => writeln!(out, "{}", text::json(&json!({ "link": link, "minutes": minutes })))?,
        false => {
            writeln!(out, "{link}")?;
            // The link alone is on stdout, for scripts.
            writeln!(std::io::stderr(), "the link can be used once, within {minutes} minutes")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
