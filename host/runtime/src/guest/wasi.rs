//! WASI for guests: directories, files and HTTP, as far as grants open them.

pub(crate) mod directories;
pub(super) mod egress;
pub(super) mod file_guard;
pub(super) mod guarded_files;
mod recorded_http;
