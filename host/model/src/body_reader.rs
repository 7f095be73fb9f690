//! Bounded reading of response bodies.

use bub_types::text::cause;
use std::error::Error as StdError;
use std::fmt;

use futures_util::{Stream, StreamExt};
use reqwest::Response;
use sse_stream::{Sse, SseByteStream};

/// Maximum bytes of one answer.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// Maximum bytes of one line of a streamed answer. A line is buffered until it is complete.
const MAX_LINE: usize = 8 * 1024 * 1024;

/// Maximum bytes of an error's body.
const MAX_REFUSAL: usize = 64 * 1024;

/// Why reading ended early.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The connection failed in the middle.
    Connection(reqwest::Error),
    /// The answer, or a line of it, exceeds the maximum; the text says which.
    TooLarge(&'static str),
    /// The answer is not UTF-8, or not server-sent events.
    Malformed,
}

/// The whole body of an answer.
pub(crate) async fn whole(mut response: Response) -> Result<Vec<u8>, ReadError> {
    if response.content_length() > Some(MAX_ANSWER as u64) {
        return Err(ReadError::TooLarge(ANSWER_TOO_LARGE));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(ReadError::Connection)? {
        if bytes.len() + chunk.len() > MAX_ANSWER {
            return Err(ReadError::TooLarge(ANSWER_TOO_LARGE));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// The beginning of an error's body. Connection errors are ignored, since the status is known.
pub(crate) async fn beginning(mut response: Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_REFUSAL {
            bytes.truncate(MAX_REFUSAL);
            break;
        }
    }
    bytes
}

/// The server-sent events of an answer.
pub(crate) fn events(response: Response) -> impl Stream<Item = Result<Sse, ReadError>> + Send + Unpin + 'static {
    let mut total = 0_usize;
    let mut line = 0_usize;
    let bounded = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(ReadError::Connection)?;
        total = total.saturating_add(chunk.len());
        // Lines within one chunk are bounded by the chunk; only a line over several chunks can grow.
        line = match chunk.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) {
            Some(end) => chunk.len() - end - 1,
            None => line.saturating_add(chunk.len()),
        };
        if total > MAX_ANSWER {
            return Err(ReadError::TooLarge(ANSWER_TOO_LARGE));
        }
        if line > MAX_LINE {
            return Err(ReadError::TooLarge(LINE_TOO_LARGE));
        }
        Ok(chunk)
    });
    Box::pin(SseByteStream::new(bounded).map(|event| event.map_err(unwrap)))
}

const ANSWER_TOO_LARGE: &str = "an answer of more than 64 MiB";
const LINE_TOO_LARGE: &str = "a line of more than 8 MiB";

/// The decoder boxes our own errors.
fn unwrap(error: sse_stream::Error) -> ReadError {
    match error {
        sse_stream::Error::Body(inner) => match inner.downcast::<ReadError>() {
            Ok(broken) => *broken,
            Err(_) => ReadError::Malformed,
        },
        _ => ReadError::Malformed,
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Connection(error) => f.write_str(&cause(error)),
            ReadError::TooLarge(what) => f.write_str(what),
            ReadError::Malformed => f.write_str("malformed events"),
        }
    }
}

impl StdError for ReadError {}
