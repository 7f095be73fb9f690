//! A request as OpenAI's clients make it: the last message is what is said, and those before it are what was.

use super::super::{Problem, wire};
use crate::tape::Draft;
use serde::Deserialize;
use serde_json::{Value, json};

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
    tools: Option<Vec<Value>>,
    functions: Option<Vec<Value>>,
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

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    /// Each a [`Part`]; of what is none it is said which.
    Parts(Vec<Value>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    Text { text: String },
    Refusal { refusal: String },
    ImageUrl { image_url: Image },
    InputAudio { input_audio: Audio },
    File { file: File },
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
        let any = |list: &Option<Vec<Value>>| list.as_ref().is_some_and(|list| !list.is_empty());
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
                for sent in parts {
                    match part(sent)? {
                        Part::Text { text } | Part::Refusal { refusal: text } => {
                            if !content.is_empty() {
                                content.push('\n');
                            }
                            content.push_str(&text);
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
            let text = message.content.as_ref().map(Content::text).transpose()?.unwrap_or_default();
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
    fn text(&self) -> Result<String, Problem> {
        let parts = match self {
            Self::Text(text) => return Ok(text.clone()),
            Self::Parts(parts) => parts,
        };
        let text = |sent: &Value| {
            Ok(match part(sent)? {
                Part::Text { text } | Part::Refusal { refusal: text } => text,
                Part::ImageUrl { .. } => "[image]".to_owned(),
                Part::InputAudio { .. } => "[audio]".to_owned(),
                Part::File { .. } => "[file]".to_owned(),
            })
        };
        Ok(parts.iter().map(text).collect::<Result<Vec<_>, Problem>>()?.join("\n"))
    }
}

fn part(sent: &Value) -> Result<Part, Problem> {
    Part::deserialize(sent).map_err(|error| {
        let said: String = error.to_string().chars().take(200).flat_map(char::escape_debug).collect();
        Problem::of("messages", format!("a part of a message does not fit: {said}"))
    })
}

fn attachment(part: Part) -> Result<wire::Media, Problem> {
    Ok(match part {
        Part::InputAudio { input_audio } => {
            let mime_type = match input_audio.format.as_str() {
                "wav" => "audio/wav",
                "mp3" => "audio/mpeg",
                _ => return Err(Problem::of("messages", "the `format` of `input_audio` is `wav` or `mp3`")),
            };
            let url = format!("data:{mime_type};base64,{}", input_audio.data);
            wire::Media { mime_type: mime_type.to_owned(), url, filename: None }
        }
        Part::File { file } => {
            let Some(url) = file.file_data else {
                return Err(Problem::of("messages", "there are no files here: send what is in it as `file_data`"));
            };
            wire::Media { mime_type: kind_of(&url, "application/pdf"), url, filename: file.filename }
        }
        Part::ImageUrl { image_url: Image { url } } => {
            wire::Media { mime_type: kind_of(&url, "image/jpeg"), url, filename: None }
        }
        Part::Text { .. } | Part::Refusal { .. } => return Err(Problem::bad("a text is not attached")),
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
