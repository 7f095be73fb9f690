//! A request as OpenAI's clients make it: the last message is what is said, and those before it are what was.

use super::super::{Problem, wire};
use crate::tape::Draft;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use std::fmt::{self, Formatter};

/// Messages of one request.
const MOST: usize = 4096;

/// What stands in a request. What is not named here changes nothing: the agent has its own settings.
#[derive(Deserialize)]
pub(super) struct Request {
    pub model: Option<String>,
    messages: Vec<Message>,
    pub stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    pub user: Option<String>,
    tools: Option<Listed>,
    functions: Option<Listed>,
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
}

/// A text, or parts. Read by a visitor: serde's untagged and tagged enums keep a copy of all that they are given before
/// they look at it, which takes sixteen times the memory of what was sent.
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
                    if parts.len() == MOST {
                        return Err(serde::de::Error::custom(format!("a message has at most {MOST} parts")));
                    }
                    parts.push(part);
                }
                Ok(Content::Parts(parts))
            }
        }

        deserializer.deserialize_any(ContentVisitor)
    }
}

/// A list of which only matters whether something is in it.
struct Listed {
    is_empty: bool,
}

impl<'de> Deserialize<'de> for Listed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListedVisitor;

        impl<'de> Visitor<'de> for ListedVisitor {
            type Value = Listed;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Listed, A::Error> {
                let mut is_empty = true;
                while sequence.next_element::<IgnoredAny>()?.is_some() {
                    is_empty = false;
                }
                Ok(Listed { is_empty })
            }
        }

        deserializer.deserialize_seq(ListedVisitor)
    }
}

/// A part of a message.
#[derive(Deserialize)]
#[serde(try_from = "SentPart")]
enum Part {
    Text(String),
    Image(Image),
    Audio(Audio),
    File(File),
}

/// A part as it is sent: `type` says which of the other members counts.
#[derive(Deserialize)]
struct SentPart {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
    image_url: Option<Image>,
    input_audio: Option<Audio>,
    file: Option<File>,
}

impl TryFrom<SentPart> for Part {
    type Error = String;

    fn try_from(sent: SentPart) -> Result<Self, String> {
        let part = match sent.kind.as_str() {
            "text" => sent.text.map(Self::Text),
            "refusal" => sent.refusal.map(Self::Text),
            "image_url" => sent.image_url.map(Self::Image),
            "input_audio" => sent.input_audio.map(Self::Audio),
            "file" => sent.file.map(Self::File),
            _ => {
                let shown: String = sent.kind.chars().take(32).flat_map(char::escape_debug).collect();
                return Err(format!(
                    "a part of a message is of type `{shown}`: `text`, `refusal`, `image_url`, `input_audio`, `file`"
                ));
            }
        };
        part.ok_or_else(|| format!("a part of type `{}` has no `{}`", sent.kind, sent.kind))
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
    /// Something is asked for that an agent cannot do: what would be left out in silence changes what the answer means.
    pub fn check(&self) -> Result<(), Problem> {
        let any = |list: &Option<Listed>| list.as_ref().is_some_and(|list| !list.is_empty);
        if any(&self.tools) || any(&self.functions) {
            let message = "the agent runs its own tools and cannot call those of its client: leave `tools` out";
            return Err(Problem::of("tools", message));
        }
        if self.n.is_some_and(|n| n != 1) {
            return Err(Problem::of("n", "there is one answer: `n` is 1"));
        }
        if self.response_format.as_ref().is_some_and(|format| format.kind != "text") {
            return Err(Problem::of("response_format", "an agent answers with text: leave `response_format` out"));
        }
        if self.modalities.iter().flatten().any(|kind| kind != "text") {
            return Err(Problem::of("modalities", "an agent answers with text: leave `modalities` out"));
        }
        if self.messages.len() > MOST {
            return Err(Problem::of("messages", format!("a request has at most {MOST} messages")));
        }
        for message in &self.messages {
            if !["system", "developer", "user", "assistant"].contains(&message.role.as_str()) {
                let shown: String = message.role.chars().take(32).flat_map(char::escape_debug).collect();
                return Err(Problem::of(
                    "messages",
                    format!("messages of role `{shown}` are not taken: `system`, `developer`, `user`, `assistant`"),
                ));
            }
        }
        match self.messages.last() {
            Some(last) if last.role == "user" => Ok(()),
            _ => Err(Problem::of("messages", "the last message is what the user says: its role is `user`")),
        }
    }

    pub fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().and_then(|options| options.include_usage).unwrap_or(false)
    }

    /// What the user says, and what they attach.
    pub fn said(&self) -> Result<(String, Vec<wire::Media>), Problem> {
        let (mut content, mut media) = (String::new(), Vec::new());
        match self.messages.last().and_then(|last| last.content.as_ref()) {
            None => {}
            Some(Content::Text(text)) => content.clone_from(text),
            Some(Content::Parts(parts)) => {
                for part in parts {
                    match part {
                        Part::Text(text) => {
                            if !content.is_empty() {
                                content.push('\n');
                            }
                            content.push_str(text);
                        }
                        attached => media.push(attachment(attached)?),
                    }
                }
            }
        }
        Ok((content, media))
    }

    /// What was said before, as entries of a tape: texts alone, in place of media what they were. What the client wants the
    /// model told stands in front of it, as the client's.
    pub fn earlier(&self) -> Result<Vec<Draft>, Problem> {
        let before = self.messages.split_last().map_or(&[][..], |(_, before)| before);
        let mut drafts = Vec::with_capacity(before.len());
        for message in before {
            let text = message.content.as_ref().map(Content::text).unwrap_or_default();
            if text.is_empty() {
                continue;
            }
            let (role, text) = match message.role.as_str() {
                "assistant" => ("assistant", text),
                "user" => ("user", text),
                // The system's words are the agent's own.
                _ => ("user", format!("[instructions of the client]\n{text}")),
            };
            let payload = json!({ "role": role, "content": text }).to_string();
            drafts.push(Draft::new("message", &payload, "{}")?);
        }
        Ok(drafts)
    }
}

impl Content {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => parts.iter().map(Part::shown).collect::<Vec<_>>().join("\n"),
        }
    }
}

impl Part {
    /// Its text, or in place of media what they are.
    fn shown(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Image(_) => "[image]",
            Self::Audio(_) => "[audio]",
            Self::File(_) => "[file]",
        }
    }
}

fn attachment(part: &Part) -> Result<wire::Media, Problem> {
    Ok(match part {
        Part::Audio(Audio { data, format }) => {
            let mime_type = match format.as_str() {
                "wav" => "audio/wav",
                "mp3" => "audio/mpeg",
                _ => return Err(Problem::of("messages", "the `format` of `input_audio` is `wav` or `mp3`")),
            };
            let url = format!("data:{mime_type};base64,{data}");
            wire::Media { mime_type: mime_type.to_owned(), url, filename: None }
        }
        Part::File(File { file_data, filename }) => {
            let Some(url) = file_data else {
                return Err(Problem::of("messages", "there are no files here: send what is in it as `file_data`"));
            };
            let mime_type = kind_of(url, "application/pdf");
            wire::Media { mime_type, url: url.clone(), filename: filename.clone() }
        }
        Part::Image(Image { url }) => {
            wire::Media { mime_type: kind_of(url, "image/jpeg"), url: url.clone(), filename: None }
        }
        Part::Text(_) => return Err(Problem::bad("a text is not attached")),
    })
}

/// The kind that a `data:` address names, or one that the end of another lets one guess.
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
