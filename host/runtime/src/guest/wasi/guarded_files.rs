//! `wasi:filesystem/types` as wasmtime serves it, less the files that the program obeys.
//!
//! A directory that a grant opens may hold such a file: the configuration is a link to it, or has a second name there. So
//! each call that takes a path is checked against [`ProtectedFiles`], and each file that was opened once more.

use super::file_guard::{FileGuard, open};
use crate::guest::state::State;
use bub_system::files::Change;
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
        if state.file_guard.is_some() {
            state.recording.cannot_record("it uses files");
        }
        let guard = state.file_guard.clone();
        Guarded { inner: state.filesystem(), guard }
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
}

impl Guarded<'_> {
    fn check(&mut self, fd: &Resource<Descriptor>, path: &str, change: Change) -> FsResult<()> {
        match &self.guard {
            Some(guard) => guard.check(self.inner.table.get(fd)?, path, change),
            None => Ok(()),
        }
    }
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
        if truncates && let Err(error) = self.inner.set_size(Resource::new_borrow(opened.rep()), 0).await {
            self.inner.table.delete(opened)?;
            return Err(error);
        }
        Ok(opened)
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.check(&fd, &path, Change::Create)?;
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
        self.inner.set_times_at(fd, how, path, access, change).await
    }

    async fn link_at(&mut self, fd: Fd, how: PathFlags, old: String, new_fd: Fd, new: String) -> FsResult<()> {
        self.check(&fd, &old, Change::Open(how.contains(PathFlags::SYMLINK_FOLLOW)))?;
        self.check(&new_fd, &new, Change::Create)?;
        self.inner.link_at(fd, how, old, new_fd, new).await
    }

    async fn rename_at(&mut self, fd: Fd, old: String, new_fd: Fd, new: String) -> FsResult<()> {
        self.check(&fd, &old, Change::Entry)?;
        self.check(&new_fd, &new, Change::Entry)?;
        self.inner.rename_at(fd, old, new_fd, new).await
    }

    async fn symlink_at(&mut self, fd: Fd, target: String, path: String) -> FsResult<()> {
        self.check(&fd, &path, Change::Create)?;
        self.inner.symlink_at(fd, target, path).await
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.check(&fd, &path, Change::Entry)?;
        self.inner.unlink_file_at(fd, path).await
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.check(&fd, &path, Change::Entry)?;
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
        self.inner.read_directory(fd).await
    }

    async fn sync(&mut self, fd: Fd) -> FsResult<()> {
        self.inner.sync(fd).await
    }

    async fn stat(&mut self, fd: Fd) -> FsResult<DescriptorStat> {
        self.inner.stat(fd).await
    }

    async fn stat_at(&mut self, fd: Fd, how: PathFlags, path: String) -> FsResult<DescriptorStat> {
        self.inner.stat_at(fd, how, path).await
    }

    async fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
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
        self.inner.read_directory_entry(stream).await
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> Result<()> {
        HostDirectoryEntryStream::drop(&mut self.inner, stream)
    }
}
