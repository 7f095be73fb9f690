//! A component from an address: what the person at the terminal names is fetched, over TLS, and no more of it than a plugin
//! may have.

use anyhow::{Context, Result, bail};
use bub_runtime::plugin::MAX_FILE;
use bub_types::text::cause;
use bub_types::text::one_line;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use std::path::Path;
use std::time::Duration;

/// How long all of it may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// How often an address may lead to another one.
const MAX_REDIRECTS: usize = 5;

/// Whether that is an address, not a file.
pub(super) fn is_address(from: &str) -> bool {
    from.starts_with("https://") || from.starts_with("http://")
}

/// What it is called in messages: of an address neither who asks nor what stands behind the path, where keys may be.
pub(super) fn shown(from: &str) -> String {
    match Url::parse(from) {
        Ok(mut url) if is_address(from) => {
            url.set_query(None);
            url.set_fragment(None);
            // They fail for an address that can have neither, and so has none.
            let _ = (url.set_username(""), url.set_password(None));
            one_line(url.as_str())
        }
        _ => one_line(from),
    }
}

/// The name of the file at its end, without its ending.
pub(super) fn name_of(from: &str) -> Option<String> {
    let path = match is_address(from) {
        true => Url::parse(from).ok()?.path().to_owned(),
        false => from.to_owned(),
    };
    Some(Path::new(&path).file_stem()?.to_str()?.to_owned())
}

/// What stands at that address.
///
/// # Errors
///
/// It is no address, does not answer in time or with something else than success, is too large, or is not reached by TLS:
/// plain HTTP is for this machine alone.
pub(super) async fn bytes(from: &str) -> Result<Vec<u8>> {
    let url = Url::parse(from).context("it is no address")?;
    check(&url)?;
    let is_plain = url.scheme() == "http";
    let redirects = Policy::custom(move |attempt| match check(attempt.url()) {
        Err(error) => attempt.error(error.to_string()),
        Ok(()) if attempt.url().scheme() == "http" && !is_plain => attempt.error(OVER_TLS),
        Ok(()) if attempt.previous().len() > MAX_REDIRECTS => attempt.error("it leads on and on"),
        Ok(()) => attempt.follow(),
    });
    let builder = Client::builder().redirect(redirects).timeout(TIMEOUT);
    // Without TLS there is no need of the machine's certificates, which it may not have.
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

const OVER_TLS: &str = "plugins come over https alone";

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
