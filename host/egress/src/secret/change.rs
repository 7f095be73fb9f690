//! Setting and removing secrets.

use crate::secret::table;
use crate::secret::table::Entry;
use crate::secret::value::{MAX_VALUE, MIN_CHARS, Source};
use crate::secret::{Error, NewValue, Secrets, by_key, check_name, file, host};

impl Secrets {
    /// Sets the secret `name`, bound to `hosts`. Other secrets are kept, also those that another process has just set.
    /// Waits up to 5 seconds for the lock.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for an invalid name, host or value: fewer than 6 characters, more than 64 KiB, a path that is
    /// not absolute or whose file cannot be read. [`Error::File`] if `secrets.toml` cannot be read or written; it is
    /// unchanged then.
    pub fn set(&mut self, name: &str, value: NewValue, hosts: &[String]) -> Result<(), Error> {
        check_name(name)?;
        let hosts = host::parse_all(hosts.iter().map(String::as_str))?;
        let source = match value {
            NewValue::Text(value) => Source::Text(value),
            NewValue::File(path) if !path.is_absolute() => {
                return Err(Error::Invalid(format!("`{}` is not an absolute path", path.display())));
            }
            NewValue::File(path) => Source::File(path),
        };
        let invalid = |why: String| Error::Invalid(format!("secret `{name}` {why}"));
        let read = source.read().map_err(invalid)?;
        if read.is_short() {
            return Err(invalid(format!(
                "is shorter than {MIN_CHARS} characters: redacting it would garble ordinary texts"
            )));
        }
        if matches!(source, Source::Text(_)) && read.expose_text().is_none() {
            return Err(invalid(format!(
                "is not UTF-8: store it in a file of at most {MAX_VALUE} bytes and name that file"
            )));
        }
        let entry = Entry { name: name.to_owned(), source: Some(source), hosts };
        self.rewrite(|path, text| table::with(path, text, &entry))
    }

    /// Removes the secret from the file. A value in the environment stays.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the file has no such secret, [`Error::Invalid`] if `name` is not a valid name, and
    /// [`Error::File`] if the file cannot be read or written.
    pub fn remove(&mut self, name: &str) -> Result<(), Error> {
        check_name(name)?;
        self.rewrite(|path, text| {
            table::without(path, text, name)?.ok_or_else(|| Error::NotFound { name: name.into() })
        })
    }

    fn rewrite(&mut self, edit: impl FnOnce(&std::path::Path, &str) -> Result<String, Error>) -> Result<(), Error> {
        let path = self.path.clone();
        let mut written = String::new();
        file::change(&path, |text| {
            written = edit(&path, text)?;
            // Validates the new text before it is written.
            by_key(&path, table::entries(&path, &written)?)?;
            Ok(written.clone())
        })?;
        self.take(&written)
    }
}
