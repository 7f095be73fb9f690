//! The protocol of the Open Container Initiative for distribution, as far as plugins need it.

use crate::authentication::{Credentials, answer};
use crate::manifest::{Descriptor, ImageManifest, MANIFEST_TYPE, MAX_CONFIG, MAX_MANIFEST, WasmConfig};
use crate::reference::is_tag;
use crate::transport::{Call, Transport};
use crate::{Digest, Host, Reference, newest};
use anyhow::{Context, Result, bail, ensure};
use bub_types::text::escaped;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Response, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::time::Duration;
use tokio::sync::Mutex;

/// The largest page of a list that is read, in bytes.
const MAX_LIST: u64 = 1 << 20;

/// Pages of a list, at most.
const MAX_PAGES: usize = 16;

/// Entries of a page that are asked for.
const PAGE: usize = 1000;

/// How a registry is talked to.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a request may take.
    pub timeout: Duration,
    /// The largest component that is fetched, in bytes.
    pub max_component: u64,
}

/// A registry.
pub struct Registry<'a> {
    host: Host,
    pub(crate) transport: Transport,
    credentials: Option<Credentials<'a>>,
    settings: Settings,
    /// What the last request was allowed with, and for which scope.
    authorization: Mutex<Option<(String, HeaderValue)>>,
}

/// A component in a registry, described before it is fetched.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// Where it is, with its version.
    pub reference: Reference,
    /// The digest of its manifest.
    pub digest: Digest,
    /// The manifest.
    pub manifest: ImageManifest,
    /// The configuration.
    pub config: WasmConfig,
}

impl<'a> Registry<'a> {
    /// A registry; nothing is sent yet.
    ///
    /// # Errors
    ///
    /// The HTTP client does not start.
    pub async fn new(host: &Host, credentials: Option<Credentials<'a>>, settings: Settings) -> Result<Self> {
        let transport = Transport::new(host, &settings).await?;
        Ok(Self { host: host.clone(), transport, credentials, settings, authorization: Mutex::default() })
    }

    /// Its host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    pub(crate) fn url(&self, path: &str) -> Result<Url> {
        self.transport.base()?.join(path).with_context(|| format!("`{}` is not a path", escaped(path, 100)))
    }

    /// Sends a request, and once more with what the registry asks for.
    pub(crate) async fn call(&self, call: &Call, scope: &str) -> Result<Response> {
        let mut authorization = self.authorization.lock().await;
        let known = authorization.as_ref().filter(|(known, _)| known == scope).map(|(_, value)| value.clone());
        let response = self.transport.send(call, known.as_ref()).await?;
        if response.status() != StatusCode::UNAUTHORIZED || !self.transport.is_own(response.url()) {
            return Ok(response);
        }
        let value = answer(&self.transport, &self.host, &response, scope, self.credentials.as_ref()).await?;
        let response = self.transport.send(call, Some(&value)).await?;
        *authorization = Some((scope.to_owned(), value));
        Ok(response)
    }

    /// Describes a component. Its layer is not fetched.
    ///
    /// # Errors
    ///
    /// The registry cannot be reached, does not have it, lies about a digest, or has something else under that name.
    pub async fn describe(&self, reference: &Reference) -> Result<Artifact> {
        let mut reference = reference.clone();
        if reference.version.is_none() && reference.digest.is_none() {
            let tags = self.tags(&reference.repository.path).await?;
            let version = newest(tags.iter().map(String::as_str));
            reference.version = Some(version.with_context(|| format!("`{reference}` has no version"))?.to_owned());
        }
        let (digest, bytes) = self.manifest_bytes(&reference).await?;
        let named = |error: anyhow::Error| error.context(format!("`{reference}` is not a plugin"));
        let manifest = ImageManifest::parse(&bytes, self.settings.max_component).map_err(named)?;
        let layer = manifest.layer().map_err(named)?.clone();
        let config = self.blob(&reference.repository.path, &manifest.config, MAX_CONFIG, "the configuration").await?;
        let config = WasmConfig::parse(&config, &layer).map_err(named)?;
        Ok(Artifact { reference, digest, manifest, config })
    }

    /// The digest of the manifest that a version has now.
    ///
    /// # Errors
    ///
    /// The registry cannot be reached, or does not have it.
    pub async fn digest(&self, reference: &Reference) -> Result<Digest> {
        Ok(self.manifest_bytes(reference).await?.0)
    }

    async fn manifest_bytes(&self, reference: &Reference) -> Result<(Digest, Vec<u8>)> {
        let path = &reference.repository.path;
        let pinned = reference.digest.as_ref().map(ToString::to_string);
        let tag = pinned.as_deref().or(reference.version.as_deref()).context("it names no version")?;
        let call = Call::get(self.url(&format!("{path}/manifests/{tag}"))?).header(ACCEPT, MANIFEST_TYPE)?;
        let response = self.call(&call, &pull_scope(path)).await?;
        if !response.status().is_success() {
            return Err(self.transport.refusal(response, &format!("`{path}:{tag}`")).await);
        }
        let stated = response.headers().get("docker-content-digest").and_then(|value| value.to_str().ok());
        let stated = stated.map(str::to_owned);
        let bytes = self.transport.body(response, MAX_MANIFEST, "a manifest").await?;
        let digest = Digest::of(&bytes);
        let wrong = |said: &str| {
            format!(
                "registry `{}` lies about `{reference}`: it says {}, and sends {digest}",
                self.host,
                escaped(said, 100)
            )
        };
        if let Some(stated) = stated.filter(|stated| *stated != digest.to_string()) {
            bail!(wrong(&stated));
        }
        if let Some(pinned) = reference.digest.as_ref().filter(|pinned| **pinned != digest) {
            bail!(wrong(&pinned.to_string()));
        }
        Ok((digest, bytes))
    }

    /// Fetches the component.
    ///
    /// # Errors
    ///
    /// The registry cannot be reached, or sends something else.
    pub async fn component(&self, artifact: &Artifact) -> Result<Vec<u8>> {
        let layer = artifact.manifest.layer()?;
        let path = &artifact.reference.repository.path;
        let bytes = self.blob(path, layer, self.settings.max_component, "the component").await?;
        ensure!(
            bytes.starts_with(b"\0asm"),
            "`{}` is not WebAssembly: plugins are not distributed as machine code",
            artifact.reference
        );
        Ok(bytes)
    }

    async fn blob(&self, path: &str, descriptor: &Descriptor, max: u64, what: &str) -> Result<Vec<u8>> {
        let digest = descriptor.digest()?;
        ensure!(descriptor.size <= max, "registry `{}` has more than {max} bytes as {what}", self.host);
        let call = Call::get(self.url(&format!("{path}/blobs/{digest}"))?);
        let response = self.call(&call, &pull_scope(path)).await?;
        if !response.status().is_success() {
            return Err(self.transport.refusal(response, &format!("{what} of `{path}`")).await);
        }
        // No more than the manifest says, which is at most `max`.
        let bytes = self.transport.body(response, descriptor.size, what).await?;
        ensure!(
            bytes.len() as u64 == descriptor.size,
            "registry `{}` sends {} of {} bytes as {what}",
            self.host,
            bytes.len(),
            descriptor.size
        );
        let found = Digest::of(&bytes);
        ensure!(
            found == digest,
            "registry `{}` lies about {what}: its manifest says {digest}, and it sends {found}",
            self.host
        );
        Ok(bytes)
    }

    /// The tags of a repository.
    ///
    /// # Errors
    ///
    /// The registry cannot be reached, or does not have it.
    pub async fn tags(&self, path: &str) -> Result<Vec<String>> {
        /// A page of tags.
        #[derive(Deserialize)]
        struct Tags {
            tags: Option<Vec<String>>,
        }
        let take = |page: Tags| page.tags.unwrap_or_default();
        let tags = self.list(&format!("{path}/tags/list"), &pull_scope(path), &format!("`{path}`"), take).await?;
        Ok(tags.into_iter().filter(|tag| is_tag(tag)).collect())
    }

    /// Whether the registry has something under that tag.
    ///
    /// # Errors
    ///
    /// It cannot be reached, or does not say.
    pub(crate) async fn has(&self, path: &str, tag: &str) -> Result<bool> {
        let call = Call::new(Method::HEAD, self.url(&format!("{path}/manifests/{tag}"))?);
        let response = self.call(&call.header(ACCEPT, MANIFEST_TYPE)?, &push_scope(path)).await?;
        match response.status() {
            StatusCode::NOT_FOUND => Ok(false),
            status if status.is_success() => Ok(true),
            _ => Err(self.transport.refusal(response, &format!("`{path}:{tag}`")).await),
        }
    }

    /// The repositories of the registry.
    ///
    /// # Errors
    ///
    /// The registry cannot be reached, or does not list them.
    pub async fn repositories(&self) -> Result<Vec<String>> {
        /// A page of repositories.
        #[derive(Deserialize)]
        struct Catalog {
            repositories: Option<Vec<String>>,
        }
        let take = |page: Catalog| page.repositories.unwrap_or_default();
        self.list("_catalog", "registry:catalog:*", "list of its repositories", take).await
    }

    async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        scope: &str,
        what: &str,
        take: impl Fn(T) -> Vec<String>,
    ) -> Result<Vec<String>> {
        let mut all: Vec<String> = Vec::new();
        for _ in 0..MAX_PAGES {
            let mut url = self.url(path)?;
            url.query_pairs_mut().append_pair("n", &PAGE.to_string());
            if let Some(last) = all.last() {
                url.query_pairs_mut().append_pair("last", last);
            }
            let response = self.call(&Call::get(url), scope).await?;
            if !response.status().is_success() {
                return Err(self.transport.refusal(response, what).await);
            }
            let has_more = response.headers().contains_key(reqwest::header::LINK);
            let body = self.transport.body(response, MAX_LIST, "a list").await?;
            let page = serde_json::from_slice::<T>(&body).map(&take);
            let page = page.map_err(|_| anyhow::anyhow!("registry `{}` sends a list that is none", self.host))?;
            let is_empty = page.is_empty();
            all.extend(page);
            // Our own name of the last entry leads on, not an address that the registry gives.
            if !has_more || is_empty {
                break;
            }
        }
        Ok(all)
    }

    /// Stores content, unless the registry has it.
    ///
    /// # Errors
    ///
    /// The registry cannot be reached, or does not take it.
    pub async fn push_blob(&self, path: &str, bytes: &[u8]) -> Result<Digest> {
        let (digest, scope) = (Digest::of(bytes), push_scope(path));
        let there = Call::new(Method::HEAD, self.url(&format!("{path}/blobs/{digest}"))?);
        if self.call(&there, &scope).await?.status().is_success() {
            return Ok(digest);
        }
        let begin = Call::new(Method::POST, self.url(&format!("{path}/blobs/uploads/"))?);
        let response = self.call(&begin, &scope).await?;
        if response.status() != StatusCode::ACCEPTED {
            return Err(self.transport.refusal(response, &format!("an upload to `{path}`")).await);
        }
        let mut url = crate::transport::location(&response, &begin.url)?;
        url.query_pairs_mut().append_pair("digest", &digest.to_string());
        let mut upload = Call::new(Method::PUT, url).header(CONTENT_TYPE, "application/octet-stream")?;
        upload.body = bytes.to_vec();
        let response = self.call(&upload, &scope).await?;
        match response.status() {
            StatusCode::CREATED => Ok(digest),
            _ => Err(self.transport.refusal(response, &format!("an upload to `{path}`")).await),
        }
    }

    /// Stores a manifest under a tag.
    ///
    /// # Errors
    ///
    /// The registry cannot be reached, or does not take it.
    pub async fn push_manifest(&self, path: &str, tag: &str, manifest: &[u8]) -> Result<Digest> {
        let url = self.url(&format!("{path}/manifests/{tag}"))?;
        let mut call = Call::new(Method::PUT, url).header(CONTENT_TYPE, MANIFEST_TYPE)?;
        call.body = manifest.to_vec();
        let response = self.call(&call, &push_scope(path)).await?;
        match response.status() {
            StatusCode::CREATED => Ok(Digest::of(manifest)),
            _ => Err(self.transport.refusal(response, &format!("the manifest of `{path}:{tag}`")).await),
        }
    }
}

fn pull_scope(path: &str) -> String {
    format!("repository:{path}:pull")
}

fn push_scope(path: &str) -> String {
    format!("repository:{path}:pull,push")
}
