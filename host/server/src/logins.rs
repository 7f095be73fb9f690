//! Logins of browsers: a one-time code or a token becomes a cookie, which stands for that token until it expires.
//!
//! `$BUB_HOME/logins` has a file for each code and each cookie, named by its SHA-256 digest, so that who reads the folder
//! cannot log in with what is there. A file names the token and its digest: a login ends with its token. Files outlive the
//! process, so a login outlives a restart, and another process of the home (`bub-wasm open`) can issue codes. Workers that
//! share a database keep cookies there, so that a login holds at each of them.

use super::secrets::{hash, random_secret, to_hex};
use super::token::{Bearer, Tokens};
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_postgres::{Database, LoginTable};
use bub_runtime::plugin::PrivateDir;
use bub_types::text::one_line;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The folder below `$BUB_HOME`.
const DIR: &str = "logins";

/// How long a code can be used.
pub const CODE_LIFETIME: SignedDuration = SignedDuration::from_mins(15);

/// How long a cookie can be used.
pub(super) const LOGIN_LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The largest file, in bytes.
const MAX_FILE: u64 = 4096;

/// Codes and cookies at once; then those that expire first are removed.
const MAX_FILES: usize = 1024;

/// Names of files begin with these.
const CODE: &str = "code-";
const COOKIE: &str = "cookie-";

/// The codes of a home, and the cookies of it or of its database.
pub(super) struct Logins {
    dir: PathBuf,
    shared: Option<LoginTable>,
}

/// What a code or a cookie stands for.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// The name of the token.
    token: String,
    /// The SHA-256 digest of the token, in hexadecimal.
    digest: String,
    expires: Timestamp,
}

/// Issues a one-time code for the token of that name, or the owner's.
///
/// # Errors
///
/// There is no such token, or the folder of logins cannot be written.
pub fn issue_code(config: &Config, token: Option<&str>) -> Result<String> {
    let tokens = Tokens::load(config)?;
    let Some(bearer) = tokens.named(token) else {
        let name = one_line(token.unwrap_or_default());
        bail!("config.toml has no token `{name}`: `[[tokens]]` names those that there are");
    };
    Logins::new(&config.home, None).write_file(CODE, bearer, CODE_LIFETIME)
}

impl Logins {
    pub(super) fn new(home: &Path, database: Option<&Database>) -> Self {
        Self { dir: home.join(DIR), shared: database.cloned().map(LoginTable::new) }
    }

    /// Exchanges a code, which cannot be used again, for the token that it stands for.
    pub(super) fn redeem(&self, tokens: &Tokens, code: &str) -> Option<Bearer> {
        let name = file_name(CODE, code);
        let bearer = self.read_file(&name).and_then(|record| record.bearer(tokens));
        // Of two requests with one code, the one that removes the file has it.
        let is_first = std::fs::remove_file(self.dir.join(&name)).is_ok();
        bearer.filter(|_| is_first)
    }

    /// Begins a login, and returns the value of its cookie.
    ///
    /// # Errors
    ///
    /// The folder or the database cannot be written.
    pub(super) async fn begin(&self, bearer: &Bearer) -> Result<String> {
        let Some(table) = &self.shared else { return self.write_file(COOKIE, bearer, LOGIN_LIFETIME) };
        let cookie = random_secret()?;
        let record = serde_json::to_vec(&Record::new(bearer, LOGIN_LIFETIME))?;
        table.put(&digest(&cookie), &record, LOGIN_LIFETIME.as_secs()).await?;
        Ok(cookie)
    }

    /// The token that a cookie stands for.
    ///
    /// # Errors
    ///
    /// The database does not answer.
    pub(super) async fn find(&self, tokens: &Tokens, cookie: &str) -> Result<Option<Bearer>> {
        let record = match &self.shared {
            Some(table) => {
                let record = table.get(&digest(cookie)).await?;
                record.and_then(|record| serde_json::from_slice::<Record>(&record).ok())
            }
            None => self.read_file(&file_name(COOKIE, cookie)),
        };
        Ok(record.and_then(|record| record.bearer(tokens)))
    }

    /// Ends a login.
    ///
    /// # Errors
    ///
    /// The file or the row cannot be removed.
    pub(super) async fn end(&self, cookie: &str) -> Result<()> {
        match &self.shared {
            Some(table) => drop(table.take(&digest(cookie)).await?),
            None if self.dir.exists() => self.open()?.remove(&file_name(COOKIE, cookie))?,
            None => {}
        }
        Ok(())
    }

    fn open(&self) -> Result<PrivateDir> {
        PrivateDir::open(&self.dir).map_err(|reason| anyhow::anyhow!("`{}` {reason}", self.dir.display()))
    }

    fn write_file(&self, kind: &str, bearer: &Bearer, lifetime: SignedDuration) -> Result<String> {
        let secret = random_secret()?;
        let dir = self.open()?;
        sweep(&dir)?;
        let text = serde_json::to_vec(&Record::new(bearer, lifetime))?;
        dir.write(&file_name(kind, &secret), &[&text])
            .with_context(|| format!("`{}` cannot be written", self.dir.display()))?;
        Ok(secret)
    }

    fn read_file(&self, name: &str) -> Option<Record> {
        // A home without a login has no folder, and a look makes none.
        if !self.dir.exists() {
            return None;
        }
        read(&self.open().ok()?, name)
    }
}

impl Record {
    fn new(bearer: &Bearer, lifetime: SignedDuration) -> Self {
        Self { token: bearer.name.clone(), digest: bearer.digest(), expires: Timestamp::now() + lifetime }
    }

    /// The token, if it is unchanged and the record has not expired.
    fn bearer(&self, tokens: &Tokens) -> Option<Bearer> {
        let bearer = tokens.named(Some(&self.token))?;
        (bearer.digest() == self.digest && Timestamp::now() < self.expires).then(|| bearer.clone())
    }
}

fn digest(secret: &str) -> String {
    to_hex(&hash(secret.as_bytes()))
}

fn file_name(kind: &str, secret: &str) -> String {
    format!("{kind}{}", digest(secret))
}

fn read(dir: &PrivateDir, name: &str) -> Option<Record> {
    serde_json::from_slice(&dir.read(name, MAX_FILE)?).ok()
}

/// Removes files that have expired, and those that expire first if there are too many.
fn sweep(dir: &PrivateDir) -> Result<()> {
    let now = Timestamp::now();
    let mut left = Vec::new();
    for file in dir.list()? {
        match read(dir, &file.name).map(|record| record.expires) {
            Some(expires) if now < expires => left.push((expires, file.name)),
            _ => dir.remove(&file.name)?,
        }
    }
    left.sort();
    let excess = (left.len() + 1).saturating_sub(MAX_FILES);
    left.iter().take(excess).try_for_each(|(_, name)| dir.remove(name))?;
    Ok(())
}
