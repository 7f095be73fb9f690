//! `wasi:filesystem/types` as wasmtime serves it, less the files that the program obeys.
//!
//! A directory that a grant opens may hold such a file: the configuration is a link to it, or has a second name there. So
//! each call that takes a path is checked against [`ProtectedFiles`], and each file that was opened once more.

use super::file_guard::{FileGuard, open};
use crate::guest::state::State;
use crate::plugin::recording::CallRecording;
use bub_system::files::Change;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wasmtime::Result;
use wasmtime::component::{HasData, Linker, Resource};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemCtxView, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream, ErrorCode,
    HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

/// Puts the guarded calls in the place of wasmtime's own.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    linker.allow_shadowing(true);
    types::add_to_linker::<State, GuardedFiles>(linker, |state| {
        let guard = state.file_guard.clone();
        let recording = guard.as_ref().map(|_| state.recording.clone()).filter(CallRecording::is_on);
        if let Some(recording) = &recording {
            recording.uses_files();
        }
        let listings = state.listings.clone();
        Guarded { inner: state.filesystem(), guard, recording, listings }
    })?;
    linker.allow_shadowing(false);
    Ok(())
}

struct GuardedFiles;

impl HasData for GuardedFiles {
    type Data<'a> = Guarded<'a>;
}

struct Guarded<'a> {
    inner: WasiFilesystemCtxView<'a>,
    /// None: no directory was opened, and there is nothing to guard.
    guard: Option<FileGuard>,
    /// Records what the guest finds, or plays it back.
    recording: Option<CallRecording>,
    listings: Listings,
}

/// The entries that are left of listed directories, where a call is recorded or played back: they are sorted, so that they
/// come in one order on all file systems.
pub(crate) type Listings = Arc<Mutex<HashMap<u32, VecDeque<DirectoryEntry>>>>;

impl Guarded<'_> {
    fn check(&mut self, fd: &Resource<Descriptor>, path: &str, change: Change) -> FsResult<()> {
        match &self.guard {
            Some(guard) => guard.check(self.inner.table.get(fd)?, path, change),
            None => Ok(()),
        }
    }

    /// Tells the recording of a path, if the call is recorded.
    fn note(&self, fd: &Resource<Descriptor>, path: &str, note: impl FnOnce(&CallRecording, &Path)) -> FsResult<()> {
        let Some(recording) = self.recording.as_ref().filter(|recording| !recording.is_playback()) else {
            return Ok(());
        };
        match path_of(self.inner.table.get(fd)?) {
            Some(dir) => note(recording, &dir.join(path)),
            None => recording.cannot_record("it uses files whose paths are unknown"),
        }
        Ok(())
    }

    fn note_look(&self, fd: &Resource<Descriptor>, how: PathFlags, path: &str) -> FsResult<()> {
        self.note(fd, path, |recording, path| recording.looks_at(path, how.contains(PathFlags::SYMLINK_FOLLOW)))
    }

    /// What is there is moved or removed: a playback does so too, and needs its content.
    fn note_moved(&self, fd: &Resource<Descriptor>, path: &str) -> FsResult<()> {
        self.note(fd, path, |recording, path| {
            recording.opens(path, false);
            recording.changes(path, false);
        })
    }

    fn note_change(&self, fd: &Resource<Descriptor>, path: &str) -> FsResult<()> {
        self.note(fd, path, |recording, path| recording.changes(path, false))
    }
}

/// Where an open file or directory is.
fn path_of(descriptor: &Descriptor) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", open(descriptor).as_raw_fd())).ok()?;
    path.is_absolute().then_some(path)
}

type Fd = Resource<Descriptor>;

impl types::Host for Guarded<'_> {
    fn convert_error_code(&mut self, error: FsError) -> Result<ErrorCode> {
        self.inner.convert_error_code(error)
    }

    fn filesystem_error_code(&mut self, error: Resource<wasmtime::Error>) -> Result<Option<ErrorCode>> {
        self.inner.filesystem_error_code(error)
    }
}

impl HostDescriptor for Guarded<'_> {
    async fn open_at(
        &mut self,
        fd: Fd,
        how: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        let Some(guard) = self.guard.clone() else {
            return self.inner.open_at(fd, how, path, open_flags, flags).await;
        };
        let follows = how.contains(PathFlags::SYMLINK_FOLLOW);
        let named =
            self.recording.as_ref().and_then(|_| path_of(self.inner.table.get(&fd).ok()?)).map(|dir| dir.join(&path));
        self.note_look(&fd, how, &path)?;
        self.check(&fd, &path, Change::Open(how.contains(PathFlags::SYMLINK_FOLLOW)))?;
        // A file that is truncated on opening would be lost before the guard has identified it.
        let truncates = open_flags.contains(OpenFlags::TRUNCATE) && !open_flags.contains(OpenFlags::DIRECTORY);
        let (mut first, mut access) = (open_flags, flags);
        if truncates {
            first &= !OpenFlags::TRUNCATE;
            if !access.contains(DescriptorFlags::WRITE) {
                access |= DescriptorFlags::READ | DescriptorFlags::WRITE;
            }
        }
        let opened = self.inner.open_at(fd, how, path.clone(), first, access).await?;
        if guard.files.is_protected(open(self.inner.table.get(&opened)?)) {
            self.inner.table.delete(opened)?;
            return Err(guard.refuse(&path));
        }
        if let (Some(recording), Some(named)) = (&self.recording, &named) {
            recording.opens(named, follows);
            if truncates || flags.contains(DescriptorFlags::WRITE) || open_flags.contains(OpenFlags::CREATE) {
                recording.changes(named, follows);
            }
        }
        if truncates && let Err(error) = self.inner.set_size(Resource::new_borrow(opened.rep()), 0).await {
            self.inner.table.delete(opened)?;
            return Err(error);
        }
        Ok(opened)
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.check(&fd, &path, Change::Create)?;
        self.note_change(&fd, &path)?;
        self.inner.create_directory_at(fd, path).await
    }

    async fn set_times_at(
        &mut self,
        fd: Fd,
        how: PathFlags,
        path: String,
        access: NewTimestamp,
        change: NewTimestamp,
    ) -> FsResult<()> {
        self.check(&fd, &path, Change::Open(how.contains(PathFlags::SYMLINK_FOLLOW)))?;
        self.note_look(&fd, how, &path)?;
        self.inner.set_times_at(fd, how, path, access, change).await
    }

    async fn link_at(&mut self, fd: Fd, how: PathFlags, old: String, new_fd: Fd, new: String) -> FsResult<()> {
        self.check(&fd, &old, Change::Open(how.contains(PathFlags::SYMLINK_FOLLOW)))?;
        self.check(&new_fd, &new, Change::Create)?;
        self.note(&fd, &old, |recording, path| recording.opens(path, how.contains(PathFlags::SYMLINK_FOLLOW)))?;
        self.note_change(&new_fd, &new)?;
        self.inner.link_at(fd, how, old, new_fd, new).await
    }

    async fn rename_at(&mut self, fd: Fd, old: String, new_fd: Fd, new: String) -> FsResult<()> {
        self.check(&fd, &old, Change::Entry)?;
        self.check(&new_fd, &new, Change::Entry)?;
        self.note_moved(&fd, &old)?;
        self.note_moved(&new_fd, &new)?;
        self.inner.rename_at(fd, old, new_fd, new).await
    }

    async fn symlink_at(&mut self, fd: Fd, target: String, path: String) -> FsResult<()> {
        self.check(&fd, &path, Change::Create)?;
        self.note_change(&fd, &path)?;
        self.inner.symlink_at(fd, target, path).await
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.check(&fd, &path, Change::Entry)?;
        self.note_moved(&fd, &path)?;
        self.inner.unlink_file_at(fd, path).await
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.check(&fd, &path, Change::Entry)?;
        self.note_moved(&fd, &path)?;
        self.inner.remove_directory_at(fd, path).await
    }

    // The functions below take an open file, which was checked when it was opened, or only look at names.

    async fn advise(&mut self, fd: Fd, offset: u64, length: u64, advice: Advice) -> FsResult<()> {
        self.inner.advise(fd, offset, length, advice).await
    }

    async fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        self.inner.sync_data(fd).await
    }

    async fn get_flags(&mut self, fd: Fd) -> FsResult<DescriptorFlags> {
        self.inner.get_flags(fd).await
    }

    async fn get_type(&mut self, fd: Fd) -> FsResult<DescriptorType> {
        self.inner.get_type(fd).await
    }

    async fn set_size(&mut self, fd: Fd, size: u64) -> FsResult<()> {
        self.inner.set_size(fd, size).await
    }

    async fn set_times(&mut self, fd: Fd, access: NewTimestamp, change: NewTimestamp) -> FsResult<()> {
        self.inner.set_times(fd, access, change).await
    }

    async fn read(&mut self, fd: Fd, length: u64, offset: u64) -> FsResult<(Vec<u8>, bool)> {
        self.inner.read(fd, length, offset).await
    }

    async fn write(&mut self, fd: Fd, bytes: Vec<u8>, offset: u64) -> FsResult<u64> {
        self.inner.write(fd, bytes, offset).await
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<DirectoryEntryStream>> {
        if self.recording.is_none() {
            return self.inner.read_directory(fd).await;
        }
        let dir = path_of(self.inner.table.get(&fd)?);
        let stream = self.inner.read_directory(fd).await?;
        let mut entries = Vec::new();
        while let Some(entry) = self.inner.read_directory_entry(Resource::new_borrow(stream.rep())).await? {
            entries.push(entry);
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        if let (Some(recording), Some(dir)) = (&self.recording, &dir) {
            let kind = |entry: &DirectoryEntry| match entry.type_ {
                DescriptorType::Directory => "directory",
                DescriptorType::SymbolicLink => "link",
                _ => "file",
            };
            let shown = || entries.iter().map(|entry| (entry.name.clone(), kind(entry).to_owned())).collect();
            recording.lists(dir, shown);
        }
        self.listings.lock().insert(stream.rep(), entries.into());
        Ok(stream)
    }

    async fn sync(&mut self, fd: Fd) -> FsResult<()> {
        self.inner.sync(fd).await
    }

    async fn stat(&mut self, fd: Fd) -> FsResult<DescriptorStat> {
        self.inner.stat(fd).await
    }

    async fn stat_at(&mut self, fd: Fd, how: PathFlags, path: String) -> FsResult<DescriptorStat> {
        self.note_look(&fd, how, &path)?;
        self.inner.stat_at(fd, how, path).await
    }

    async fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        self.note_look(&fd, PathFlags::empty(), &path)?;
        self.inner.readlink_at(fd, path).await
    }

    fn read_via_stream(&mut self, fd: Fd, offset: u64) -> FsResult<Resource<DynInputStream>> {
        self.inner.read_via_stream(fd, offset)
    }

    fn write_via_stream(&mut self, fd: Fd, offset: u64) -> FsResult<Resource<DynOutputStream>> {
        self.inner.write_via_stream(fd, offset)
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        self.inner.append_via_stream(fd)
    }

    async fn is_same_object(&mut self, one: Fd, other: Fd) -> Result<bool> {
        self.inner.is_same_object(one, other).await
    }

    async fn metadata_hash(&mut self, fd: Fd) -> FsResult<MetadataHashValue> {
        self.inner.metadata_hash(fd).await
    }

    async fn metadata_hash_at(&mut self, fd: Fd, how: PathFlags, path: String) -> FsResult<MetadataHashValue> {
        self.note_look(&fd, how, &path)?;
        self.inner.metadata_hash_at(fd, how, path).await
    }

    fn drop(&mut self, fd: Fd) -> Result<()> {
        HostDescriptor::drop(&mut self.inner, fd)
    }
}

impl HostDirectoryEntryStream for Guarded<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        if let Some(left) = self.listings.lock().get_mut(&stream.rep()) {
            return Ok(left.pop_front());
        }
        self.inner.read_directory_entry(stream).await
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> Result<()> {
        self.listings.lock().remove(&stream.rep());
        HostDirectoryEntryStream::drop(&mut self.inner, stream)
    }
}
