//! A component that is to be added, and what is known of where it came from.

use super::fetch;
use anyhow::{Context, Result, bail, ensure};
use bub_config::Config;
use bub_registry::{Lock, Locked, Moment, PublicKey, Signature, Signer};
use bub_runtime::plugin;
use bub_system::files::read_regular;
use bub_types::text::{escaped, one_line};
use jiff::Timestamp;
use std::path::{Path, PathBuf};

/// The ending of a signature beside a file, as minisign writes it.
pub(super) const SIGNATURE_ENDING: &str = "minisig";

/// The longest file of a signature that is read, in bytes.
const MAX_SIGNATURE: usize = 8 << 10;

/// A component that is to be added.
pub(super) struct Incoming {
    /// What its registry says of it, in lines for people.
    pub(super) notes: Vec<String>,
    /// Where it came from, for people.
    pub(super) shown: String,
    /// The same, for the lock.
    pub(super) source: String,
    /// The name that it is to have.
    pub(super) name: String,
    /// The version that its registry gives it.
    pub(super) version: Option<String>,
    /// The digest of its manifest in the registry.
    pub(super) manifest: Option<String>,
    /// The component.
    pub(super) bytes: Vec<u8>,
    /// Its signature; not verified yet.
    pub(super) signature: Option<Signature>,
    /// The key that is said to verify it.
    pub(super) own_key: Option<PublicKey>,
}

impl Incoming {
    /// Of a file or an address. The bytes are read once, so that the reviewed bytes are the installed ones.
    ///
    /// # Errors
    ///
    /// It cannot be read or fetched, or has another digest.
    pub(super) async fn read(config: &Config, from: &str, sha256: Option<&str>, name: &str) -> Result<Self> {
        let shown = fetch::shown(from);
        if let Some(expected) = sha256
            && !plugin::is_digest(expected)
        {
            bail!("`{}` is not a SHA-256 digest, which has 64 hex digits", one_line(expected));
        }
        let bytes = match (fetch::is_address(from), sha256) {
            (true, None) => bail!("`{shown}` is not downloaded without --sha256, because its content may change"),
            (true, Some(_)) => fetch::bytes(from).await.with_context(|| format!("`{shown}` cannot be fetched"))?,
            (false, _) => plugin::bytes_of(Path::new(from)).with_context(|| format!("`{shown}` is not added"))?,
        };
        if let Some(expected) = sha256 {
            let digest = plugin::digest(&bytes);
            if !expected.eq_ignore_ascii_case(&digest) {
                bail!("`{shown}` has another SHA-256: {digest}, not `{}`", one_line(expected));
            }
        }
        let (mut signature, mut source) = (None, shown.clone());
        if !fetch::is_address(from) {
            signature = beside(Path::new(from))?;
            source = std::path::absolute(from).map_or(source, |path| path.display().to_string());
        }
        // A signature by a key that the configuration does not name says nothing.
        signature.take_if(|signature| !config.trust.requires(name) && config.trust.find(signature.key_id()).is_none());
        let name = name.to_owned();
        let notes = Vec::new();
        Ok(Self { notes, shown, source, name, version: None, manifest: None, bytes, signature, own_key: None })
    }

    /// Verifies the signature, and returns who has signed it. `accepted`: the signer that may follow another one.
    ///
    /// # Errors
    ///
    /// It is not accepted, or its signer is not the one of the version that is installed.
    pub(super) fn verify(&self, config: &Config, accepted: Option<&str>) -> Result<Option<Signer>> {
        let (name, shown) = (&self.name, &self.shown);
        let verified =
            config.trust.verify(name, &self.bytes, self.signature.as_ref(), self.own_key.as_ref(), Moment::Now);
        let verified = verified.with_context(|| format!("`{shown}` is not added"))?;
        let lock = Lock::read(&config.home)?;
        let digest = plugin::digest(&self.bytes);
        if let Some(found) = lock.quarantine.get(&digest) {
            bail!(
                "`{shown}` is not added: it is in quarantine by advisory `{}`; to run it all the same: bub-wasm plugin \
                 unquarantine {name}",
                escaped(&found.advisory, 100)
            );
        }
        if let (Some((_, statement)), Some(version)) = (&verified, &self.version) {
            ensure!(
                statement.version == *version,
                "`{shown}` is not added: it is signed as version `{}`",
                escaped(&statement.version, 100)
            );
        }
        let signer = verified.map(|(signer, _)| signer);
        check_signer(name, lock.plugins.get(name), signer.as_ref(), accepted)?;
        Ok(signer)
    }

    /// The entry in the lock.
    pub(super) fn locked(&self, signer: Option<&Signer>, version: &str) -> Locked {
        let own = Some(one_line(version)).filter(|version| !version.is_empty());
        Locked {
            version: self.version.clone().or(own),
            source: self.source.clone(),
            manifest: self.manifest.clone(),
            digest: plugin::digest(&self.bytes),
            installed: Timestamp::now(),
            signer: signer.map(|signer| signer.key.to_string()),
            signer_name: signer.and_then(|signer| signer.name.clone()),
            signature: signer.and(self.signature.as_ref()).map(|signature| signature.as_str().to_owned()),
            grants: Vec::new(),
            removed: false,
            before: None,
        }
    }
}

/// The signature beside a file, if there is one.
fn beside(file: &Path) -> Result<Option<Signature>> {
    let mut path = file.as_os_str().to_owned();
    path.push(".");
    path.push(SIGNATURE_ENDING);
    let path = PathBuf::from(path);
    let bytes = match read_regular(&path, MAX_SIGNATURE + 1) {
        Ok((bytes, _)) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("`{}` cannot be read", path.display())),
    };
    let text = String::from_utf8_lossy(&bytes);
    let signature = Signature::parse(&text).with_context(|| format!("`{}`", one_line(&path.display().to_string())))?;
    Ok(Some(signature))
}

/// A change of signer is followed only if the user names the new one.
fn check_signer(name: &str, before: Option<&Locked>, now: Option<&Signer>, accepted: Option<&str>) -> Result<()> {
    let Some(before) = before.and_then(Locked::signer) else { return Ok(()) };
    let (id, what) = match now {
        Some(now) if now.key == before => return Ok(()),
        Some(now) => (now.key.id(), format!("is signed by {} now", now.shown())),
        None => ("none", "has no signature now".to_owned()),
    };
    let is_accepted = accepted.is_some_and(|accepted| {
        accepted.eq_ignore_ascii_case(id) || now.is_some_and(|now| now.name.as_deref() == Some(accepted))
    });
    ensure!(
        is_accepted,
        "plugin `{name}` was signed by key {} and {what}: nothing is changed; if its author says so: --accept-signer {id}",
        before.id()
    );
    Ok(())
}
