//! `GET /v1/sessions/{session}/export`: `tape export` over HTTP.

use super::super::extract::{Caller, PathName, QueryParams};
use super::super::{Api, ApiError};
use super::by_session;
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bub_tape::{Cursor, Query, markdown};
use bytes::Bytes;
use futures_util::stream;
use serde::Deserialize;
use std::sync::Arc;

/// Entries that are in memory at once.
const PAGE: usize = 64;

/// Characters of a session's id in the name of a file.
const MAX_NAME: usize = 80;

/// The format of an export.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// The conversation, for people.
    #[default]
    Markdown,
    /// The lines of the tape.
    Jsonl,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ExportParams {
    #[serde(default)]
    format: Format,
}

/// Streams a session as a file.
pub(crate) async fn export(
    Caller { api, bearer }: Caller,
    PathName(session): PathName,
    QueryParams(ExportParams { format }): QueryParams<ExportParams>,
) -> Result<Response, ApiError> {
    let (session, tape) = by_session(&api, &bearer, session).await?;
    let cursor = tape.cursor(&Query::default()).await?;
    let mut export = Export { api, cursor, format };
    // An error of the first page is reported as such; a later one ends the connection.
    let title = match format {
        Format::Markdown => markdown::title(&format!("Session {session}")),
        Format::Jsonl => String::new(),
    };
    let first = title + &export.next().await?.unwrap_or_default();
    let pages = stream::unfold((Some(first), export), async |(first, mut export)| {
        let page = match first {
            Some(first) => Some(Ok(first)),
            None => export.next().await.transpose(),
        };
        Some((page?.map(Bytes::from), (None, export)))
    });
    let (kind, end) = match format {
        Format::Markdown => ("text/markdown; charset=utf-8", "md"),
        Format::Jsonl => ("application/jsonl", "jsonl"),
    };
    let disposition = format!("attachment; filename=\"{}.{end}\"", file_name(&session));
    Ok((
        [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, disposition)],
        Body::from_stream(pages),
    )
        .into_response())
}

/// An export while it is read.
struct Export {
    api: Arc<Api>,
    cursor: Cursor,
    format: Format,
}

impl Export {
    /// The next part; `None` at the end.
    async fn next(&mut self) -> bub_tape::Result<Option<String>> {
        let _permit = self.api.scan_permit().await;
        let entries = self.cursor.next(PAGE).await?;
        let text = entries.iter().map(|entry| match self.format {
            Format::Markdown => markdown::entry(entry),
            Format::Jsonl => entry.line() + "\n",
        });
        Ok((!entries.is_empty()).then(|| text.collect()))
    }
}

/// A session's id as the name of a file.
fn file_name(session: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    session.chars().take(MAX_NAME).map(plain).collect()
}
