//! Construction of prompts from messages.

use crate::{json, state};
use bub_guest::turn::{MediaItem, MediaKind, Passage, Provenance};
use bub_guest::{Envelope, MessageKind, Prompt, Result, Turn};
use serde_json::{Value, json};

/// The prompt of later steps. Tapes contain this sentence and scripts match it, so it must not change.
const CONTINUE: &str = "Continue the task until all targets are completed.";

/// The prompt of the message that started the turn.
pub fn of_turn(turn: &Turn) -> Result<Option<Prompt>> {
    Ok(Some(of_message(turn.message(), &turn.started())))
}

/// A prompt: the context and date, quotations of the passages, then the sender's text; a command is unchanged. With
/// media, content parts.
fn of_message(message: Envelope, started: &str) -> Prompt {
    if message.kind == MessageKind::Command {
        return Prompt::Text(message.content);
    }
    let mut context = state::line(&message.context);
    if !context.is_empty() {
        context.push('\n');
    }
    let passages: String = message.passages.iter().map(quotation).collect();
    let mut text = format!("{context}---Date: {started}---\n{passages}{}", message.content);
    let mut parts = Vec::new();
    for media in &message.media {
        match part(media) {
            Ok(part) => {
                parts.push(part);
                if let Some(why) = not_the_senders(media.provenance) {
                    text.push_str(&format!("\n[{}: {why}]", name(media)));
                }
            }
            // The model is informed of omitted media.
            Err(why) => text.push_str(&format!("\n[{}: {why}]", name(media))),
        }
    }
    if parts.is_empty() {
        return Prompt::Text(text);
    }
    parts.insert(0, json!({"type": "text", "text": text}));
    Prompt::Parts(Value::Array(parts).to_string())
}

/// A passage with its author. Each line is marked, so that none looks like the sender's.
fn quotation(passage: &Passage) -> String {
    let is_end = |c: char| matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let author = passage.author.as_deref().unwrap_or_default().replace(is_end, " ");
    let author = if author.trim().is_empty() { "an unknown author" } else { author.trim() };
    let head = match passage.provenance {
        Provenance::Written => format!("{author} wrote before:"),
        Provenance::Quoted => format!("{author} wrote:"),
        Provenance::Forwarded => format!("Forwarded, written by {author}:"),
        Provenance::Attached => format!("Attached, written by {author}:"),
    };
    let lines: String = passage.text.split(is_end).map(|line| format!("> {line}\n")).collect();
    format!("> {head}\n{lines}\n")
}

/// The notice about media that another author attached. Forwarded media are described by their passage, or the sender
/// chose them.
fn not_the_senders(provenance: Provenance) -> Option<&'static str> {
    match provenance {
        Provenance::Written | Provenance::Attached => None,
        Provenance::Quoted => Some("quoted, made by another author"),
        Provenance::Forwarded => Some("forwarded, made by another author"),
    }
}

/// The prompt of the next step, with the context of the turn.
pub fn to_continue(turn: &Turn, _prompt: Prompt) -> Result<Option<String>> {
    Ok(Some(match turn.get_json("context").map(|context| json::value(&context)) {
        Some(Value::String(context)) if !context.is_empty() => {
            format!("{CONTINUE} [context: {context}]")
        }
        _ => CONTINUE.to_owned(),
    }))
}

/// A content part, or the reason why there is none.
fn part(media: &MediaItem) -> Result<Value, &'static str> {
    let url = media.url.as_str();
    if url.is_empty() {
        return Err("it came without an address");
    }
    match media.kind {
        MediaKind::Image => Ok(json!({"type": "image_url", "image_url": {"url": url}})),
        MediaKind::Video => Ok(json!({"type": "video_url", "video_url": {"url": url}})),
        MediaKind::Audio => audio(url).ok_or("sound is taken as data in base64 only"),
        MediaKind::Document => {
            let filename = media.filename.as_deref().unwrap_or("document");
            Ok(json!({"type": "file", "file": {"filename": filename, "file_data": url}}))
        }
    }
}

/// The description of media that are not sent.
fn name(media: &MediaItem) -> String {
    let kind = match media.kind {
        MediaKind::Image => "image",
        MediaKind::Video => "video",
        MediaKind::Audio => "audio",
        MediaKind::Document => "document",
    };
    let address = Some(media.url.as_str()).filter(|url| !url.is_empty() && !url.starts_with("data:"));
    match media.filename.as_deref().or(address) {
        Some(name) => format!("{kind} {name}"),
        None => kind.to_owned(),
    }
}

/// Audio must be inline: only data in the URL itself is accepted.
fn audio(url: &str) -> Option<Value> {
    let (head, data) = url.strip_prefix("data:audio/")?.split_once(',')?;
    let subtype = head.strip_suffix(";base64")?.split(';').next()?;
    // Providers name formats by file extensions.
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
            passages: Vec::new(),
            kind: MessageKind::Normal,
            context: vec![("channel".to_owned(), r#""$cli""#.to_owned())],
            media,
            output_channel: None,
        }
    }

    fn item(kind: MediaKind, url: &str) -> MediaItem {
        MediaItem {
            kind,
            mime_type: String::new(),
            filename: None,
            url: url.to_owned(),
            provenance: Provenance::Written,
        }
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
    fn passages_come_first_and_cannot_be_mistaken_for_the_senders_words() {
        let passage = |provenance, author: Option<&str>, text: &str| Passage {
            provenance,
            author: author.map(str::to_owned),
            text: text.to_owned(),
        };
        let passages = vec![
            passage(Provenance::Quoted, Some("Eve"), "one\ntwo\r\u{2028}three"),
            passage(Provenance::Forwarded, None, "four"),
        ];
        let media =
            vec![MediaItem { provenance: Provenance::Forwarded, ..item(MediaKind::Image, "data:image/png;base64,AA") }];
        let Prompt::Parts(parts) = of_message(Envelope { passages, ..message(media) }, "now") else { panic!() };
        let text = json::value(&parts)[0]["text"].as_str().unwrap().to_owned();
        let expected = "channel=$cli\n---Date: now---\n> Eve wrote:\n> one\n> two\n> \n> three\n\n\
                        > Forwarded, written by an unknown author:\n> four\n\nhi\n\
                        [image: forwarded, made by another author]";
        assert_eq!(text, expected);
    }

    #[test]
    fn media_become_parts() {
        let media = vec![
            item(MediaKind::Image, "https://x/y.png"),
            item(MediaKind::Video, "data:video/mp4;base64,AAAA"),
            item(MediaKind::Audio, "data:audio/mpeg;base64,{{media:0}}"),
            MediaItem { filename: Some("y.pdf".to_owned()), ..item(MediaKind::Document, "https://x/y.pdf") },
        ];
        let Prompt::Parts(parts) = of_message(message(media), "now") else { panic!() };
        let expected = json!([
            {"type": "text", "text": "channel=$cli\n---Date: now---\nhi"},
            {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
            {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAAA"}},
            {"type": "input_audio", "input_audio": {"data": "{{media:0}}", "format": "mp3"}},
            {"type": "file", "file": {"filename": "y.pdf", "file_data": "https://x/y.pdf"}},
        ]);
        assert_eq!(parts, expected.to_string());
    }

    #[test]
    fn omitted_media_are_reported() {
        let named = MediaItem { filename: Some("z".to_owned()), ..item(MediaKind::Image, "") };
        let media = vec![item(MediaKind::Audio, "https://x/y.mp3"), named];
        let Prompt::Text(text) = of_message(message(media), "now") else { panic!() };
        let said =
            "hi\n[audio https://x/y.mp3: sound is taken as data in base64 only]\n[image z: it came without an address]";
        assert!(text.ends_with(said), "{text}");
    }
}
