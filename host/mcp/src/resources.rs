//! Tapes as resources: `bub://sessions/ID`, in pages of lines of JSON.

use super::handler::storage;
use bub_runtime::host::{Host, ListedSession};
use bub_tape::{Entry, Tape, tape_name};
use bub_types::text::{clipped, escaped, one_line};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::ErrorData;
use rmcp::model::{MetaObject, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::Value;
use std::sync::Arc;

/// What the address of a tape begins with.
const PREFIX: &str = "bub://sessions/";

const TEMPLATE: &str = "bub://sessions/{session}{?after,before,max}";

/// Entries are lines of JSON.
const MIME: &str = "application/jsonl";

/// Entries of one page.
const MAX_ENTRIES: usize = 256;

/// Bytes of one page, unless one entry alone is longer.
const MAX_BYTES: usize = 1 << 20;

/// Entries that are read at once, so that little is read in vain from a tape of long entries.
const STEP: usize = 32;

/// The longest address, in bytes.
const MAX_URI: usize = 2048;

/// The key of a page's meta that has the address of the next one.
const NEXT: &str = "bub-wasm/next";

/// What stands in a session's id as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':');

/// A session as a resource.
pub(crate) fn of_session(session: &ListedSession) -> Resource {
    let ListedSession { id, about } = session;
    let mut resource = Resource::new(address(id), one_line(id)).with_mime_type(MIME);
    // Both are the words of a user.
    if let Some(title) = about.name.as_ref().or(about.first_words.as_ref()) {
        resource = resource.with_title(clipped(&one_line(title), 100));
    }
    let date = about.date.as_deref().unwrap_or_default();
    resource.with_description(format!("{} entries, the last of {date}", about.entries))
}

pub(crate) fn template() -> ResourceTemplate {
    let about = format!(
        "Entries of a session's tape as lines of JSON: the newest ones, or those after or before an id; at most \
         {MAX_ENTRIES} of them. `{NEXT}` in the meta is the address of the next page"
    );
    ResourceTemplate::new(TEMPLATE, "session").with_description(about).with_mime_type(MIME)
}

fn address(session: &str) -> String {
    format!("{PREFIX}{}", utf8_percent_encode(session, PLAIN))
}

/// The part of a tape that an address names.
pub(crate) struct Wanted {
    pub(crate) session: String,
    after: Option<u64>,
    before: Option<u64>,
    max: usize,
}

impl Wanted {
    /// # Errors
    ///
    /// It is no address of a tape.
    pub(crate) fn parse(uri: &str) -> Result<Self, ErrorData> {
        let wrong = |reason: &str| {
            let uri = escaped(uri, 100);
            ErrorData::invalid_params(format!("`{uri}` {reason}; tapes are `{TEMPLATE}`"), None)
        };
        let rest = uri.strip_prefix(PREFIX).filter(|_| uri.len() <= MAX_URI).ok_or_else(|| wrong("is no resource"))?;
        let (id, query) = rest.split_once('?').unwrap_or((rest, ""));
        let session = percent_decode_str(id).decode_utf8().map_err(|_| wrong("is not UTF-8"))?.into_owned();
        if session.is_empty() {
            return Err(wrong("names no session"));
        }
        let mut wanted = Self { session, after: None, before: None, max: MAX_ENTRIES };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let number = |text: &str| text.parse::<u64>().map_err(|_| wrong("has a parameter that is no number"));
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("after", id) => wanted.after = Some(number(id)?),
                ("before", id) => wanted.before = Some(number(id)?),
                ("max", count) => {
                    wanted.max = usize::try_from(number(count)?).unwrap_or(MAX_ENTRIES).clamp(1, MAX_ENTRIES);
                }
                _ => return Err(wrong("has an unknown parameter")),
            }
        }
        if wanted.after.is_some() && wanted.before.is_some() {
            return Err(wrong("has `after` and `before`"));
        }
        Ok(wanted)
    }

    fn address(&self, key: &str, id: u64) -> String {
        format!("{}?{key}={id}&max={}", address(&self.session), self.max)
    }
}

/// A page of a tape.
pub(crate) async fn read(host: &Arc<Host>, uri: &str, wanted: &Wanted) -> Result<ReadResourceResult, ErrorData> {
    let tape = host.tapes().open(&tape_name(&host.workspace, &wanted.session)).map_err(storage)?.without_forgotten();
    if tape.last_id().await.map_err(storage)? == 0 {
        let session = escaped(&wanted.session, 100);
        return Err(ErrorData::resource_not_found(format!("there is no session `{session}`"), None));
    }
    let (entries, next) = page(&tape, wanted).await.map_err(storage)?;
    let lines: String = entries.iter().map(|entry| entry.line() + "\n").collect();
    let mut contents = ResourceContents::text(lines, uri).with_mime_type(MIME);
    if let Some(next) = next {
        let mut meta = MetaObject::new();
        meta.0.insert(NEXT.to_owned(), Value::from(next));
        contents = contents.with_meta(meta);
    }
    Ok(ReadResourceResult::new(vec![contents]))
}

/// Entries, oldest first, and the address of the next page in the same direction.
async fn page(tape: &Tape, wanted: &Wanted) -> bub_tape::Result<(Vec<Entry>, Option<String>)> {
    let (mut entries, mut bytes) = (Vec::<Entry>::new(), 0);
    let mut has_more = false;
    'pages: loop {
        // One entry more than there is room for shows whether there are more.
        let step = STEP.min(wanted.max + 1 - entries.len());
        let last = entries.last().map(|entry| entry.id);
        let found = match wanted.after {
            Some(after) => tape.read(last.unwrap_or(after), step).await?,
            None => {
                let mut tail = tape.tail(last.or(wanted.before), step).await?;
                tail.reverse();
                tail
            }
        };
        let is_end = found.len() < step;
        for entry in found {
            bytes += entry.payload.len() + entry.meta.len() + 128;
            if entries.len() == wanted.max || (bytes > MAX_BYTES && !entries.is_empty()) {
                has_more = true;
                break 'pages;
            }
            entries.push(entry);
        }
        if is_end {
            break;
        }
    }
    let last = entries.last().map(|entry| entry.id).filter(|_| has_more);
    let key = if wanted.after.is_some() { "after" } else { "before" };
    if wanted.after.is_none() {
        entries.reverse();
    }
    Ok((entries, last.map(|last| wanted.address(key, last))))
}
