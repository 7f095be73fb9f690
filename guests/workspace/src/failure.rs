//! Errors of file operations.

use crate::lines::Unfit;
use crate::place::Place;
use bub_guest::{Error, ErrorKind};
use wasip2::filesystem::types::ErrorCode;

/// The command for the grant. Quoted, because shells interpret `<`.
const GRANT: &str = "bub-wasm plugin grant workspace 'fs:<workspace>:rw'";

/// The host opened no directory.
pub fn closed() -> Error {
    let message = format!(
        "plugin `workspace` does not hold the grant `fs:<workspace>:rw`, or the workspace holds bub-wasm's own files; to give it: {GRANT}"
    );
    Error::new(ErrorKind::Denied, message)
}

/// The directory is open for reading only.
pub fn read_only() -> Error {
    let message = format!("the workspace is open for reading only; to let its files be written: {GRANT}");
    Error::new(ErrorKind::Denied, message)
}

/// The content exceeds the maximum.
pub fn too_large(place: &Place, size: u64, max: usize) -> Error {
    let message = format!(
        "`{}` has {size} bytes, and at most {} MiB are written or edited at once; use `bash` for it",
        place.shown,
        max >> 20
    );
    Error::invalid(message)
}

/// The requested lines are beyond the scanned bytes.
pub fn too_far(place: &Place, scanned: u64) -> Error {
    let message = format!(
        "the first {} MiB of `{}` do not reach the end of what was asked for; read it with `bash`, as by `sed -n` or `tail`",
        scanned >> 20,
        place.shown
    );
    Error::invalid(message)
}

/// The content is not text, or too much.
pub fn unfit(place: &Place, unfit: Unfit) -> Error {
    let message = match unfit {
        Unfit::Binary(at) => format!(
            "`{}` is no UTF-8 text: byte {at} of what was read is none; look at it with `bash`, as by `file` or `xxd`",
            place.shown
        ),
        Unfit::TooMuch(max) => format!(
            "more than {} MiB of `{}` were asked for; read a part of it with `offset` and `limit`, or search it with `bash`",
            max >> 20,
            place.shown
        ),
    };
    Error::invalid(message)
}

/// Not a regular file.
pub fn not_regular(place: &Place, is_directory: bool) -> Error {
    let message = match is_directory {
        true => format!("`{}` is a directory; list it with `bash`, as by `ls`", place.shown),
        false => format!("`{}` is no regular file but a pipe, a socket or a device; use `bash` for it", place.shown),
    };
    Error::invalid(message)
}

/// An error code of the file system.
pub fn of_code(code: ErrorCode, place: &Place) -> Error {
    let path = &place.shown;
    let (kind, message) = match code {
        ErrorCode::NotPermitted => (
            ErrorKind::Denied,
            format!(
                "`{path}` leads out of the workspace, or through a link to an absolute path; the file tools stay within it"
            ),
        ),
        ErrorCode::Access => (
            ErrorKind::Denied,
            format!(
                "`{path}` may not be opened: the system's permissions forbid it, or it is one of the files that bub-wasm obeys"
            ),
        ),
        ErrorCode::ReadOnly => (ErrorKind::Denied, format!("`{path}` is on a file system that cannot be written")),
        ErrorCode::NoEntry => {
            (ErrorKind::NotFound, format!("`{path}` does not exist; look for it with `bash`, as by `ls` or `find`"))
        }
        ErrorCode::NotDirectory => (ErrorKind::InvalidInput, format!("a part of `{path}` is no directory")),
        ErrorCode::IsDirectory => return not_regular(place, true),
        ErrorCode::Loop => (ErrorKind::InvalidInput, format!("`{path}` leads through links that go round in a circle")),
        ErrorCode::NameTooLong => (ErrorKind::InvalidInput, "the path is longer than the system takes".to_owned()),
        ErrorCode::Invalid | ErrorCode::IllegalByteSequence => {
            (ErrorKind::InvalidInput, "the path has a character that the system does not take".to_owned())
        }
        ErrorCode::InsufficientSpace | ErrorCode::Quota => {
            (ErrorKind::Unknown, format!("there is no space left for `{path}`; it may be written in part"))
        }
        other => (ErrorKind::Unknown, format!("`{path}`: {}", other.message())),
    };
    Error::new(kind, message)
}
