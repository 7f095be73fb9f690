//! `bub:model/usage`: what model calls have used.

use crate::guest::State;
use crate::guest::bindings::usage::{Host, Row};
use crate::guest::handles::TurnHandle;
use crate::host;
use bub_model::usage::{Session, Sum};
use bub_permissions::Grant;
use bub_types::{Error, ErrorKind};
use std::sync::Arc;
use wasmtime::Result;
use wasmtime::component::Resource;

/// The most days that a guest may ask for.
const MOST_DAYS: u32 = 366;

/// The most rows that it gets: the models that used least are one row together.
const MOST_ROWS: usize = 64;

/// The name of that row.
const OTHERS: &str = "others";

impl Host for State {
    async fn session(&mut self, turn: Resource<TurnHandle>, days: u32) -> Result<Result<Vec<Row>, Error>> {
        if let Err(refusal) = self.granted(&Grant::USAGE) {
            return Ok(Err(refusal));
        }
        let turn = self.turn_of(&turn)?;
        let session = Session::new(turn.billed_session(), &turn.workspace.to_string_lossy());
        Ok(rows(self.host.clone(), days.clamp(1, MOST_DAYS), Some(session)).await)
    }

    async fn today(&mut self) -> Result<Result<Vec<Row>, Error>> {
        if let Err(refusal) = self.granted(&Grant::USAGE) {
            return Ok(Err(refusal));
        }
        Ok(rows(self.host.clone(), 1, None).await)
    }

    async fn daily_limit(&mut self) -> Result<Result<Option<u64>, Error>> {
        Ok(self.granted(&Grant::USAGE).map(|()| self.host.config.budget.tokens_per_day))
    }
}

/// A row a model, most tokens first.
async fn rows(host: Arc<host::Host>, days: u32, of: Option<Session>) -> std::result::Result<Vec<Row>, Error> {
    let report = host
        .budget
        .usage()
        .report(days, of, false)
        .await
        .map_err(|why| Error::new(ErrorKind::Temporary, format!("what models have used cannot be read: {why}")))?;
    let mut rows: Vec<Row> = report.models.into_iter().map(|(model, sum)| row(model, sum)).collect();
    if rows.len() > MOST_ROWS {
        let others = rows.split_off(MOST_ROWS - 1).into_iter().reduce(together);
        rows.extend(others.map(|others| Row { model: OTHERS.to_owned(), ..others }));
    }
    Ok(rows)
}

fn row(model: String, sum: Sum) -> Row {
    Row {
        model,
        calls: sum.calls,
        estimated: sum.estimated,
        prompt: sum.prompt,
        cached: sum.cached,
        completion: sum.completion,
        total: sum.total,
    }
}

fn together(a: Row, b: Row) -> Row {
    Row {
        model: a.model,
        calls: a.calls.saturating_add(b.calls),
        estimated: a.estimated.saturating_add(b.estimated),
        prompt: a.prompt.saturating_add(b.prompt),
        cached: a.cached.saturating_add(b.cached),
        completion: a.completion.saturating_add(b.completion),
        total: a.total.saturating_add(b.total),
    }
}
