//! The page of a browser at `/`, and its files below `/ui/`: part of the program, and readable without authentication,
//! because nothing in them is secret.

use super::ApiError;
use super::secrets::{hash, to_hex};
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::read::GzDecoder;
use std::io::Read;
use std::sync::LazyLock;

/// A file of the page.
struct File {
    /// Its path below `page/`.
    name: &'static str,
    /// Its content, compressed by gzip.
    packed: &'static [u8],
}

/// All files, in the order of their names.
static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The document that loads the others.
const SHELL: &str = "index.html";

/// Scripts, styles and requests of this origin alone; nothing inline, no frames, no plugins. Images may be attachments,
/// which the page has as data.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Scripts and styles load nothing by themselves; each response has a policy, and a short one, since there are many files.
const FILE_POLICY: &str = "default-src 'none'";

/// The digests of the files, as entity tags: a browser that has a file asks whether it is still the same.
static TAGS: LazyLock<Vec<HeaderValue>> = LazyLock::new(|| {
    let tag = |file: &File| {
        let digits = to_hex(&hash(file.packed)[..12]);
        HeaderValue::from_str(&format!("\"{digits}\"")).unwrap_or_else(|_| HeaderValue::from_static("\"\""))
    };
    FILES.iter().map(tag).collect()
});

/// Whether a request of that path is for the page, which people reach by links of other sites too.
pub(super) fn is_shell(path: &str) -> bool {
    path == "/"
}

/// `GET /`.
pub(super) async fn shell(headers: HeaderMap) -> Result<Response, ApiError> {
    respond(SHELL, &headers)
}

/// `GET /ui/{file}`.
pub(super) async fn file(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, ApiError> {
    respond(&name, &headers)
}

fn respond(name: &str, headers: &HeaderMap) -> Result<Response, ApiError> {
    let Ok(place) = FILES.binary_search_by(|file| file.name.cmp(name)) else {
        return Err(ApiError::not_found("the page has no such file; `/` is the page"));
    };
    let file = &FILES[place];
    let tag = TAGS[place].clone();
    let policy = if name == SHELL { POLICY } else { FILE_POLICY };
    let common = [
        (header::ETAG, tag.clone()),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy)),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    ];
    if headers.get(header::IF_NONE_MATCH) == Some(&tag) {
        return Ok((StatusCode::NOT_MODIFIED, common).into_response());
    }
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(content_type(name)))];
    if takes_gzip(headers) {
        let packed = [(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))];
        return Ok((common, kind, packed, file.packed).into_response());
    }
    let mut bytes = Vec::new();
    GzDecoder::new(file.packed).read_to_end(&mut bytes).map_err(|error| ApiError::internal(&error))?;
    Ok((common, kind, bytes).into_response())
}

/// Whether the client takes bodies that are compressed by gzip.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|part| {
        let (name, quality) = part.split_once(';').unwrap_or((part, ""));
        let is_refused = quality.replace(' ', "").trim_start_matches("q=").parse::<f32>() == Ok(0.0);
        matches!(name.trim(), "gzip" | "*") && !is_refused
    })
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "text/plain; charset=utf-8",
    }
}
