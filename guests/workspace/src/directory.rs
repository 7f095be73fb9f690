//! The directory that the host opens, and its files. The host refuses paths that escape it, also over symbolic links.

use crate::failure;
use crate::place::Place;
use bub_guest::Error;
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, DescriptorType, ErrorCode, OpenFlags, PathFlags};

/// The name under which the host opens the workspace.
const NAME: &str = ".";
/// Bytes per read or write: the host's maximum.
const PIECE: usize = 64 << 10;
/// Maximum bytes of a file that are scanned for lines.
const MAX_SCANNED: u64 = 256 << 20;

/// The workspace, as the host opened it.
pub struct Directory(Descriptor);

/// An open regular file.
pub struct File {
    descriptor: Descriptor,
    /// The size when it was opened.
    pub size: u64,
}

/// Why reading stopped.
pub enum Stop {
    Failed(ErrorCode),
    /// The limit was reached before the requested lines.
    TooFar,
}

impl Directory {
    /// # Errors
    ///
    /// `denied` if the host opened none.
    pub fn open() -> Result<Directory, Error> {
        let workspace = get_directories().into_iter().find(|(_, name)| name == NAME);
        workspace.map(|(descriptor, _)| Directory(descriptor)).ok_or_else(failure::closed)
    }

    /// Opens an existing file for reading.
    pub fn open_to_read(&self, place: &Place) -> Result<File, Error> {
        self.look(place)?;
        self.opened(place, OpenFlags::empty(), DescriptorFlags::READ)
    }

    /// Opens an existing file for reading and replacing.
    pub fn open_to_edit(&self, place: &Place) -> Result<File, Error> {
        self.look(place)?;
        self.want_writable()?;
        self.opened(place, OpenFlags::empty(), DescriptorFlags::READ | DescriptorFlags::WRITE)
    }

    /// Opens a file for writing; creates it and its missing parents.
    pub fn open_to_write(&self, place: &Place) -> Result<File, Error> {
        match self.0.stat_at(PathFlags::SYMLINK_FOLLOW, &place.inside) {
            Ok(stat) => want_regular(stat.type_, place)?,
            Err(ErrorCode::NoEntry) => {
                self.want_writable()?;
                for parent in place.parents() {
                    match self.0.create_directory_at(parent) {
                        Ok(()) | Err(ErrorCode::Exist) => {}
                        // `..` and `.` exist and cannot be created: opening decides whether they escape.
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

    /// Checked before opening: opening a pipe would block.
    fn look(&self, place: &Place) -> Result<(), Error> {
        let stat = self.0.stat_at(PathFlags::SYMLINK_FOLLOW, &place.inside);
        want_regular(stat.map_err(|code| failure::of_code(code, place))?.type_, place)
    }

    /// A read-only directory gives the same error code as an escaping path.
    fn want_writable(&self) -> Result<(), Error> {
        let flags = self.0.get_flags().unwrap_or(DescriptorFlags::MUTATE_DIRECTORY);
        if flags.contains(DescriptorFlags::MUTATE_DIRECTORY) { Ok(()) } else { Err(failure::read_only()) }
    }

    fn opened(&self, place: &Place, how: OpenFlags, flags: DescriptorFlags) -> Result<File, Error> {
        let failed = |code| failure::of_code(code, place);
        let descriptor = self.0.open_at(PathFlags::SYMLINK_FOLLOW, &place.inside, how, flags).map_err(failed)?;
        // Checked again: it may have been replaced.
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
    /// Passes the file's content to `take`, until the end or until it returns `false`.
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

    /// Replaces the file's content in place, so that its permissions and links are kept.
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
