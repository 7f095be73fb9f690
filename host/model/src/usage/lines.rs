//! Reading of an append-only file by lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

/// Maximum length of a line in bytes, larger than any real one.
const MAX_LINE: u64 = 16 << 10;

/// Visits every complete line after byte `from`, and returns where the last one ends. An incomplete line may follow.
pub(super) fn read(file: &File, from: u64, mut each: impl FnMut(&[u8])) -> io::Result<u64> {
    let mut reader = BufReader::with_capacity(64 << 10, file);
    reader.seek(SeekFrom::Start(from))?;
    let (mut end, mut piece, mut is_rest) = (from, Vec::new(), false);
    loop {
        piece.clear();
        let length = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut piece)? as u64;
        let is_whole = piece.ends_with(b"\n");
        if !is_whole && length < MAX_LINE {
            return Ok(end);
        }
        end += length;
        // Skips all parts of a line that is too long.
        if is_whole && !is_rest {
            each(&piece);
        }
        is_rest = !is_whole;
    }
}
