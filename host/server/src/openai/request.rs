//! A request as OpenAI's clients make it: the last message is what is said, and those before it are what was.

use super::super::{Problem, wire};
use bub_runtime::channel::{foreign_passage, shown_passage};
use bub_runtime::turn::TAINTED;
use bub_tape::Draft;
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
    /// Where those of its parts come from that do not say it themselves.
    #[serde(default)]
    provenance: wire::Provenance,
    author: Option<String>,
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
struct Part {
    body: PartBody,
    /// Where it comes from. OpenAI's own clients say nothing, and mean that the user wrote it.
    provenance: Option<wire::Provenance>,
    author: Option<String>,
}

enum PartBody {
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
    provenance: Option<wire::Provenance>,
    author: Option<String>,
}

impl TryFrom<SentPart> for Part {
    type Error = String;

    fn try_from(sent: SentPart) -> Result<Self, String> {
        let body = match sent.kind.as_str() {
            "text" => sent.text.map(PartBody::Text),
            "refusal" => sent.refusal.map(PartBody::Text),
            "image_url" => sent.image_url.map(PartBody::Image),
            "input_audio" => sent.input_audio.map(PartBody::Audio),
            "file" => sent.file.map(PartBody::File),
            _ => {
                let shown: String = sent.kind.chars().take(32).flat_map(char::escape_debug).collect();
                return Err(format!(
                    "a part of a message is of type `{shown}`: `text`, `refusal`, `image_url`, `input_audio`, `file`"
                ));
            }
        };
        let body = body.ok_or_else(|| format!("a part of type `{}` has no `{}`", sent.kind, sent.kind))?;
        Ok(Self { body, provenance: sent.provenance, author: sent.author })
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

    /// What the user says, what they quote or forward, and what they attach.
    pub fn said(&self) -> Result<(String, Vec<wire::Passage>, Vec<wire::Media>), Problem> {
        let Some(last) = self.messages.last() else { return Ok(Default::default()) };
        let Parts { written, passages, attached } = last.parts();
        let media = |(body, provenance)| Ok(wire::Media { provenance, ..attachment(body)? });
        let media = attached.into_iter().map(media).collect::<Result<_, Problem>>()?;
        Ok((written.join("\n"), passages, media))
    }

    /// What was said before, as entries of a tape: texts alone, in place of media what they were. What the client wants the
    /// model told stands in front of it, as the client's. Text that is marked as another author's is a quotation, and
    /// taints the conversation as it would have done when it came.
    pub fn earlier(&self) -> Result<Vec<Draft>, Problem> {
        let before = self.messages.split_last().map_or(&[][..], |(_, before)| before);
        let mut drafts = Vec::with_capacity(before.len());
        let mut tainted = None;
        for message in before {
            let Parts { written, passages, attached } = message.parts();
            let passages = wire::passages(passages)?;
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
                // The system's words are the agent's own.
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

/// What a message says: the texts that its sender wrote, those of others, and what is attached.
#[derive(Default)]
struct Parts<'a> {
    written: Vec<&'a str>,
    passages: Vec<wire::Passage>,
    attached: Vec<(&'a PartBody, wire::Provenance)>,
}

impl Message {
    /// Its parts, each where it belongs by its provenance.
    fn parts(&self) -> Parts<'_> {
        let mut all = Parts::default();
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

impl<'a> Parts<'a> {
    fn text(&mut self, text: &'a str, provenance: wire::Provenance, author: Option<&String>) {
        match provenance {
            wire::Provenance::Written => self.written.push(text),
            provenance => {
                self.passages.push(wire::Passage { provenance, author: author.cloned(), text: text.to_owned() });
            }
        }
    }
}

impl PartBody {
    /// What stands in place of media that were sent before.
    fn placeholder(&self) -> &'static str {
        match self {
            Self::Image(_) => "[image]",
            Self::Audio(_) => "[audio]",
            Self::Text(_) | Self::File(_) => "[file]",
        }
    }
}

fn attachment(body: &PartBody) -> Result<wire::Media, Problem> {
    let (mime_type, url, filename) = match body {
        PartBody::Audio(Audio { data, format }) => {
            let mime_type = match format.as_str() {
                "wav" => "audio/wav",
                "mp3" => "audio/mpeg",
                _ => return Err(Problem::of("messages", "the `format` of `input_audio` is `wav` or `mp3`")),
            };
            (mime_type.to_owned(), format!("data:{mime_type};base64,{data}"), None)
        }
        PartBody::File(File { file_data, filename }) => {
            let Some(url) = file_data else {
                return Err(Problem::of("messages", "there are no files here: send what is in it as `file_data`"));
            };
            (kind_of(url, "application/pdf"), url.clone(), filename.clone())
        }
        PartBody::Image(Image { url }) => (kind_of(url, "image/jpeg"), url.clone(), None),
        PartBody::Text(_) => return Err(Problem::bad("a text is not attached")),
    };
    Ok(wire::Media { mime_type, url, filename, provenance: wire::Provenance::Written })
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
