//! Secrets: the file that holds them, the hosts that they go to, and the requests and texts that they stand in.

mod injector;
mod keep;
mod redact;

use bub_egress::secret::{NewValue, Secrets, Value};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A value that needs encoding in every place where it can stand.
const VALUE: &str = "k/e+y=1 2&3%\"4";

/// A home with a file of secrets, removed at the end of the test.
struct Room {
    dir: tempfile::TempDir,
}

impl Room {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn with(text: &str) -> Self {
        let room = Self::new();
        room.write(text, 0o600);
        room
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("secrets.toml")
    }

    fn write(&self, text: &str, mode: u32) {
        std::fs::write(self.path(), text).unwrap();
        std::fs::set_permissions(self.path(), PermissionsExt::from_mode(mode)).unwrap();
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).unwrap()
    }

    #[track_caller]
    fn load(&self) -> Secrets {
        self.load_with(&[])
    }

    #[track_caller]
    fn load_with(&self, environment: &[(&str, &str)]) -> Secrets {
        Secrets::load(self.dir.path(), variables(environment)).unwrap()
    }

    /// The error with which loading fails.
    #[track_caller]
    fn refusal(&self) -> String {
        Secrets::load(self.dir.path(), variables(&[])).unwrap_err().to_string()
    }

    /// A file beside the file of secrets.
    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

fn variables(of: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
    of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>().into_iter()
}

fn text(value: &str) -> NewValue {
    NewValue::Text(Value::new(value))
}

fn hosts<const N: usize>(hosts: [&str; N]) -> Vec<String> {
    hosts.map(str::to_owned).to_vec()
}
