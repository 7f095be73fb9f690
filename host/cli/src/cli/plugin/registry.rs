//! Plugins in registries: what is fetched, and what is checked before and behind it.

use super::incoming::{Incoming, choose};
use anyhow::{Context, Result, bail, ensure};
use bub_config::Config;
use bub_registry::manifest::{BUNDLE, PLUGIN_MANIFEST, SIGNATURE, SIGNER};
use bub_registry::{
    Artifact, Bundle, Credentials, Host, Lock, Moment, PublicKey, Reference, Registry, Settings, Signature,
};
use bub_runtime::guest::SERVED;
use bub_runtime::plugin::{ComponentWorld, MAX_FILE, Manifest};
use bub_types::text::{escaped, one_line};

/// The registry with the credentials that the configuration names for it.
///
/// # Errors
///
/// The secret is missing, or the HTTP client does not start.
pub(super) async fn open<'a>(config: &'a Config, host: &Host) -> Result<Registry<'a>> {
    let settings = Settings { timeout: config.registry.timeout(), max_component: MAX_FILE };
    Registry::new(host, credentials(config, host)?, settings).await
}

fn credentials<'a>(config: &'a Config, host: &Host) -> Result<Option<Credentials<'a>>> {
    let Some(name) = config.registry.secret(host) else { return Ok(None) };
    let key = config.secrets.key_for(name)?.with_context(|| {
        format!(
            "there is no secret `{name}` for registry `{host}`; to store it: bub-wasm secret set {name} --host {}",
            host.name()
        )
    })?;
    let value = key.value.expose_text().with_context(|| format!("secret `{name}` is not UTF-8"))?;
    let bound = key.name.clone();
    let may_go = move |host: &str, is_https: bool| Ok(config.secrets.check_host(&bound, host, is_https)?);
    Ok(Some(Credentials::new(value.to_owned(), may_go)))
}

/// Whether the text names a plugin in a registry: `oci://…`, or `NAME@VERSION` if no file has that name.
pub(super) fn is_reference(text: &str) -> bool {
    let is_short = || {
        let (name, version) = text.split_once('@').unwrap_or_default();
        !name.is_empty() && !version.is_empty() && !text.contains("://") && !std::path::Path::new(text).exists()
    };
    text.starts_with(bub_registry::SCHEME) || is_short()
}

/// Describes a plugin in a registry, checks what can be known of it, and then fetches it.
///
/// # Errors
///
/// The registry does not have it, lies, or has something that is not accepted.
pub(super) async fn fetch(config: &Config, reference: &Reference, name: &str) -> Result<Incoming> {
    let registry = open(config, &reference.repository.host).await?;
    let artifact = registry.describe(reference).await?;
    check_version(config, name, reference, &artifact)?;
    let signature = artifact.manifest.annotation(SIGNATURE).map(Signature::parse).transpose();
    let signature = signature.with_context(|| format!("`{}` is not added", artifact.reference))?;
    let bundle = artifact.manifest.annotation(BUNDLE).map(|text| Bundle::parse(text.as_bytes())).transpose();
    let bundle = bundle.with_context(|| format!("`{}` is not added", artifact.reference))?;
    let (signature, unverified) = choose(&config.trust, name, signature, bundle);
    let own_key = artifact.manifest.annotation(SIGNER).map(str::parse::<PublicKey>).transpose()?;
    match &signature {
        Some(signature) => config.trust.check_signature(name, signature, Moment::Now)?,
        None => drop(config.trust.verify(name, &[], None, None, Moment::Now)?),
    }
    let claimed = claims(&artifact).with_context(|| format!("`{}` is not added", artifact.reference))?;
    let layer = artifact.manifest.layer()?;
    let size = crate::cli::text::bytes(layer.size);
    let mut notes = vec![format!("`{}` is {size}, {}", artifact.reference, artifact.digest)];
    notes.extend(unverified);
    if let Some(manifest) = &claimed {
        let wants: Vec<String> = manifest.wants.iter().map(|want| one_line(want.grant.as_str())).collect();
        let wants = if wants.is_empty() { "nothing".to_owned() } else { wants.join(" ") };
        notes.push(format!("its author says that it wants: {wants}"));
    }
    let bytes = registry.component(&artifact).await?;
    check_claims(&artifact, claimed.as_ref(), &bytes)
        .with_context(|| format!("`{}` is not what its registry says", artifact.reference))?;
    Ok(Incoming {
        notes,
        shown: artifact.reference.to_string(),
        source: artifact.reference.to_string(),
        version: artifact.reference.version.clone(),
        manifest: Some(artifact.digest.to_string()),
        name: name.to_owned(),
        bytes,
        signature,
        own_key,
    })
}

/// What the annotations say of the plugin, if it could be loaded here.
fn claims(artifact: &Artifact) -> Result<Option<Manifest>> {
    let world = artifact.config.world();
    ComponentWorld::check_served(&world.imports, &world.exports, SERVED)?;
    let Some(text) = artifact.manifest.annotation(PLUGIN_MANIFEST) else { return Ok(None) };
    Ok(Some(Manifest::parse(text.as_bytes())?))
}

/// A version is the same for ever, unless the user pins another digest.
fn check_version(config: &Config, name: &str, wanted: &Reference, found: &Artifact) -> Result<()> {
    // A lock that cannot be read is an error where it is written.
    let Ok(lock) = Lock::read(&config.home) else { return Ok(()) };
    let Some(locked) = lock.plugins.get(name) else { return Ok(()) };
    let known = std::iter::once(locked).chain(locked.before.as_deref());
    for known in known.filter(|known| known.source == found.reference.to_string()) {
        let Some(before) = known.manifest.as_deref().filter(|before| *before != found.digest.to_string()) else {
            continue;
        };
        ensure!(
            wanted.digest.is_some(),
            "`{}` was {before} when it was installed and is {} now: a version does not change; to install it all the \
             same: bub-wasm plugin add {}@{}",
            found.reference,
            found.digest,
            found.reference.repository,
            found.digest
        );
    }
    Ok(())
}

/// Compares what was said with what was sent.
fn check_claims(artifact: &Artifact, claimed: Option<&Manifest>, bytes: &[u8]) -> Result<()> {
    let actual = ComponentWorld::read(bytes)?;
    let world = artifact.config.world();
    for (what, said, found) in
        [("imports", &world.imports, &actual.imports), ("exports", &world.exports, &actual.exports)]
    {
        if let Some(hidden) = found.iter().find(|name| !said.contains(name)) {
            bail!("it {what} `{}`, which its configuration does not say", escaped(hidden, 200));
        }
    }
    let Some(claimed) = claimed else { return Ok(()) };
    let manifest = actual.manifest.as_deref().map(|text| Manifest::parse(text.as_bytes())).transpose()?;
    let manifest = manifest.context("it has no manifest, and its annotations say that it has one")?;
    if let Some(hidden) = manifest.wants.iter().find(|want| !claimed.wants.iter().any(|said| said.grant == want.grant))
    {
        bail!("it wants `{}`, which its annotations do not say", one_line(hidden.grant.as_str()));
    }
    ensure!(
        serde_json::to_value(claimed)? == serde_json::to_value(&manifest)?,
        "its manifest is another than its annotations say"
    );
    if let Some(version) = artifact.reference.version.as_deref() {
        ensure!(
            manifest.version.is_empty() || manifest.version == version,
            "it is version `{}`, and it is stored as `{}`",
            escaped(&manifest.version, 100),
            escaped(version, 100)
        );
    }
    Ok(())
}
