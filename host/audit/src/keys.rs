//! The key of a home that signs heads, and the list of its public keys.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bub_types::text::hex;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::fault::{Fault, FaultKind, Place};
use super::signed;

/// The secret key: its seed, in hex.
const KEY: &str = "key";

/// The public keys, the latest last.
const KEYS: &str = "keys.jsonl";

/// The lock of the folder.
const LOCK: &str = "lock";

/// The longest list of keys that is read.
const MAX_KEYS: u64 = 1 << 20;

/// A public key of a home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKey {
    /// The beginning of its SHA-256.
    pub id: String,
    /// In base64.
    pub public: String,
    /// Since when it signs.
    pub from: String,
    /// The id of the key before, which has signed this line; the first key signs itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
}

impl PublicKey {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        STANDARD.decode(&self.public).unwrap_or_default()
    }
}

/// The keys of a home as they were read.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// The latest last.
    pub keys: Vec<PublicKey>,
    /// What is wrong with the list.
    pub faults: Vec<Fault>,
}

impl Keys {
    /// The key of that id, and its place in the list.
    pub(crate) fn of(&self, id: &str) -> Option<(usize, &PublicKey)> {
        self.keys.iter().enumerate().find(|(_, key)| key.id == id)
    }
}

/// The folder `audit` of a home: the key, the public keys and the signed heads.
#[derive(Clone, Debug)]
pub struct AuditFolder {
    pub(crate) dir: PathBuf,
}

/// The lock of the folder, while it is held.
pub(crate) struct Locked(#[expect(dead_code, reason = "closing it releases the lock")] File);

impl AuditFolder {
    /// The folder at that path, which may not exist yet.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Creates the folder if need be, and waits for its lock.
    pub(crate) fn lock(&self) -> io::Result<Locked> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(self.dir.join(LOCK))?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
        Ok(Locked(file))
    }

    /// The key, made if there was never one. Under the lock.
    pub(crate) fn signer(&self, _lock: &Locked) -> io::Result<(Ed25519KeyPair, String)> {
        match self.read_seed() {
            Ok(seed) => pair(&seed),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if self.dir.join(KEYS).exists() {
                    let message = format!(
                        "the key `{}` is gone; move the folder `{}` away to begin with a new one",
                        self.dir.join(KEY).display(),
                        self.dir.display()
                    );
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message));
                }
                let seed = new_seed()?;
                let (key, id) = pair(&seed)?;
                self.write_seed(&seed)?;
                self.add(&public(&key, &id, None), &key)?;
                Ok((key, id))
            }
            Err(error) => Err(error),
        }
    }

    /// Replaces the key: the old one signs the new one, and its public key stays in the list. Returns the new one.
    ///
    /// # Errors
    ///
    /// The folder cannot be written, or the old key not be read.
    pub fn rotate(&self) -> io::Result<PublicKey> {
        let lock = self.lock()?;
        let (old, previous) = self.signer(&lock)?;
        let seed = new_seed()?;
        let (key, id) = pair(&seed)?;
        let new = public(&key, &id, Some(previous));
        // The list first: a key that never signs does no harm, and one that is not listed would.
        self.add(&new, &old)?;
        self.write_seed(&seed)?;
        Ok(new)
    }

    /// The public keys.
    ///
    /// # Errors
    ///
    /// The list cannot be read.
    pub fn keys(&self) -> io::Result<Keys> {
        let mut keys = Keys::default();
        let mut text = Vec::new();
        match File::open(self.dir.join(KEYS)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(keys),
            file => file?.take(MAX_KEYS).read_to_end(&mut text)?,
        };
        let text = String::from_utf8_lossy(&text);
        for (line, at) in text.lines().zip(1..) {
            let fault = |kind, why: &str| Fault::new(Place::Key(at), kind, why);
            let parsed = signed::parse("key", line).and_then(|(value, signature)| {
                Some((serde_json::from_str::<PublicKey>(value).ok()?, value, signature))
            });
            let Some((key, value, signature)) = parsed else {
                keys.faults.push(fault(FaultKind::Changed, ""));
                break;
            };
            let signs = match (&key.previous, keys.keys.last()) {
                (None, None) => key.bytes(),
                (Some(previous), Some(last)) if *previous == last.id => last.bytes(),
                _ => {
                    keys.faults.push(fault(FaultKind::Removed, "it does not follow the key before it"));
                    break;
                }
            };
            if key.id != key_id(&key.bytes()) || !signed::is_signed("key", value, &signature, &signs) {
                keys.faults.push(fault(FaultKind::Changed, "its signature is wrong"));
                break;
            }
            keys.keys.push(key);
        }
        Ok(keys)
    }

    /// The key that signs now, made if there was never one.
    ///
    /// # Errors
    ///
    /// It cannot be read or written.
    pub fn current(&self) -> io::Result<String> {
        let lock = self.lock()?;
        self.signer(&lock).map(|(_, id)| id)
    }

    fn add(&self, key: &PublicKey, signer: &Ed25519KeyPair) -> io::Result<()> {
        let line = signed::line("key", &serde_json::to_string(key)?, signer) + "\n";
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(self.dir.join(KEYS))?;
        file.write_all(line.as_bytes())?;
        file.sync_all()
    }

    fn read_seed(&self) -> io::Result<Vec<u8>> {
        let path = self.dir.join(KEY);
        let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidData, format!("`{}` {why}", path.display()));
        let mut file = File::open(&path)?;
        if file.metadata()?.permissions().mode() & 0o077 != 0 {
            return Err(wrong("may be read by others: run `chmod 600` on it, or rotate the key"));
        }
        let mut text = String::new();
        Read::by_ref(&mut file).take(256).read_to_string(&mut text)?;
        from_hex(text.trim()).ok_or_else(|| wrong("is no key"))
    }

    fn write_seed(&self, seed: &[u8]) -> io::Result<()> {
        let draft = self.dir.join("key.new");
        let _old = fs::remove_file(&draft);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(format!("{}\n", hex(seed)).as_bytes())?;
        file.sync_all()?;
        fs::rename(draft, self.dir.join(KEY))
    }
}

fn new_seed() -> io::Result<Vec<u8>> {
    let mut seed = vec![0; 32];
    SystemRandom::new().fill(&mut seed).map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(seed)
}

fn pair(seed: &[u8]) -> io::Result<(Ed25519KeyPair, String)> {
    let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, "the key of the folder `audit` is no key");
    let key = Ed25519KeyPair::from_seed_unchecked(seed).map_err(wrong)?;
    let id = key_id(key.public_key().as_ref());
    Ok((key, id))
}

fn public(key: &Ed25519KeyPair, id: &str, previous: Option<String>) -> PublicKey {
    let public = STANDARD.encode(key.public_key().as_ref());
    PublicKey { id: id.to_owned(), public, from: bub_tape::now(), previous }
}

fn key_id(public: &[u8]) -> String {
    hex(Sha256::digest(public).get(..8).unwrap_or_default())
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    (0..32).map(|at| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()).collect()
}
