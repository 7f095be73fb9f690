//! The one directory that the host opens, and the files in it. What leads out of it is refused by the host, wherever a
//! path goes and whatever happens to the links on its way: nothing here decides that.

use crate::bub::types::types::Error;
use crate::failure;
use crate::place::Place;
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, DescriptorType, ErrorCode, OpenFlags, PathFlags};

/// The name under which the host opens the workspace.
const NAME: &str = ".";
/// Bytes that are read or written at once: the most that the host reads.
const PIECE: usize = 64 << 10;
/// Bytes that are read of one file: beyond, lines are not looked for.
const MAX_SCANNED: u64 = 256 << 20;

/// The workspace, as the host opened it.
pub struct Directory(Descriptor);

/// An open regular file.
pub struct File {
    descriptor: Descriptor,
    /// Bytes that it had when it was opened.
    pub size: u64,
}

/// Why reading stopped.
pub enum Stop {
    Failed(ErrorCode),
    /// So much was read, and the lines that were asked for had not come.
    TooFar,
}

impl Directory {
    /// # Errors
    ///
    /// `denied` when the host opened none.
    pub fn open() -> Result<Directory, Error> {
        let workspace = get_directories().into_iter().find(|(_, name)| name == NAME);
        workspace.map(|(descriptor, _)| Directory(descriptor)).ok_or_else(failure::closed)
    }

    /// Opens a file that is there, to read it.
    pub fn open_to_read(&self, place: &Place) -> Result<File, Error> {
        self.look(place)?;
        self.opened(place, OpenFlags::empty(), DescriptorFlags::READ)
    }

    /// Opens a file that is there, to read it and to write it anew.
    pub fn open_to_edit(&self, place: &Place) -> Result<File, Error> {
        self.look(place)?;
        self.want_writable()?;
        self.opened(place, OpenFlags::empty(), DescriptorFlags::READ | DescriptorFlags::WRITE)
    }

    /// Opens a file to write it, and makes it and the directories above it where they are missing.
    pub fn open_to_write(&self, place: &Place) -> Result<File, Error> {
        match self.0.stat_at(PathFlags::SYMLINK_FOLLOW, &place.inside) {
            Ok(stat) => want_regular(stat.type_, place)?,
            Err(ErrorCode::NoEntry) => {
                self.want_writable()?;
                for parent in place.parents() {
                    match self.0.create_directory_at(parent) {
                        Ok(()) | Err(ErrorCode::Exist) => {}
                        // `..` and `.` are there and cannot be made: whether they lead on is for the opening to say.
                        Err(_) if parent.ends_with('.') => {}
                        Err(code) => return Err(failure::of_code(code, place)),
                    }
                }
            }
            Err(code) => return Err(failure::of_code(code, place)),
        }
        self.want_writable()?;
        self.opened(place, OpenFlags::CREATE, DescriptorFlags::WRITE)
    }

    /// Before opening: who opens a pipe waits for its other end.
    fn look(&self, place: &Place) -> Result<(), Error> {
        let stat = self.0.stat_at(PathFlags::SYMLINK_FOLLOW, &place.inside);
        want_regular(stat.map_err(|code| failure::of_code(code, place))?.type_, place)
    }

    /// The code for a directory that may only be read is that of a path that leads out.
    fn want_writable(&self) -> Result<(), Error> {
        let flags = self.0.get_flags().unwrap_or(DescriptorFlags::MUTATE_DIRECTORY);
        if flags.contains(DescriptorFlags::MUTATE_DIRECTORY) { Ok(()) } else { Err(failure::read_only()) }
    }

    fn opened(&self, place: &Place, how: OpenFlags, flags: DescriptorFlags) -> Result<File, Error> {
        let failed = |code| failure::of_code(code, place);
        let descriptor = self.0.open_at(PathFlags::SYMLINK_FOLLOW, &place.inside, how, flags).map_err(failed)?;
        // Once more: it may be another than the one that was looked at.
        let stat = descriptor.stat().map_err(failed)?;
        want_regular(stat.type_, place)?;
        Ok(File { descriptor, size: stat.size })
    }
}

fn want_regular(found: DescriptorType, place: &Place) -> Result<(), Error> {
    match found {
        DescriptorType::RegularFile => Ok(()),
        other => Err(failure::not_regular(place, other == DescriptorType::Directory)),
    }
}

impl File {
    /// Hands over the file from its beginning, until its end or until `take` wants no more.
    pub fn pieces(&self, mut take: impl FnMut(&[u8]) -> bool) -> Result<(), Stop> {
        let mut offset = 0;
        while offset < MAX_SCANNED {
            let (piece, is_end) = self.descriptor.read(PIECE as u64, offset).map_err(Stop::Failed)?;
            if is_end && piece.is_empty() || !take(&piece) {
                return Ok(());
            }
            offset += piece.len() as u64;
        }
        Err(Stop::TooFar)
    }

    /// Puts these bytes in the place of all that the file holds. In place, so that its permissions and its links stay.
    pub fn replace(&self, bytes: &[u8], place: &Place) -> Result<(), Error> {
        let failed = |code| failure::of_code(code, place);
        let mut offset = 0;
        while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
            let piece = rest.get(..PIECE).unwrap_or(rest);
            let written = self.descriptor.write(piece, offset as u64).map_err(failed)?;
            if written == 0 {
                return Err(failed(ErrorCode::InsufficientSpace));
            }
            offset += usize::try_from(written).unwrap_or(piece.len());
        }
        self.descriptor.set_size(bytes.len() as u64).map_err(failed)
    }
}

impl Stop {
    pub fn into_error(self, place: &Place) -> Error {
        match self {
            Stop::Failed(code) => failure::of_code(code, place),
            Stop::TooFar => failure::too_far(place, MAX_SCANNED),
        }
    }
}
