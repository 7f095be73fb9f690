//! Rows of messages and answers.

use crate::inbox::target;
use crate::inbox::{Accepted, NewMessage, Outbound, PendingMessage};
use anyhow::{Context, Result, bail};
use bub_postgres::Row;
use bub_types::Envelope;
use sha2::{Digest, Sha256};
use std::time::SystemTime;

/// Columns of new messages, an element for each.
#[derive(Default)]
pub(super) struct NewRows {
    pub(super) keys: Vec<Option<Vec<u8>>>,
    pub(super) envelopes: Vec<Vec<u8>>,
    pub(super) checksums: Vec<Vec<u8>>,
    pub(super) identities: Vec<Option<Vec<u8>>>,
    pub(super) actives: Vec<bool>,
}

impl NewRows {
    pub(super) fn new(messages: Vec<NewMessage>) -> Self {
        let mut new = Self::default();
        for NewMessage { message, identity, is_active, .. } in messages {
            let envelope = json(&message);
            let key = message.id.as_ref().map(|id| digest([message.channel.as_bytes(), id.as_bytes()]));
            new.keys.push(key);
            new.checksums.push(digest([&envelope]));
            new.envelopes.push(envelope);
            new.identities.push(identity.as_ref().map(json));
            new.actives.push(is_active);
        }
        new
    }
}

/// The digest of an answer's chat.
pub(super) fn chat(message: &Envelope) -> Vec<u8> {
    digest([target(message).as_bytes(), message.chat_id.as_bytes()])
}

/// A digest of texts, with their lengths, so that the end of one is not the beginning of the next.
fn digest<'a>(texts: impl IntoIterator<Item = &'a (impl AsRef<[u8]> + ?Sized + 'a)>) -> Vec<u8> {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update((text.as_ref().len() as u64).to_be_bytes());
        digest.update(text);
    }
    digest.finalize().to_vec()
}

/// None of these types can fail to be JSON.
pub(super) fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// The text in a column of bytes.
pub(super) fn bytes(row: &Row, column: usize) -> Result<String> {
    String::from_utf8(row.try_get(column)?).context("a column of the database is no text")
}

/// A count.
pub(super) fn number_of(row: &Row, column: usize) -> Result<usize> {
    Ok(usize::try_from(row.try_get::<_, i64>(column)?).unwrap_or_default())
}

pub(super) fn parsed<T: serde::de::DeserializeOwned>(row: &Row, column: usize) -> Result<T> {
    serde_json::from_slice(row.try_get(column)?).context("a message in the database is damaged")
}

/// Whether `accept_1` has refused to write.
pub(super) fn is_fenced(rows: &[Row]) -> bool {
    rows.first().is_some_and(|row| row.try_get(0).is_ok_and(|verdict: &str| verdict == "fenced"))
}

/// A row of `accept_1`.
pub(super) fn accepted(row: &Row) -> Result<Accepted> {
    let verdict: &str = row.try_get(0)?;
    let number = || row.try_get(1);
    Ok(match verdict {
        "new" | "started" => {
            Accepted::New { number: number()?, place: row.try_get(2)?, has_begun: verdict == "started" }
        }
        "pending" => Accepted::Pending(number()?),
        "done" => {
            let outcome: Option<&[u8]> = row.try_get(3)?;
            Accepted::Done(outcome.and_then(|outcome| serde_json::from_slice(outcome).ok()))
        }
        "conflict" => Accepted::Conflict,
        other => bail!("the database returned `{other}` for a message"),
    })
}

/// A row of messages that were adopted.
pub(super) fn pending(row: &Row) -> Result<PendingMessage> {
    let identity: Option<&[u8]> = row.try_get(2)?;
    let accepted: SystemTime = row.try_get(4)?;
    Ok(PendingMessage {
        number: row.try_get(0)?,
        message: parsed(row, 1)?,
        identity: identity.and_then(|identity| serde_json::from_slice(identity).ok()),
        is_active: row.try_get(3)?,
        accepted_at: jiff::Timestamp::try_from(accepted).context("a date in the database is invalid")?.to_string(),
        leader: row.try_get(5)?,
        place: row.try_get(6)?,
    })
}

/// A row of answers that were adopted.
pub(super) fn outbound(row: &Row) -> Result<Outbound> {
    let handle: Option<&[u8]> = row.try_get(3)?;
    Ok(Outbound {
        key: row.try_get(0)?,
        message: parsed(row, 1)?,
        is_uncertain: row.try_get::<_, i16>(2)? == 1,
        handle: handle.map(|handle| String::from_utf8_lossy(handle).into_owned()),
        queued_at: bytes(row, 4)?.parse().context("a date in the database is invalid")?,
    })
}
