//! Requests in OpenAI's format: the last message is the new one, and the others are the conversation before it.

use super::super::{ApiError, dto};
use bub_runtime::channel::{foreign_passage, shown_passage};
use bub_runtime::turn::TAINTED;
use bub_tape::Draft;
use bub_types::text::escaped;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use std::fmt::{self, Formatter};

/// Messages of one request, and parts of one message.
const MAX_ITEMS: usize = 4096;

/// The body of a request. Other fields are ignored: the agent has its own settings.
#[derive(Deserialize)]
pub(super) struct Request {
    pub model: Option<String>,
    messages: Vec<Message>,
    pub stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    pub user: Option<String>,
    tools: Option<ListEmptiness>,
    functions: Option<ListEmptiness>,
    n: Option<u64>,
    response_format: Option<Format>,
    modalities: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct Format {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Option<Content>,
    /// The provenance of parts that do not name their own.
    #[serde(default)]
    provenance: dto::Provenance,
    author: Option<String>,
}

/// A text, or parts. Deserialized by a visitor: serde's untagged and tagged enums buffer their whole input, which takes
/// sixteen times the memory of the body.
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;

        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of parts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Text(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<Content, E> {
                Ok(Content::Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Content, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = sequence.next_element()? {
                    if parts.len() == MAX_ITEMS {
                        return Err(serde::de::Error::custom(format!("a message has at most {MAX_ITEMS} parts")));
                    }
                    parts.push(part);
                }
                Ok(Content::Parts(parts))
            }
        }

        deserializer.deserialize_any(ContentVisitor)
    }
}

/// Whether a list is empty; its elements are skipped.
struct ListEmptiness {
    is_empty: bool,
}

impl<'de> Deserialize<'de> for ListEmptiness {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor;

        impl<'de> Visitor<'de> for ListVisitor {
            type Value = ListEmptiness;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<ListEmptiness, A::Error> {
                let mut is_empty = true;
                while sequence.next_element::<IgnoredAny>()?.is_some() {
                    is_empty = false;
                }
                Ok(ListEmptiness { is_empty })
            }
        }

        deserializer.deserialize_seq(ListVisitor)
    }
}

/// A part of a message.
#[derive(Deserialize)]
#[serde(try_from = "RawPart")]
struct Part {
    body: PartBody,
    /// OpenAI's clients omit it, and mean that the user wrote the part.
    provenance: Option<dto::Provenance>,
    author: Option<String>,
}

enum PartBody {
    Text(String),
    Image(Image),
    Audio(Audio),
    File(File),
}

/// A part in a request: `type` names the other field that applies.
#[derive(Deserialize)]
struct RawPart {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
    image_url: Option<Image>,
    input_audio: Option<Audio>,
    file: Option<File>,
    provenance: Option<dto::Provenance>,
    author: Option<String>,
}

impl TryFrom<RawPart> for Part {
    type Error = String;

    fn try_from(raw: RawPart) -> Result<Self, String> {
        let body = match raw.kind.as_str() {
            "text" => raw.text.map(PartBody::Text),
            "refusal" => raw.refusal.map(PartBody::Text),
            "image_url" => raw.image_url.map(PartBody::Image),
            "input_audio" => raw.input_audio.map(PartBody::Audio),
            "file" => raw.file.map(PartBody::File),
            _ => {
                let shown = escaped(&raw.kind, 32);
                return Err(format!(
                    "a part of a message is of type `{shown}`: `text`, `refusal`, `image_url`, `input_audio`, `file`"
                ));
            }
        };
        let body = body.ok_or_else(|| format!("a part of type `{}` has no `{}`", raw.kind, raw.kind))?;
        Ok(Self { body, provenance: raw.provenance, author: raw.author })
    }
}

#[derive(Deserialize)]
struct Image {
    url: String,
}

#[derive(Deserialize)]
struct Audio {
    data: String,
    format: String,
}

#[derive(Deserialize)]
struct File {
    file_data: Option<String>,
    filename: Option<String>,
}

impl Request {
    /// # Errors
    ///
    /// The request asks for something that the agent does not support and that changes the meaning of the answer.
    pub(super) fn check(&self) -> Result<(), ApiError> {
        let any = |list: &Option<ListEmptiness>| list.as_ref().is_some_and(|list| !list.is_empty);
        if any(&self.tools) || any(&self.functions) {
            let message = "the agent runs its own tools and cannot call those of its client: leave `tools` out";
            return Err(ApiError::invalid_param("tools", message));
        }
        if self.n.is_some_and(|n| n != 1) {
            return Err(ApiError::invalid_param("n", "only one answer is supported: `n` must be 1"));
        }
        if self.response_format.as_ref().is_some_and(|format| format.kind != "text") {
            return Err(ApiError::invalid_param(
                "response_format",
                "an agent answers with text: leave `response_format` out",
            ));
        }
        if self.modalities.iter().flatten().any(|kind| kind != "text") {
            return Err(ApiError::invalid_param("modalities", "an agent answers with text: leave `modalities` out"));
        }
        if self.messages.len() > MAX_ITEMS {
            return Err(ApiError::invalid_param("messages", format!("a request has at most {MAX_ITEMS} messages")));
        }
        for message in &self.messages {
            if !["system", "developer", "user", "assistant"].contains(&message.role.as_str()) {
                let shown = escaped(&message.role, 32);
                return Err(ApiError::invalid_param(
                    "messages",
                    format!("messages of role `{shown}` are not taken: `system`, `developer`, `user`, `assistant`"),
                ));
            }
        }
        match self.messages.last() {
            Some(last) if last.role == "user" => Ok(()),
            _ => Err(ApiError::invalid_param("messages", "the last message must have the role `user`")),
        }
    }

    pub(super) fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().and_then(|options| options.include_usage).unwrap_or(false)
    }

    /// The text, the passages and the attachments of the last message.
    pub(super) fn last_message(&self) -> Result<(String, Vec<dto::Passage>, Vec<dto::Media>), ApiError> {
        let Some(last) = self.messages.last() else { return Ok(Default::default()) };
        let PartsByProvenance { written, passages, attached } = last.parts();
        let media = |(body, provenance)| Ok(dto::Media { provenance, ..attachment(body)? });
        let media = attached.into_iter().map(media).collect::<Result<_, ApiError>>()?;
        Ok((written.join("\n"), passages, media))
    }

    /// The messages before the last one, as entries of a tape. Media are replaced by placeholders; instructions of the client
    /// are marked as such; text of other authors is a quotation, and taints the conversation.
    pub(super) fn earlier(&self) -> Result<Vec<Draft>, ApiError> {
        let before = self.messages.split_last().map_or(&[][..], |(_, before)| before);
        let mut drafts = Vec::with_capacity(before.len());
        let mut tainted = None;
        for message in before {
            let PartsByProvenance { written, passages, attached } = message.parts();
            let passages = dto::passages(passages)?;
            tainted = tainted.or_else(|| passages.iter().find_map(foreign_passage));
            let quoted: String = passages.iter().map(shown_passage).collect();
            let attached = attached.iter().map(|(body, _)| body.placeholder());
            let text = quoted + &written.into_iter().chain(attached).collect::<Vec<_>>().join("\n");
            if text.is_empty() {
                continue;
            }
            let (role, text) = match message.role.as_str() {
                "assistant" => ("assistant", text),
                "user" => ("user", text),
                // Only the agent itself writes system messages.
                _ => ("user", format!("[instructions of the client]\n{text}")),
            };
            let payload = json!({ "role": role, "content": text }).to_string();
            drafts.push(Draft::new("message", &payload, "{}")?);
        }
        if let Some(why) = tainted {
            drafts.push(bub_tape::event(TAINTED, &json!({ "why": why }).to_string())?.with_meta("context", "false")?);
        }
        Ok(drafts)
    }
}

/// A message, by provenance: texts of its sender, those of others, and attachments.
#[derive(Default)]
struct PartsByProvenance<'a> {
    written: Vec<&'a str>,
    passages: Vec<dto::Passage>,
    attached: Vec<(&'a PartBody, dto::Provenance)>,
}

impl Message {
    /// Its parts, by provenance.
    fn parts(&self) -> PartsByProvenance<'_> {
        let mut all = PartsByProvenance::default();
        match &self.content {
            None => {}
            Some(Content::Text(text)) => all.text(text, self.provenance, self.author.as_ref()),
            Some(Content::Parts(parts)) => {
                for Part { body, provenance, author } in parts {
                    let provenance = provenance.unwrap_or(self.provenance);
                    match body {
                        PartBody::Text(text) => all.text(text, provenance, author.as_ref().or(self.author.as_ref())),
                        attached => all.attached.push((attached, provenance)),
                    }
                }
            }
        }
        all
    }
}

impl<'a> PartsByProvenance<'a> {
    fn text(&mut self, text: &'a str, provenance: dto::Provenance, author: Option<&String>) {
        match provenance {
            dto::Provenance::Written => self.written.push(text),
            provenance => {
                self.passages.push(dto::Passage { provenance, author: author.cloned(), text: text.to_owned() });
            }
        }
    }
}

impl PartBody {
    /// The text that replaces media of earlier messages.
    fn placeholder(&self) -> &'static str {
        match self {
            Self::Image(_) => "[image]",
            Self::Audio(_) => "[audio]",
            Self::Text(_) | Self::File(_) => "[file]",
        }
    }
}

fn attachment(body: &PartBody) -> Result<dto::Media, ApiError> {
    let (mime_type, url, filename) = match body {
        PartBody::Audio(Audio { data, format }) => {
            let mime_type = match format.as_str() {
                "wav" => "audio/wav",
                "mp3" => "audio/mpeg",
                _ => {
                    return Err(ApiError::invalid_param("messages", "the `format` of `input_audio` is `wav` or `mp3`"));
                }
            };
            (mime_type.to_owned(), format!("data:{mime_type};base64,{data}"), None)
        }
        PartBody::File(File { file_data, filename }) => {
            let Some(url) = file_data else {
                return Err(ApiError::invalid_param(
                    "messages",
                    "there is no file storage: send the content as `file_data`",
                ));
            };
            (kind_of(url, "application/pdf"), url.clone(), filename.clone())
        }
        PartBody::Image(Image { url }) => (kind_of(url, "image/jpeg"), url.clone(), None),
        PartBody::Text(_) => return Err(ApiError::bad_request("a text is not an attachment")),
    };
    Ok(dto::Media { mime_type, url, filename, provenance: dto::Provenance::Written })
}

/// The media type of a `data:` URL, or one by the file extension of another URL.
fn kind_of(url: &str, otherwise: &str) -> String {
    if let Some((kind, _)) = url.strip_prefix("data:").and_then(|rest| rest.split_once(';')) {
        return kind.to_owned();
    }
    let path = url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let kind = match path.rsplit('.').next() {
        Some("png") => "image/png",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        _ => otherwise,
    };
    kind.to_owned()
}
