//! Rows of messages and outbounds.

use super::upgrade;
use crate::inbox::{Accepted, NewMessage, Outbound, PendingMessage};
use bub_types::Envelope;
use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

/// Stores a message unless its id is known.
pub(super) fn accept(connection: &Connection, new: &NewMessage) -> rusqlite::Result<Accepted> {
    let NewMessage { message, identity, is_active, .. } = new;
    let text = json(message);
    let checksum = format!("{:08x}", crc32fast::hash(text.as_bytes()));
    let sql = "SELECT number, state, answer, print FROM message WHERE channel = ?1 AND id = ?2";
    let known = connection.prepare_cached(sql)?.query_row(params![message.channel, message.id], |row| {
        let (number, state, outcome) = (row.get(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?);
        Ok(match row.get::<_, String>(3)? == checksum {
            false => Accepted::Conflict,
            true if state == "done" => Accepted::Done(outcome.and_then(|outcome| serde_json::from_str(&outcome).ok())),
            true => Accepted::Pending(number),
        })
    });
    if let Some(known) = known.optional()? {
        return Ok(known);
    }
    let sql = "INSERT INTO message (channel, id, envelope, print, speaker, active, state, taken)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'accepted', ?7)";
    let identity = identity.as_ref().map(json);
    let now = Timestamp::now().to_string();
    let row = params![message.channel, message.id, text, checksum, identity, is_active, now];
    connection.prepare_cached(sql)?.execute(row)?;
    Ok(Accepted::New { number: connection.last_insert_rowid(), place: None, has_begun: false })
}

/// Stores an answer to deliver.
pub(super) fn insert_outbound(connection: &Connection, outbound: &Outbound) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO outbound (key, envelope, state, handle, queued) VALUES (?1, ?2, 'ready', ?3, ?4)";
    let Outbound { key, message, handle, queued_at, .. } = outbound;
    connection.prepare_cached(sql)?.execute(params![key, json(message), handle, queued_at.to_string()]).map(drop)
}

/// The messages whose turns have not ended, in order.
pub(super) fn pending(connection: &Connection) -> rusqlite::Result<Vec<PendingMessage>> {
    let sql = "SELECT number, envelope, speaker, active, taken, leader FROM message
               WHERE state <> 'done' ORDER BY number";
    let pending = |row: &Row<'_>| {
        Ok(PendingMessage {
            number: row.get(0)?,
            message: envelope(row, true)?,
            identity: row.get::<_, Option<String>>(2)?.and_then(|identity| serde_json::from_str(&identity).ok()),
            is_active: row.get(3)?,
            accepted_at: row.get(4)?,
            leader: row.get(5)?,
            place: None,
        })
    };
    connection.prepare(sql)?.query_map([], pending)?.collect()
}

/// The answers to deliver, in order.
pub(super) fn outbounds(connection: &Connection) -> rusqlite::Result<Vec<Outbound>> {
    let sql = "SELECT key, envelope, state, handle, queued FROM outbound WHERE state <> 'dead' ORDER BY rowid";
    let outbound = |row: &Row<'_>| {
        Ok(Outbound {
            key: row.get(0)?,
            message: envelope(row, false)?,
            is_uncertain: row.get::<_, String>(2)? == "sending",
            handle: row.get(3)?,
            queued_at: row.get::<_, String>(4)?.parse().map_err(|error| conversion_error(4, error))?,
        })
    };
    connection.prepare(sql)?.query_map([], outbound)?.collect()
}

fn envelope(row: &Row<'_>, is_inbound: bool) -> rusqlite::Result<Envelope> {
    upgrade::envelope(&row.get::<_, String>(1)?, is_inbound).map_err(|error| conversion_error(1, error))
}

fn conversion_error(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}

/// None of these types can fail to be JSON.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
