//! The files of a login, below `$BUB_HOME/mcp`, which no other user can read: `NAME.token` holds the access token, which a
//! secret refers to, and `NAME.login.json` what is needed to get the next one.

use async_trait::async_trait;
use bub_system::files::{Draft, make_private_dir};
use rmcp::transport::AuthError;
use rmcp::transport::auth::{CredentialRefreshGuard, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 256 << 10;

/// A token is renewed when it is valid for less than this.
const MARGIN: Duration = Duration::from_secs(30);

/// The files of one login.
#[derive(Debug, Clone)]
pub struct LoginFiles {
    dir: PathBuf,
    name: String,
}

/// What is stored beside the token.
#[derive(Serialize, Deserialize)]
pub(crate) struct Stored {
    /// The secret of a client that was registered by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<String>,
    /// Where the browser came back, which some servers compare.
    pub(crate) redirect_uri: String,
    /// The tokens and the client.
    pub(crate) credentials: StoredCredentials,
}

impl Stored {
    /// Whether the token has to be renewed before it is used.
    pub(crate) fn is_stale(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let token = serde_json::to_value(&self.credentials.token_response).unwrap_or_default();
        let lifetime = token.get("expires_in").and_then(serde_json::Value::as_u64).map(Duration::from_secs);
        match (lifetime, self.credentials.token_received_at.map(Duration::from_secs)) {
            (Some(lifetime), Some(received)) => now + MARGIN.min(lifetime / 2) >= received + lifetime,
            _ => false,
        }
    }
}

impl LoginFiles {
    /// The files of the login to the server of that name, a checked one, below `$BUB_HOME`.
    pub fn new(home: &Path, name: &str) -> Self {
        Self { dir: home.join("mcp"), name: name.to_owned() }
    }

    /// The file of the access token.
    pub fn token(&self) -> PathBuf {
        self.dir.join(format!("{}.token", self.name))
    }

    fn login(&self) -> PathBuf {
        self.dir.join(format!("{}.login.json", self.name))
    }

    /// Whether there is a login.
    pub fn exists(&self) -> bool {
        self.login().exists()
    }

    /// Removes the login.
    ///
    /// # Errors
    ///
    /// A file cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        for path in [self.login(), self.token(), self.dir.join(format!("{}.login.lock", self.name))] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn read(&self) -> io::Result<Option<Stored>> {
        let path = self.login();
        let found = match fs::metadata(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if found.len() > MAX_FILE {
            return Err(io::Error::new(ErrorKind::InvalidData, "it is too long"));
        }
        serde_json::from_slice(&fs::read(&path)?).map(Some).map_err(io::Error::from)
    }

    pub(crate) fn write(&self, stored: &Stored) -> io::Result<()> {
        make_private_dir(&self.dir)?;
        let replace = |path: &Path, bytes: &[u8]| -> io::Result<()> {
            let mut draft = Draft::new(path, 0o600)?;
            draft.write_all(bytes)?;
            draft.publish_durably()
        };
        // First what gets the next token: a server may have taken back the one before.
        replace(&self.login(), &serde_json::to_vec(stored)?)?;
        let token = serde_json::to_value(&stored.credentials.token_response)?;
        let token = token.get("access_token").and_then(|token| token.as_str()).unwrap_or_default();
        replace(&self.token(), token.as_bytes())
    }

    /// Waits until no other process renews the token, and keeps them from it.
    fn lock(&self) -> io::Result<File> {
        make_private_dir(&self.dir)?;
        let path = self.dir.join(format!("{}.login.lock", self.name));
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        file.lock()?;
        Ok(file)
    }
}

/// The files as rmcp's store.
pub(crate) struct Store {
    pub(crate) files: LoginFiles,
    pub(crate) client_secret: Option<String>,
    pub(crate) redirect_uri: String,
}

fn failed(action: &str, error: &io::Error) -> AuthError {
    AuthError::CredentialStoreError(format!("the login cannot be {action}: {error}"))
}

#[async_trait]
impl CredentialStore for Store {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let stored = self.files.read().map_err(|error| failed("read", &error))?;
        Ok(stored.map(|stored| stored.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let (client_secret, redirect_uri) = (self.client_secret.clone(), self.redirect_uri.clone());
        let stored = Stored { client_secret, redirect_uri, credentials };
        self.files.write(&stored).map_err(|error| failed("stored", &error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.files.remove().map_err(|error| failed("removed", &error))
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let files = self.files.clone();
        let locked = tokio::task::spawn_blocking(move || files.lock()).await.map_err(io::Error::other).flatten();
        locked.map(|file| Some(CredentialRefreshGuard::new(file))).map_err(|error| failed("locked", &error))
    }
}
