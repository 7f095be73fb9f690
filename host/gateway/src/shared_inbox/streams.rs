//! The streams of turns, for readers at other workers.

use super::{Result, SharedInbox};
use crate::turn_feed::{Chunk, StreamItem};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Rows of one read.
const MAX_ROWS: i64 = 64;

/// Items that another worker has written.
pub(crate) struct StreamRow {
    pub(crate) id: i64,
    pub(crate) turn: String,
    pub(crate) chunk: Chunk,
}

impl SharedInbox {
    /// Asks for the streams of a tape's turns, from now on and for so long. Returns the last row of a turn that has ended.
    pub(crate) async fn follow(&self, tape: &str, how_long: Duration) -> Result<i64> {
        let rows = self.write("SELECT follow_1($1, $2)", &[&tape, &how_long.as_secs_f64()]).await?;
        Ok(rows.first().map(|row| row.try_get(0)).transpose()?.unwrap_or_default())
    }

    /// Writes items of a turn.
    pub(crate) async fn write_stream(
        &self,
        tape: &str,
        turn: &str,
        (first, items): (u64, &[Arc<StreamItem>]),
        is_last: bool,
    ) -> Result<()> {
        let first = i64::try_from(first)?;
        let items: Vec<&StreamItem> = items.iter().map(|item| &**item).collect();
        let items = serde_json::to_vec(&items)?;
        // Written twice it is read once: the items have positions.
        let statement = "SELECT stream_1($1, $2, $3, $4, $5)";
        self.write(statement, &[&tape, &turn, &first, &items, &is_last]).await.map(drop)
    }

    /// The rows after `after` that other workers have written of a tape's turns.
    pub(crate) async fn stream(&self, tape: &str, after: i64) -> Result<Vec<StreamRow>> {
        let statement =
            "SELECT id, turn, first, items, is_last FROM stream WHERE tape = $1 AND id > $2 ORDER BY id LIMIT $3";
        let rows = self.rows(statement, &[&tape, &after, &MAX_ROWS]).await?;
        let row = |row: &bub_postgres::Row| {
            let first: i64 = row.try_get(2)?;
            let items: Vec<Arc<StreamItem>> =
                serde_json::from_slice::<Vec<StreamItem>>(row.try_get(3)?)?.into_iter().map(Arc::new).collect();
            let chunk = Chunk { first: u64::try_from(first)?, items, is_last: row.try_get(4)? };
            Ok(StreamRow { id: row.try_get(0)?, turn: row.try_get(1)?, chunk })
        };
        rows.iter().map(row).collect()
    }

    /// The tapes whose turns are followed at some worker.
    pub(crate) async fn followed(&self) -> Result<HashSet<String>> {
        let rows = self.rows("SELECT tape FROM follower WHERE until > clock_timestamp()", &[]).await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }
}
