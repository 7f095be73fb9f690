//! One input of the fuzz target: its files are laid out, read, and written to in every way.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bub_tape::{Durability, Entry, Error, FileStore, JournalSettings, Journals, Store, Tape, Tapes, check_tape_name};

use super::input::Input;
use super::{reader, writer};

pub(crate) const NAME: &str = "aaaa__bbbb";
pub(crate) const SIDECAR: &str = "notes";

/// The files of an input, in a directory of their own.
pub(crate) struct Files {
    dir: tempfile::TempDir,
}

/// Does all that can be done with the tape that the bytes stand for.
///
/// # Panics
///
/// When something is lost, is read in two ways, or cannot be written for no reason.
pub(crate) async fn look(bytes: &[u8]) {
    let input = Input::of(bytes, &format!("{NAME}.jsonl"), &format!("{NAME}__sidecar__{SIDECAR}.jsonl"));
    let files = Files::lay(&input);
    let (store, tapes) = files.open();
    let tape = tapes.open(NAME).expect("that is a name");
    let all = reader::read(&*store, &tape, &input).await;
    assert_eq!(files.tape(), input.tape, "a reader changes nothing");
    names(&*store, &tape).await;
    if writer::append(&files, &tape, &input, &all).await {
        writer::turns(&files, &tapes, &input).await;
        writer::reset(&files, &tape, &input).await;
    }
}

/// Whether an error can be shown as it is.
pub(crate) fn is_clean(error: Error) -> bool {
    let text = error.to_string();
    !text.is_empty() && !text.contains('\n')
}

async fn names(store: &dyn Store, tape: &Tape) {
    let names = store.list(None, usize::MAX).await.expect("tapes can be listed");
    assert_eq!(names, [NAME]);
    assert!(names.iter().all(|name| check_tape_name(name).is_ok()));
    tape.check_writable().await.expect("the files can be written");
    let sidecars = tape.sidecars().await.expect("sidecars can be listed");
    for sidecar in sidecars {
        store.read(&sidecar, 0, usize::MAX).await.expect("a sidecar can be read");
    }
}

impl Files {
    fn lay(input: &Input) -> Self {
        let files = Self { dir: tempfile::tempdir().expect("a directory can be made") };
        let written = [
            (files.path(""), Some(&input.tape)),
            (files.path(".lock"), input.slot.as_ref()),
            (files.path(".turn"), input.turn.as_ref()),
            (files.path(".torn"), input.torn.as_ref()),
            (files.dir().join(format!("{NAME}__sidecar__{SIDECAR}.jsonl")), input.sidecar.as_ref()),
            (files.index().join(format!("{NAME}.index")), input.index.as_ref()),
        ];
        std::fs::create_dir(files.index()).expect("a directory can be made");
        std::fs::create_dir(files.dir()).expect("a directory can be made");
        for (path, bytes) in written {
            if let Some(bytes) = bytes {
                std::fs::write(path, bytes).expect("a file can be written");
            }
        }
        files
    }

    fn index(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.dir.path().join("tapes")
    }

    pub(crate) fn path(&self, suffix: &str) -> PathBuf {
        self.dir().join(format!("{NAME}.jsonl{suffix}"))
    }

    pub(crate) fn tape(&self) -> Vec<u8> {
        bytes(&self.path(""))
    }

    /// As another process would open them: nothing is known of them.
    pub(crate) fn open(&self) -> (Arc<FileStore>, Tapes) {
        let store = FileStore::indexed(self.dir(), Durability::Os, self.index()).expect("it is a directory");
        let store = Arc::new(store);
        let settings = JournalSettings { lock_wait: Duration::from_millis(200), ..JournalSettings::default() };
        let journals = Arc::new(Journals::new(self.dir(), settings));
        (Arc::clone(&store), Tapes::new(store, journals))
    }

    /// The entries that another process reads.
    pub(crate) async fn again(&self) -> Vec<Entry> {
        let (store, _) = self.open();
        store.tail(NAME, None, usize::MAX).await.expect("the tape can be read")
    }
}

/// The content of a file; empty where there is none.
pub(crate) fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_default()
}
