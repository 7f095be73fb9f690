//! `usage`: the tokens of model calls.

mod table;

use super::text;
use anyhow::Result;
use bub_config::Config;
use bub_model::usage::{Report, Session, Sum};
use bub_runtime::host::{Usage, introspection};
use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Number of days to include, counting today
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
    /// Show only this grouping
    #[arg(long, value_name = "WHAT")]
    by: Option<By>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The grouping of calls.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum By {
    Model,
    Session,
    Day,
}

impl Arguments {
    fn wants(&self, by: By) -> bool {
        self.by.is_none_or(|only| only == by)
    }
}

pub(super) async fn run(arguments: &Arguments, config: &Config) -> Result<ExitCode> {
    let usage = Usage::open(config).await?;
    let place = usage.place();
    let wrong = |why: String| anyhow::anyhow!("what models have used cannot be read in `{place}`: {why}");
    let report = usage.report(arguments.days, None, arguments.wants(By::Session)).await.map_err(wrong)?;
    // Asked for before anything is printed.
    let used_today = match arguments.json || config.budget.tokens_per_day.is_some() {
        true => usage.used_today().await.map_err(wrong)?,
        false => 0,
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let all = json(arguments, &report, used_today, config);
        writeln!(out, "{}", text::json_line(&all.to_string()))?;
        return Ok(ExitCode::SUCCESS);
    }
    if report.total.calls == 0 {
        let (first, last) = (report.first, report.last);
        writeln!(std::io::stderr(), "no model was called from {first} to {last}")?;
    } else {
        print(&mut out, arguments, &report)?;
    }
    if let Some(limit) = config.budget.tokens_per_day {
        let used = bub_types::text::grouped(used_today);
        writeln!(out, "today: {used} tokens of {} (budget.tokens_per_day)", bub_types::text::grouped(limit))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn json(arguments: &Arguments, report: &Report, used: u64, config: &Config) -> Value {
    let budget = json!({ "tokens_per_day": config.budget.tokens_per_day, "used_today": used });
    let mut all = introspection::usage(report, &budget, &config.prices);
    for (by, key) in [(By::Model, "models"), (By::Session, "sessions"), (By::Day, "days")] {
        if !arguments.wants(by)
            && let Some(all) = all.as_object_mut()
        {
            all.remove(key);
        }
    }
    if arguments.by.is_some()
        && let Some(all) = all.as_object_mut()
    {
        all.remove("rows");
    }
    all
}

fn print(out: &mut impl Write, arguments: &Arguments, report: &Report) -> Result<()> {
    let mut tables = Vec::new();
    if arguments.wants(By::Model) {
        tables.push(("model", report.models.iter().map(|(model, used)| (model.clone(), used)).collect()));
    }
    if arguments.wants(By::Session) {
        tables.push(("session", sessions(report)));
    }
    if arguments.wants(By::Day) {
        tables.push(("day", report.days.iter().map(|(day, used)| (day.to_string(), used)).collect()));
    }
    for (at, (what, rows)) in tables.into_iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        writeln!(out, "tokens by {what}, {} to {}", report.first, report.last)?;
        table::print(out, rows, &report.total)?;
    }
    if report.total.estimated > 0 {
        let calls = text::count(report.total.estimated, "call", "calls");
        writeln!(out, "{calls} without reported usage: tokens estimated at four bytes a token")?;
    }
    Ok(())
}

/// The directory is omitted if it is the same for all.
fn sessions(report: &Report) -> Vec<(String, &Sum)> {
    let mut workspaces = report.sessions.iter().map(|(session, _)| &session.workspace);
    let first = workspaces.next();
    let is_one = workspaces.all(|workspace| Some(workspace) == first);
    let name = |session: &Session| match is_one {
        true => session.id.clone(),
        false => format!("{} in {}", session.id, session.workspace),
    };
    report.sessions.iter().map(|(session, used)| (name(session), used)).collect()
}
