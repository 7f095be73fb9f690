//! Tool results that are too long for a conversation: they go to a sidecar of the tape, and the conversation gets their
//! beginning, their end, and how to read the rest. The entries are Bub's.

use crate::plugin::model_name;
use crate::turn::Turn;
use bub_tape::{Draft, Tape, handoff, json};
use bub_types::MessageKind;
use bub_types::plugin_name::SPILL;
use bub_types::text::grouped;
use serde_json::{Value, json};
use std::hash::{BuildHasher, Hasher, RandomState};

/// The tool that reads the sidecar, whose results are never spilled again.
const READER: &str = "spill.read";

/// Bytes of a chunk, at most: it ends at a character.
const CHUNK: usize = 16_384;

/// Entries that are written at once.
const MAX_BATCH: usize = 32;

/// Characters that are shown of the beginning and of the end.
const SHOWN: usize = 300;

/// The text that the caller gets in place of a tool's result: the result, unless it is too long.
pub(super) async fn replace_new_messages(turn: &Turn, tool: &str, result: String) -> String {
    let limit = turn.scope.host.config.spill_chars();
    // A person who gives a command reads all of it. A character is a byte at least.
    if turn.kind() == MessageKind::Command || limit == 0 || result.len() < limit || tool == READER {
        return result;
    }
    let text = match serde_json::from_str(&result) {
        Ok(Value::String(text)) => {
            // Escaped it may be six times as long, and is not wanted any more.
            drop(result);
            text
        }
        _ => result,
    };
    if text.chars().count() < limit {
        return Value::String(text).to_string();
    }
    let chunks = chunks(&text);
    let (bytes, count) = (grouped(text.len() as u64), chunks.len());
    let shown = preview(&text);
    Value::String(match keep(turn, tool, &text, &chunks).await {
        Ok(handle) => format!(
            "[tool output spilled: {bytes} bytes in {count} chunks; handle: {handle}]\n\
             [read with: spill_read(handle='{handle}', cursor=0, count=1, from_end=False)]\n{shown}"
        ),
        Err(error) => {
            tracing::warn!("the result of `{}` cannot be put away: {error}", model_name(tool));
            format!("[tool output truncated: {bytes} bytes; spill storage failed]\n{shown}")
        }
    })
    .to_string()
}

/// Writes the chunks beside the tape, and says on the tape that it did.
async fn keep(turn: &Turn, tool: &str, text: &str, chunks: &[&str]) -> bub_tape::Result<String> {
    let handle: String = (0..2).map(|_| format!("{:016x}", RandomState::new().build_hasher().finish())).collect();
    let run_id = turn.last_run_id();
    let with_run = |meta: Value| match (&run_id, meta) {
        (Some(id), Value::Object(mut meta)) => {
            meta.insert("run_id".to_owned(), Value::from(id.as_str()));
            Value::Object(meta).to_string()
        }
        (_, meta) => meta.to_string(),
    };
    let tape: Tape = turn.tape().await?;
    let sidecar = tape.sidecar(SPILL)?;
    let mut drafts = Vec::new();
    for (at, chunk) in chunks.iter().enumerate() {
        drafts.push(anchor(&format!("spill/{handle}/chunk/{at}"))?);
        let meta = json!({ "spill_handle": handle, "spill_chunk": at }).to_string();
        drafts.push(Draft::new("tool_result", &format!(r#"{{"results": [{}]}}"#, json::quote(chunk)), &meta)?);
        // A write is held once more while it goes into the journal. They are merged together all the same.
        if drafts.len() >= MAX_BATCH {
            sidecar.append(std::mem::take(&mut drafts)).await?;
        }
    }
    drafts.push(anchor(&format!("spill/{handle}/manifest"))?);
    let manifest = json!({ "handle": handle, "chunks": chunks.len(), "bytes": text.len(), "chars": text.chars().count(),
        "lines": text.lines().count(), "tool": tool });
    let payload = json!({ "name": "spill.manifest", "data": manifest }).to_string();
    drafts.push(Draft::new("event", &payload, &with_run(json!({ "spill_handle": handle })))?);
    sidecar.append(drafts).await?;
    let data = json!({ "status": "ok", "handle": handle, "bytes": text.len(), "chunks": chunks.len(), "tool": tool });
    let payload = json!({ "name": "spill.write", "data": data }).to_string();
    let meta = match &run_id {
        Some(id) => json!({ "run_id": id, "context": false }),
        None => json!({ "context": false }),
    };
    tape.append(vec![Draft::new("event", &payload, &meta.to_string())?]).await?;
    Ok(handle)
}

fn anchor(name: &str) -> bub_tape::Result<Draft> {
    let [anchor, _] = handoff(name, None)?;
    Ok(anchor)
}

fn chunks(text: &str) -> Vec<&str> {
    let mut chunks = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (chunk, behind) = rest.split_at(rest.floor_char_boundary(CHUNK));
        chunks.push(chunk);
        rest = behind;
    }
    chunks
}

fn preview(text: &str) -> String {
    let count = text.chars().count();
    let at = |number: usize| text.char_indices().nth(number).map_or(text.len(), |(at, _)| at);
    let (head, tail) = (at(SHOWN), at(count.saturating_sub(SHOWN)));
    let omitted = grouped(count.saturating_sub(2 * SHOWN) as u64);
    format!("{}\n...[{omitted} chars omitted]...\n{}", &text[..head], &text[tail..])
}
