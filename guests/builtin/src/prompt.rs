//! From a message to what the model is asked.

use crate::bub::types::types::{MediaItem, MediaKind};
use crate::{Envelope, MessageKind, Prompt, Turn, json, state};
use serde_json::{Value, json};

/// What the later steps of an agent loop ask. Tapes carry this sentence and scripts know it: it does not change.
const CONTINUE: &str = "Continue the task until all targets are completed.";

/// The message with its context and date in front; a command stays as it is. With media, content parts.
pub fn of_message(message: Envelope, started: &str) -> Prompt {
    if message.kind == MessageKind::Command {
        return Prompt::Text(message.content);
    }
    let mut context = state::line(&message.context);
    if !context.is_empty() {
        context.push('\n');
    }
    let text = format!("{context}---Date: {started}---\n{}", message.content);
    let media: Vec<Value> = message.media.iter().filter_map(part).collect();
    if media.is_empty() {
        return Prompt::Text(text);
    }
    let mut parts = vec![json!({"type": "text", "text": text})];
    parts.extend(media);
    Prompt::Parts(Value::Array(parts).to_string())
}

/// The prompt of the next step, with the context of the turn.
pub fn to_continue(turn: &Turn) -> String {
    match turn.get("context").map(|context| json::value(&context)) {
        Some(Value::String(context)) if !context.is_empty() => {
            format!("{CONTINUE} [context: {context}]")
        }
        _ => CONTINUE.to_owned(),
    }
}

/// A content part; none for what chat messages have no part for.
fn part(media: &MediaItem) -> Option<Value> {
    let url = Some(media.url.as_str()).filter(|url| !url.is_empty())?;
    match media.kind {
        MediaKind::Image => Some(json!({"type": "image_url", "image_url": {"url": url}})),
        MediaKind::Video => Some(json!({"type": "video_url", "video_url": {"url": url}})),
        MediaKind::Audio => audio(url),
        MediaKind::Document => None,
    }
}

/// Sound is sent along, never fetched by the model's side: only what is in the URL itself is a part.
fn audio(url: &str) -> Option<Value> {
    let (head, data) = url.strip_prefix("data:audio/")?.split_once(',')?;
    let subtype = head.strip_suffix(";base64")?.split(';').next()?;
    // Providers know formats by the names of file endings.
    let format = match subtype {
        "mpeg" => "mp3",
        "x-wav" | "wave" | "vnd.wave" => "wav",
        other => other,
    };
    Some(json!({"type": "input_audio", "input_audio": {"data": data, "format": format}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(media: Vec<MediaItem>) -> Envelope {
        Envelope {
            id: None,
            session_id: None,
            channel: "cli".to_owned(),
            chat_id: "local".to_owned(),
            sender: None,
            content: "hi".to_owned(),
            kind: MessageKind::Normal,
            context: vec![("channel".to_owned(), r#""$cli""#.to_owned())],
            media,
            output_channel: None,
        }
    }

    fn item(kind: MediaKind, url: &str) -> MediaItem {
        MediaItem { kind, mime_type: String::new(), filename: None, url: url.to_owned() }
    }

    #[test]
    fn a_message_gets_its_context_and_date_in_front() {
        let Prompt::Text(text) = of_message(message(vec![]), "2026-11-21T02:39:17+00:00") else { panic!() };
        assert_eq!(text, "channel=$cli\n---Date: 2026-11-21T02:39:17+00:00---\nhi");
    }

    #[test]
    fn a_command_stays_as_it_is() {
        let command = Envelope { kind: MessageKind::Command, ..message(vec![]) };
        assert!(matches!(of_message(command, "now"), Prompt::Text(text) if text == "hi"));
    }

    #[test]
    fn media_become_parts_where_there_is_a_part_for_them() {
        let media = vec![
            item(MediaKind::Image, "https://x/y.png"),
            item(MediaKind::Audio, "data:audio/mpeg;base64,AAAA"),
            item(MediaKind::Audio, "https://x/y.mp3"),
            item(MediaKind::Document, "https://x/y.pdf"),
        ];
        let Prompt::Parts(parts) = of_message(message(media), "now") else { panic!() };
        let expected = json!([
            {"type": "text", "text": "channel=$cli\n---Date: now---\nhi"},
            {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
        ]);
        assert_eq!(parts, expected.to_string());
    }

    #[test]
    fn a_document_alone_leaves_the_prompt_a_text() {
        let media = vec![item(MediaKind::Document, "https://x/y.pdf")];
        assert!(matches!(of_message(message(media), "now"), Prompt::Text(_)));
    }
}
