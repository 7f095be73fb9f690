//! Attachments of messages.

use crate::api::Api;
use crate::origin;
use crate::update::{File, Message};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bub_guest::turn::{MediaItem, MediaKind, Provenance};

/// Maximum size of a file, in bytes.
pub const MAX_FILE: u64 = 2_000_000;

/// A file of a message.
pub struct Attached {
    kind: MediaKind,
    /// A description for people.
    what: &'static str,
    mime_type: String,
    pub file: File,
    /// The provenance.
    pub provenance: Provenance,
}

/// The file of a message; of a photo the largest acceptable size.
pub fn of(message: &Message) -> Option<Attached> {
    let fits = |file: &&File| file.file_size.is_none_or(|size| size <= MAX_FILE);
    let photo = message.photo.iter().rev().find(fits).or(message.photo.last());
    let files = [
        (photo, MediaKind::Image, "photo", "image/jpeg"),
        (message.voice.as_ref(), MediaKind::Audio, "voice message", "audio/ogg"),
        (message.audio.as_ref(), MediaKind::Audio, "sound", "audio/mpeg"),
        (message.video.as_ref(), MediaKind::Video, "video", "video/mp4"),
        (message.video_note.as_ref(), MediaKind::Video, "video message", "video/mp4"),
        (message.animation.as_ref(), MediaKind::Video, "animation", "video/mp4"),
        (message.document.as_ref(), MediaKind::Document, "document", "application/octet-stream"),
    ];
    files.into_iter().find_map(|(file, kind, what, usual)| {
        let file = file?.clone();
        let mime_type = file.mime_type.clone().unwrap_or_else(|| usual.to_owned());
        Some(Attached { kind, what, mime_type, file, provenance: origin::of(message).0 })
    })
}

impl Attached {
    /// The name of an omitted file.
    pub fn name(&self) -> String {
        match &self.file.file_name {
            Some(name) => format!("{} {name}", self.what),
            None => self.what.to_owned(),
        }
    }

    /// Sets the provenance.
    pub fn of(self, provenance: Provenance) -> Self {
        Self { provenance, ..self }
    }

    /// Maximum size, in bytes.
    pub fn weight(&self) -> u64 {
        self.file.file_size.unwrap_or(MAX_FILE).min(MAX_FILE)
    }

    /// Downloads the file. The host detects its actual type.
    ///
    /// # Errors
    ///
    /// Why it is omitted, for the reader of the message.
    pub fn fetch(self, api: &Api<'_>) -> Result<MediaItem, String> {
        if let Some(size) = self.file.file_size.filter(|size| *size > MAX_FILE) {
            let (size, most) = (size as f64 / 1e6, MAX_FILE / 1_000_000);
            return Err(format!("{size:.1} MB, and at most {most} MB are taken"));
        }
        let fetch = || api.file(&self.file.file_id, MAX_FILE);
        // Retried once: the message will not arrive again.
        let bytes = fetch().or_else(|refusal| if refusal.is_temporary { fetch() } else { Err(refusal) });
        let bytes = bytes.map_err(|refusal| format!("it could not be fetched: {}", refusal.why))?;
        let url = format!("data:{};base64,{}", self.mime_type, STANDARD.encode(bytes));
        let Self { kind, mime_type, provenance, file, .. } = self;
        Ok(MediaItem { kind, mime_type, filename: file.file_name, url, provenance })
    }
}

/// Descriptions of other content.
pub fn told(message: &Message) -> Option<String> {
    let of = |text: &Option<String>| text.clone().unwrap_or_default();
    let told = if let Some(sticker) = &message.sticker {
        format!("[sticker {}]", of(&sticker.emoji))
    } else if let Some(location) = &message.location {
        format!("[location {}, {}]", location.latitude, location.longitude)
    } else if let Some(contact) = &message.contact {
        format!("[contact {} {}]", contact.first_name, contact.phone_number)
    } else if let Some(poll) = &message.poll {
        format!("[poll: {}]", poll.question)
    } else {
        let dice = message.dice.as_ref()?;
        format!("[{} {}]", dice.emoji, dice.value)
    };
    Some(told)
}
