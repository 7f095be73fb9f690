//! Placeholders `{{secret:NAME}}`, which guests write in place of secrets.

use crate::secret::Error;
use crate::secret::name::check_name;

const OPEN: &[u8] = b"{{secret:";
const CLOSE: &[u8] = b"}}";

/// The placeholder for a name, whether or not the secret exists.
///
/// # Errors
///
/// [`Error::Invalid`] if `name` is not a valid name.
pub fn placeholder(name: &str) -> Result<String, Error> {
    check_name(name)?;
    Ok(format!("{{{{secret:{name}}}}}"))
}

/// A part of a path, a query or a header's value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Segment<'a> {
    Text(&'a [u8]),
    Placeholder(&'a str),
}

/// How placeholders may be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceholderEncoding {
    /// As they are.
    Plain,
    /// As they are, or with any of `{`, `:` and `}` as `%7B`, `%3A` and `%7D`, as HTTP libraries encode them.
    Url,
}

/// Splits `text` at its placeholders. Injected values are not searched again.
///
/// # Errors
///
/// [`Error::Invalid`] for a placeholder that is not closed or has no valid name.
pub(super) fn segments(text: &[u8], encoding: PlaceholderEncoding) -> Result<Vec<Segment<'_>>, Error> {
    let mut segments = Vec::new();
    let (mut rest, mut at) = (text, 0);
    while let Some(here) = rest.get(at..).filter(|here| !here.is_empty()) {
        let Some(after) = after(here, OPEN, encoding) else {
            at += 1;
            continue;
        };
        let length = after.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte)).count();
        let (name, after) = after.split_at_checked(length).unwrap_or((after, &[]));
        let name = std::str::from_utf8(name).ok().filter(|name| check_name(name).is_ok());
        let (Some(name), Some(end)) = (name, self::after(after, CLOSE, encoding)) else {
            return Err(Error::Invalid(
                "a placeholder `{{secret:` is not followed by the name of a secret and `}}`".into(),
            ));
        };
        let (before, _) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        segments.extend((!before.is_empty()).then_some(Segment::Text(before)));
        segments.push(Segment::Placeholder(name));
        (rest, at) = (end, 0);
    }
    segments.extend((!rest.is_empty()).then_some(Segment::Text(rest)));
    Ok(segments)
}

/// The rest of `text` after the prefix `wanted`.
fn after<'a>(text: &'a [u8], wanted: &[u8], encoding: PlaceholderEncoding) -> Option<&'a [u8]> {
    wanted.iter().try_fold(text, |text, wanted| match text {
        [byte, rest @ ..] if byte == wanted => Some(rest),
        [b'%', high, low, rest @ ..] if encoding == PlaceholderEncoding::Url => {
            let digit = |byte: &u8| char::from(*byte).to_digit(16);
            (digit(high)? * 16 + digit(low)? == u32::from(*wanted)).then_some(rest)
        }
        _ => None,
    })
}
