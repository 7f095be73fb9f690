//! A component that is to be added, and what is known of where it came from.

use super::fetch;
use anyhow::{Context, Result, bail, ensure};
use bub_config::Config;
use bub_permissions::shell_word;
use bub_registry::{Bundle, Lock, Locked, MAX_BUNDLE, Moment, PluginSignature, PublicKey, Signature, Signer, Trust};
use bub_runtime::plugin;
use bub_system::files::read_regular;
use bub_types::text::{escaped, one_line};
use jiff::Timestamp;
use std::path::{Path, PathBuf};

/// The ending of a signature beside a file, as minisign writes it.
pub(super) const SIGNATURE_ENDING: &str = "minisig";

/// The endings of a bundle beside a file, as the tools of Sigstore write them.
const BUNDLE_ENDINGS: [&str; 2] = ["sigstore.json", "sigstore"];

/// The longest file of a signature by a key that is read, in bytes.
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
    pub(super) signature: Option<PluginSignature>,
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
        let (mut signature, mut source, mut notes) = (None, shown.clone(), Vec::new());
        if !fetch::is_address(from) {
            let (by_key, bundle) = beside(Path::new(from))?;
            // A signature by a key that the configuration does not name says nothing.
            let by_key = by_key.filter(|by_key| {
                config.trust.find(by_key.key_id()).is_some() || (bundle.is_none() && config.trust.requires(name))
            });
            let (chosen, unverified) = choose(&config.trust, name, by_key, bundle);
            signature = chosen;
            notes.extend(unverified);
            source = std::path::absolute(from).map_or(source, |path| path.display().to_string());
        }
        let name = name.to_owned();
        Ok(Self { notes, shown, source, name, version: None, manifest: None, bytes, signature, own_key: None })
    }

    /// Verifies the signature, and returns who has signed it. `accepted`: the signer that may follow another one.
    ///
    /// # Errors
    ///
    /// It is not accepted, or its signer is not the one of the version that is installed.
    pub(super) fn verify(&self, config: &Config, accepted: Option<&str>) -> Result<Option<Signer>> {
        let (name, shown) = (&self.name, &self.shown);
        let (signature, own_key) = (self.signature.as_ref(), self.own_key.as_ref());
        let verified = plugin::verify_signature(&config.trust, name, &self.bytes, signature, own_key, Moment::Now);
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
        check_signer(&config.trust, name, lock.plugins.get(name), signer.as_ref(), accepted)?;
        Ok(signer)
    }

    /// The entry in the lock.
    pub(super) fn locked(&self, signer: Option<&Signer>, version: &str) -> Locked {
        let own = Some(one_line(version)).filter(|version| !version.is_empty());
        let author = signer.map(|signer| signer.author.locked());
        Locked {
            version: self.version.clone().or(own),
            source: self.source.clone(),
            manifest: self.manifest.clone(),
            digest: plugin::digest(&self.bytes),
            installed: Timestamp::now(),
            signer: author.as_ref().map(|(author, _)| author.clone()),
            signer_issuer: author.and_then(|(_, issuer)| issuer),
            signer_name: signer.and_then(|signer| signer.name.clone()),
            signature: signer.and(self.signature.as_ref()).map(|signature| signature.as_str().to_owned()),
            grants: Vec::new(),
            removed: false,
            before: None,
        }
    }
}

/// The signatures beside a file, of either kind.
fn beside(file: &Path) -> Result<(Option<Signature>, Option<Bundle>)> {
    let at = |path: &Path| format!("`{}`", one_line(&path.display().to_string()));
    let mut by_key = None;
    if let Some((path, bytes)) = read_beside(file, SIGNATURE_ENDING, MAX_SIGNATURE)? {
        by_key = Some(Signature::parse(&String::from_utf8_lossy(&bytes)).with_context(|| at(&path))?);
    }
    for ending in BUNDLE_ENDINGS {
        if let Some((path, bytes)) = read_beside(file, ending, MAX_BUNDLE)? {
            return Ok((by_key, Some(Bundle::parse(&bytes).with_context(|| at(&path))?)));
        }
    }
    Ok((by_key, None))
}

/// The file with that ending behind the name of another one, if it is there.
fn read_beside(file: &Path, ending: &str, max: usize) -> Result<Option<(PathBuf, Vec<u8>)>> {
    let mut path = file.as_os_str().to_owned();
    path.push(".");
    path.push(ending);
    let path = PathBuf::from(path);
    match read_regular(&path, max + 1) {
        Ok((bytes, _)) => Ok(Some((path, bytes))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("`{}` cannot be read", path.display())),
    }
}

/// The signature that counts, if a plugin has one of each kind: by a key that is trusted, otherwise the keyless one. One that
/// cannot be verified, and need not be, is none; then there is a line about it.
pub(super) fn choose(
    trust: &Trust,
    name: &str,
    by_key: Option<Signature>,
    bundle: Option<Bundle>,
) -> (Option<PluginSignature>, Option<String>) {
    let is_trusted = by_key.as_ref().is_some_and(|by_key| trust.find(by_key.key_id()).is_some());
    let by_key = by_key.map(PluginSignature::Key);
    let Some(bundle) = bundle.filter(|_| !is_trusted) else { return (by_key, None) };
    let signer = bundle.claimed().to_string();
    let keyless = PluginSignature::Keyless(Box::new(bundle));
    let is_named = trust.requires(name) || trust.is_named(&keyless);
    if is_named || trust.sigstore.root.is_some() {
        return (Some(keyless), None);
    }
    let note = format!(
        "its keyless signature, which claims to be by {signer}, is not verified: there is no `root` in `[trust.sigstore]` of \
         config.toml"
    );
    (by_key, Some(note))
}

/// A change of signer is followed only if the user names the new one.
fn check_signer(
    trust: &Trust,
    name: &str,
    before: Option<&Locked>,
    now: Option<&Signer>,
    accepted: Option<&str>,
) -> Result<()> {
    let Some(before) = before.and_then(Locked::signer) else { return Ok(()) };
    let (id, what) = match now {
        Some(now) if trust.is_same(&before, &now.author) => return Ok(()),
        Some(now) => (now.author.id(), format!("is signed by {} now", now.shown())),
        None => ("none", "has no signature now".to_owned()),
    };
    let is_accepted = accepted.is_some_and(|accepted| {
        accepted.eq_ignore_ascii_case(id) || now.is_some_and(|now| now.name.as_deref() == Some(accepted))
    });
    ensure!(
        is_accepted,
        "plugin `{name}` was signed by {before} and {what}: nothing is changed; if its author says so: --accept-signer {}",
        shell_word(&escaped(id, 300))
    );
    Ok(())
}
