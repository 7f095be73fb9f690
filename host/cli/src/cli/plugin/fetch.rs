//! Downloads a component from an address that the user names: over TLS, and at most as large as a plugin may be.

use anyhow::{Context, Result, bail};
use bub_runtime::plugin::{MAX_FILE, Manifest};
use bub_types::text::cause;
use bub_types::text::one_line;
use reqwest::Url;
use reqwest::redirect::Policy;
use std::path::Path;
use std::time::Duration;

/// How long the download may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Redirects, at most.
const MAX_REDIRECTS: usize = 5;

/// Whether the source is an address, not a file.
pub(super) fn is_address(from: &str) -> bool {
    from.starts_with("https://") || from.starts_with("http://")
}

/// The address without user and query, which may hold keys.
pub(super) fn shown(from: &str) -> String {
    match Url::parse(from) {
        Ok(mut url) if is_address(from) => {
            url.set_query(None);
            url.set_fragment(None);
            // They fail for an address that cannot have them.
            let _ = (url.set_username(""), url.set_password(None));
            one_line(url.as_str())
        }
        _ => one_line(from),
    }
}

/// The file name at its end, without the extension.
pub(super) fn name_of(from: &str) -> Option<String> {
    let path = match is_address(from) {
        true => Url::parse(from).ok()?.path().to_owned(),
        false => from.to_owned(),
    };
    Some(Path::new(&path).file_stem()?.to_str()?.to_owned())
}

/// The name that the plugin calls itself by, if that of its file differs from it only as compilers write it: cargo makes
/// `my_plugin.wasm` of the package `my-plugin`.
pub(super) fn own_name(of_file: String, component: &[u8]) -> String {
    let own = Manifest::read(component).ok().flatten().and_then(|manifest| manifest.name);
    own.filter(|own| own.replace('-', "_") == of_file).unwrap_or(of_file)
}

/// Downloads the address.
///
/// # Errors
///
/// The address is invalid, does not answer in time or with success, is too large, or does not use TLS: plain HTTP is for
/// loopback alone.
pub(super) async fn bytes(from: &str) -> Result<Vec<u8>> {
    let url = Url::parse(from).context("it is not a URL")?;
    check(&url)?;
    let is_plain = url.scheme() == "http";
    let redirects = Policy::custom(move |attempt| match check(attempt.url()) {
        Err(error) => attempt.error(error.to_string()),
        Ok(()) if attempt.url().scheme() == "http" && !is_plain => attempt.error(OVER_TLS),
        Ok(()) if attempt.previous().len() > MAX_REDIRECTS => attempt.error("it redirects too often"),
        Ok(()) => attempt.follow(),
    });
    let builder = bub_tls::client().redirect(redirects).timeout(TIMEOUT);
    // Without TLS, the system certificates are not needed, and may be missing.
    let builder = if is_plain { builder.tls_certs_only([]) } else { builder };
    let told = |error: reqwest::Error| anyhow::anyhow!("{}", one_line(&cause(&error)));
    let mut answer = builder.build()?.get(url).send().await.map_err(told)?;
    if !answer.status().is_success() {
        bail!("its server answers with status {}", answer.status().as_u16());
    }
    let mut bytes = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(told)? {
        bytes.extend_from_slice(&piece);
        if bytes.len() as u64 > MAX_FILE {
            bail!("it is larger than {} MiB", MAX_FILE >> 20);
        }
    }
    Ok(bytes)
}

const OVER_TLS: &str = "plugins are downloaded over https only";

fn check(url: &Url) -> Result<()> {
    let is_here = match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    };
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_here => Ok(()),
        _ => bail!(OVER_TLS),
    }
}
