//! The parts of a prompt as a message.

use super::commands;
use super::message::invalid_params;
use super::wording::quoted;
use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource, Error};
use bub_runtime::channel::attach::{self, MAX_ITEMS};
use bub_runtime::channel::message;
use bub_runtime::host::Host;
use bub_types::text::{clipped, one_line};
use bub_types::{Envelope, MediaItem, MediaKind, MessageKind, Passage, Provenance};
use percent_encoding::percent_decode_str;
use std::path::{Path, PathBuf};

/// The channel of the editor's messages.
pub(crate) const CHANNEL: &str = "acp";

/// Parts of a prompt.
const MAX_PARTS: usize = 1024;

/// The message that these parts are.
///
/// # Errors
///
/// A part that cannot be attached, a command with more than text, or no text at all.
pub(crate) fn envelope(host: &Host, session: &str, parts: Vec<ContentBlock>) -> Result<Envelope, Error> {
    if parts.len() > MAX_PARTS {
        return Err(invalid_params(format!("a prompt has at most {MAX_PARTS} parts, not {}", parts.len())));
    }
    let mut prompt = Prompt { host, content: String::new(), passages: Vec::new(), media: Vec::new(), is_text: false };
    for part in parts {
        prompt.add(part)?;
    }
    let Prompt { content, passages, media, .. } = prompt;
    if content.trim().is_empty() && passages.is_empty() && media.is_empty() {
        return Err(invalid_params("the prompt is empty: it needs a text, a file or an image"));
    }
    if media.len() > MAX_ITEMS {
        return Err(invalid_params(format!("a prompt takes {MAX_ITEMS} attachments, not {}", media.len())));
    }
    let command = commands::typed(host, &content);
    if command.is_some() && !(media.is_empty() && passages.is_empty()) {
        return Err(invalid_params("a command takes no attachments: say it without `/` or `,`, or leave them out"));
    }
    let kind = if command.is_some() { MessageKind::Command } else { MessageKind::Normal };
    let content = command.unwrap_or(content);
    let message = message(Some(session.to_owned()), [CHANNEL, "editor", "owner"], &content, kind);
    Ok(Envelope { passages, media, ..message })
}

struct Prompt<'a> {
    host: &'a Host,
    content: String,
    passages: Vec<Passage>,
    media: Vec<MediaItem>,
    /// Whether the part before was text.
    is_text: bool,
}

impl Prompt<'_> {
    fn add(&mut self, part: ContentBlock) -> Result<(), Error> {
        let was_text = std::mem::take(&mut self.is_text);
        match part {
            ContentBlock::Text(text) => {
                // Two texts are paragraphs; what stands beside a link is one sentence with it.
                if was_text {
                    self.content.push('\n');
                }
                self.content.push_str(&text.text);
                self.is_text = true;
            }
            ContentBlock::ResourceLink(link) => self.link(&link.name, &link.uri),
            ContentBlock::Resource(resource) => match resource.resource {
                EmbeddedResourceResource::TextResourceContents(text) => {
                    self.link(name(&text.uri), &text.uri);
                    let author = Some(clipped(&one_line(&text.uri), 200));
                    let provenance = self.provenance(&text.uri);
                    self.passages.push(Passage { provenance, author, text: text.text });
                }
                EmbeddedResourceResource::BlobResourceContents(blob) => {
                    let provenance = self.provenance(&blob.uri);
                    self.attach(blob.blob, Some(&blob.uri), provenance)?;
                }
                _ => return Err(invalid_params("a resource is neither text nor data")),
            },
            ContentBlock::Image(image) => {
                let is_address = image.data.is_empty() && image.uri.as_deref().is_some_and(is_https);
                match image.uri.as_deref().filter(|_| is_address) {
                    Some(uri) => self.add_media(uri.to_owned(), Some(uri), Provenance::Attached)?,
                    None => self.attach(image.data, image.uri.as_deref(), Provenance::Written)?,
                }
            }
            ContentBlock::Audio(audio) => self.attach(audio.data, None, Provenance::Written)?,
            _ => return Err(invalid_params("a part of the prompt has an unknown type")),
        }
        Ok(())
    }

    /// A link in the sentence, which the model can read with its tools.
    fn link(&mut self, name: &str, uri: &str) {
        let file = path(uri);
        let inside = file.as_deref().and_then(|file| file.strip_prefix(&self.host.workspace).ok());
        let target = inside.map(|inside| inside.to_string_lossy().into_owned()).filter(|inside| !inside.is_empty());
        let target = target.unwrap_or_else(|| uri.to_owned());
        let [name, target] = [name, &target].map(|text| clipped(&one_line(text), 1000));
        if self.content.ends_with(|last: char| !last.is_whitespace()) {
            self.content.push(' ');
        }
        self.content.push_str(&format!("[{name}]({target})"));
    }

    /// Whose words a resource is. A file is the user's, unless it is one of a workspace that they do not vouch for; what has
    /// another address is text from outside.
    fn provenance(&self, uri: &str) -> Provenance {
        let is_trusted = self.host.config.trusts(&self.host.workspace);
        match path(uri).map(|file| file.canonicalize().unwrap_or(file)) {
            Some(file) if is_trusted || !file.starts_with(&self.host.workspace) => Provenance::Written,
            _ => Provenance::Attached,
        }
    }

    fn attach(&mut self, data: String, uri: Option<&str>, provenance: Provenance) -> Result<(), Error> {
        // Its content says what it is.
        self.add_media(format!("data:application/octet-stream;base64,{data}"), uri, provenance)
    }

    fn add_media(&mut self, url: String, uri: Option<&str>, provenance: Provenance) -> Result<(), Error> {
        let filename = uri.map(|uri| clipped(&one_line(name(uri)), 200)).filter(|name| !name.is_empty());
        let shown = filename.as_deref().map_or_else(|| "an attachment of the prompt".to_owned(), quoted);
        let item = MediaItem { kind: MediaKind::Image, mime_type: "image/png".to_owned(), filename, url, provenance };
        let item = attach::received(item);
        self.media.push(item.map_err(|why| invalid_params(format!("{shown} cannot be attached: {why}")))?);
        Ok(())
    }
}

fn is_https(uri: &str) -> bool {
    uri.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}

/// The last part of an address.
fn name(uri: &str) -> &str {
    let path = uri.split(['?', '#']).next().unwrap_or(uri);
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
}

/// The path of a file's address.
fn path(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?.split(['?', '#']).next()?;
    let path = percent_decode_str(path).decode_utf8().ok()?;
    Path::new(&*path).is_absolute().then(|| PathBuf::from(&*path))
}
