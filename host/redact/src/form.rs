//! Redaction by form, for secrets whose values are not known: runs of letters and digits that look like keys, and names and
//! passwords in addresses.

use crate::REPLACEMENT;

/// Minimum length of a run of letters and digits that counts as a key. Names of models and plugins have shorter runs.
const KEY_LENGTH: usize = 20;

/// Redacts what looks like a key, and names and passwords in addresses.
///
/// ```
/// assert_eq!(bub_redact::mask("key sk-proj-Zx81kPq93LmNb72QwErTy6, next"), "key sk-proj-***, next");
/// assert_eq!(bub_redact::mask("at https://me:hunter2@host:80/v1"), "at https://***@host:80/v1");
/// ```
pub fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut run = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            run.push(c);
            continue;
        }
        masked.push_str(shown(&run));
        run.clear();
        if c == '@' {
            hide_user(&mut masked);
        }
        masked.push(c);
    }
    masked.push_str(shown(&run));
    masked
}

/// The address of a proxy with its user and password redacted and without its path.
///
/// A password may contain `/`, `?`, `#` and `@` unencoded, so the host is what follows the last `@`. For other addresses, whose
/// paths may contain `@`, use [`mask`].
///
/// ```
/// assert_eq!(bub_redact::proxy_address("http://me:p@ss/w@proxy:8080/"), "http://***@proxy:8080");
/// assert_eq!(bub_redact::proxy_address("proxy:8080"), "http://proxy:8080");
/// ```
pub fn proxy_address(proxy: &str) -> String {
    let (scheme, rest) = proxy.trim().split_once("://").unwrap_or(("http", proxy.trim()));
    let authority = |rest: &str| rest.split(['/', '?', '#']).next().unwrap_or_default().to_owned();
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{REPLACEMENT}@{}", authority(host)),
        None => format!("{scheme}://{}", authority(rest)),
    }
}

/// A run of letters and digits, or its replacement.
fn shown(run: &str) -> &str {
    let is_mixed = run.bytes().any(|byte| byte.is_ascii_digit()) && run.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_one_word = run.len() >= 2 * KEY_LENGTH && !run.contains('_');
    if run.len() >= KEY_LENGTH && is_mixed || is_one_word { REPLACEMENT } else { run }
}

/// Redacts what is between the last `://` and the end, if it is part of an authority.
fn hide_user(masked: &mut String) {
    let Some(start) = masked.rfind("://").map(|at| at + "://".len()) else { return };
    let is_authority = !masked[start..].contains(|c: char| c == '/' || c.is_whitespace());
    if is_authority {
        masked.truncate(start);
        masked.push_str(REPLACEMENT);
    }
}
