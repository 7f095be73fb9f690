//! One-line error texts without keys.

use reqwest::Url;

use crate::settings::Settings;
use bub_redact::{Patterns, encodings};
use bub_types::text::{clipped, one_line};

/// Maximum characters of a server's message in an error.
const MAX_CHARS: usize = 500;

/// Minimum length of a key to redact in errors: shorter ones are placeholders such as `x`, and redacting them would
/// garble the message.
const MIN_SECRET: usize = 4;

/// Minimum length of a key to redact in model output.
const MIN_SPOKEN: usize = 12;

/// Patterns to redact.
pub(crate) struct Redaction {
    /// In errors.
    shown: Patterns,
    /// In model output.
    spoken: Patterns,
}

impl Redaction {
    /// Redacts the [`secrets`] of `settings`.
    pub(crate) fn new(settings: &Settings) -> Redaction {
        let secrets = secrets(settings);
        let patterns = |least: usize| {
            let secrets = secrets.iter().filter(|secret| secret.len() >= least);
            Patterns::new(secrets.flat_map(|secret| {
                // Too short for encodings, which would match other text.
                let itself = Some(secret.clone().into_bytes()).filter(|secret| secret.len() < MIN_SPOKEN);
                itself.into_iter().chain(encodings(secret.as_bytes()))
            }))
        };
        Redaction { shown: patterns(MIN_SECRET), spoken: patterns(MIN_SPOKEN) }
    }

    /// Patterns for redacting model output: only long keys, since a local server's key may be `test`.
    pub(crate) fn spoken(&self) -> Patterns {
        self.spoken.clone()
    }

    /// `text` on one line, without keys and control characters, cut to 500 characters.
    pub(crate) fn line(&self, text: &str) -> String {
        // Twice: `one_line` can leave half a key by truncation, or complete one by removing invisible characters.
        let line = one_line(&self.shown.redact_text(text));
        clipped(&self.shown.redact_text(&line), MAX_CHARS)
    }
}

/// All secrets: the keys of `settings`, values of headers with secret-sounding names, and passwords and queries of
/// addresses.
pub fn secrets(settings: &Settings) -> Vec<String> {
    let mut secrets: Vec<String> =
        settings.keys.values().chain(&settings.api_key).map(|key| key.expose().trim().to_owned()).collect();
    for (name, value) in &settings.headers {
        if is_secret_header(name) {
            // Servers quote `Bearer abc` as `abc`.
            secrets.extend(value.split_whitespace().map(str::to_owned));
        }
    }
    for base in settings.bases.values().chain(&settings.api_base) {
        if let Ok(url) = Url::parse(base) {
            secrets.extend(url.password().map(str::to_owned));
            secrets.extend(url.query().map(str::to_owned));
            secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
        }
    }
    secrets.retain(|secret| secret.len() >= MIN_SECRET && !secret.eq_ignore_ascii_case("bearer"));
    secrets
}

/// Whether a header of that name may contain a key.
pub(crate) fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "key", "token", "secret", "cookie"].iter().any(|word| name.contains(word))
}
