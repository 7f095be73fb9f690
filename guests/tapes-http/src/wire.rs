//! Entries as tape lines, byte for byte, and bodies of writes.

use bub_guest::hook::Batch;
use bub_guest::tape::Entry;
use serde_json::json;

/// The tape of a sidecar; any other tape itself.
pub fn family(tape: &str) -> &str {
    tape.split_once("__sidecar__").map_or(tape, |(family, _)| family)
}

/// The body of a write: a line for the write, then for each batch a line and one per entry, first those that a reset
/// keeps, then the new ones.
pub fn body(batches: &[Batch], key: Option<&str>) -> String {
    let all =
        || batches.iter().flat_map(|batch| batch.reset.iter().flat_map(|reset| &reset.kept).chain(&batch.entries));
    let length = all().map(|entry| entry.payload.len() + entry.meta.len() + 256).sum::<usize>();
    // Allocated once: growing would take three times the memory.
    let mut body = String::with_capacity(length + 1024 * batches.len());
    body.push_str(&format!("{}\n", json!({ "key": key, "batches": batches.len() })));
    for batch in batches {
        let reset = batch.reset.as_ref();
        let head = json!({
            "tape": batch.tape,
            "last": batch.last,
            "reset": reset.map(|reset| json!({ "archive": reset.archive, "kept": reset.kept.len() })),
            "entries": batch.entries.len(),
        });
        body.push_str(&format!("{head}\n"));
        for entry in reset.into_iter().flat_map(|reset| &reset.kept).chain(&batch.entries) {
            body.push_str(&line(entry));
            body.push('\n');
        }
    }
    body
}

/// The entry's line. Payload and meta are inserted verbatim: they may not be JSON for this crate's parser (`NaN`, a
/// number of a thousand digits).
pub fn line(entry: &Entry) -> String {
    format!(
        r#"{{"id": {}, "kind": {}, "payload": {}, "meta": {}, "date": {}}}"#,
        entry.id,
        quote(&entry.kind),
        entry.payload,
        entry.meta,
        quote(&entry.date)
    )
}

fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Splits a line; `None` if it does not have the format of a tape. Payload and meta are not validated: the host does
/// that.
pub fn cut(line: &str) -> Option<Entry> {
    let rest = line.strip_prefix(r#"{"id": "#)?;
    let (id, rest) = rest.split_once(r#", "kind": "#)?;
    let (kind, rest) = value(rest)?;
    let (payload, rest) = value(rest.strip_prefix(r#", "payload": "#)?)?;
    let (meta, rest) = value(rest.strip_prefix(r#", "meta": "#)?)?;
    let (date, rest) = value(rest.strip_prefix(r#", "date": "#)?)?;
    let text = |quoted: &str| serde_json::from_str::<String>(quoted).ok();
    (rest == "}").then_some(())?;
    Some(Entry {
        id: id.parse().ok()?,
        kind: text(kind)?,
        payload: payload.to_owned(),
        meta: meta.to_owned(),
        date: text(date)?,
    })
}

/// Splits a leading string or object from the rest.
fn value(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if !in_string && depth == 0 {
            return text.split_at_checked(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(payload: &str) -> Entry {
        Entry {
            id: 7,
            kind: "message".to_owned(),
            payload: payload.to_owned(),
            meta: r#"{"run_id": "r"}"#.to_owned(),
            date: "2026-11-21T02:36:22+00:00".to_owned(),
        }
    }

    #[test]
    fn an_entry_comes_back_byte_for_byte() {
        for payload in [
            r#"{"content": "a \"quoted\" } brace, and a \\"}"#,
            r#"{"a": [{"b": {}}], "n": NaN, "long": 123456789012345678901234567890, "a": 1.0}"#,
            r#"{"content": "你好 \ud83d", "payload": "\", \"meta\": {"}"#,
            "{}",
        ] {
            let line = line(&entry(payload));
            let again = cut(&line).expect("it is a line");
            assert_eq!((again.id, again.payload.as_str()), (7, payload));
            assert_eq!(self::line(&again), line);
        }
    }

    #[test]
    fn a_line_in_another_format_is_rejected() {
        let whole = line(&entry(r#"{"a": "b"}"#));
        for end in 0..whole.len() {
            assert!(cut(&whole[..end]).is_none(), "cut off at {end}");
        }
        for wrong in ["[]", "{}", r#"{"id": -1, "kind": "a", "payload": {}, "meta": {}, "date": "d"}"#] {
            assert!(cut(wrong).is_none(), "{wrong}");
        }
        assert!(cut(&format!("{whole}}}")).is_none());
    }

    #[test]
    fn a_write_declares_the_number_of_its_lines() {
        let reset = bub_guest::hook::Reset { archive: Some("t.jsonl.1.bak".to_owned()), kept: vec![entry("{}")] };
        let batch =
            Batch { tape: "t".to_owned(), last: Some(6), reset: Some(reset), entries: vec![entry("{}"), entry("{}")] };
        let body = body(&[batch], Some("k"));
        let lines: Vec<&str> = body.lines().collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(lines[0], r#"{"key":"k","batches":1}"#);
        assert_eq!(lines[1], r#"{"tape":"t","last":6,"reset":{"archive":"t.jsonl.1.bak","kept":1},"entries":2}"#);
    }

    #[test]
    fn a_sidecar_is_written_with_its_tape() {
        assert_eq!(family("a__b__sidecar__notes"), "a__b");
        assert_eq!(family("a__b"), "a__b");
    }
}
