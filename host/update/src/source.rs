//! Where an index is: a folder of this machine, or an address. What is beside it is read within bounds.

use crate::index::{Archive, INDEX_FILE, MAX_INDEX};
use anyhow::{Context, Result, bail, ensure};
use bub_egress::{CheckedResolver, SystemResolver, has_local_address, is_allowed, shown_url};
use bub_system::files::read_regular;
use bub_types::text::{cause, escaped, hex, one_line};
use reqwest::header::LOCATION;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::timeout;

/// The longest signature, in bytes.
const MAX_SIGNATURE: u64 = 8 << 10;

/// How long a connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// An archive may take so many times as long as a small file.
const ARCHIVE_FACTOR: u32 = 40;

/// Redirects of one request, at most.
const MAX_REDIRECTS: usize = 5;

/// Where an index and its archives are.
pub enum Source {
    /// A folder.
    Folder(PathBuf),
    /// An address.
    Address(Box<Server>),
}

/// A server with an index.
pub struct Server {
    /// The address of the index.
    index: Url,
    client: Client,
    /// Whether it may refer to private addresses, because it has one.
    is_local: bool,
    patience: Duration,
}

impl Source {
    /// Opens the place that a user names: a folder, `file:`, `https:`, or `http:` on this machine. A request for a small file
    /// may take as long as `patience`, and so may each pause of a large one.
    ///
    /// # Errors
    ///
    /// It names no place for an index.
    pub async fn open(address: &str, patience: Duration) -> Result<Self> {
        let shown = || escaped(address, 200);
        if Path::new(address).is_absolute() {
            return Ok(Self::folder(Path::new(address)));
        }
        let wrong = || {
            format!(
                "`{}` is no place for an index: write `https://HOST/PATH/{INDEX_FILE}` or the absolute path of a folder",
                shown()
            )
        };
        let mut index = Url::parse(address).ok().with_context(wrong)?;
        if index.scheme() == "file" {
            return Ok(Self::folder(&index.to_file_path().ok().with_context(wrong)?));
        }
        if index.path().ends_with('/') {
            index = index.join(INDEX_FILE).ok().with_context(wrong)?;
        }
        ensure!(index.path().ends_with(&format!("/{INDEX_FILE}")) && index.query().is_none(), wrong());
        ensure!(
            index.username().is_empty() && index.password().is_none(),
            "the address of the index has a password: leave it out"
        );
        let is_plain = index.scheme() == "http";
        ensure!(
            index.scheme() == "https" || (is_plain && is_loopback(&index)),
            "`{}` is not over https: only an index of this machine may be",
            shown()
        );
        let is_local = is_plain || has_local_address(index.host_str().unwrap_or_default()).await;
        let builder = bub_tls::client()
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIMEOUT.min(patience))
            .read_timeout(patience)
            .dns_resolver(CheckedResolver::new(SystemResolver, is_local));
        // Without TLS, the system certificates are not needed, and may be missing.
        let builder = if is_plain { builder.tls_certs_only([]) } else { builder };
        let client = builder.build().context("the HTTP client does not start")?;
        Ok(Self::Address(Box::new(Server { index, client, is_local, patience })))
    }

    fn folder(path: &Path) -> Self {
        let is_index = path.file_name().is_some_and(|name| name == INDEX_FILE);
        let folder = if is_index { path.parent() } else { None };
        Self::Folder(folder.unwrap_or(path).to_owned())
    }

    /// As it is shown to people.
    pub fn shown(&self) -> String {
        match self {
            Self::Folder(path) => one_line(&path.join(INDEX_FILE).display().to_string()),
            Self::Address(server) => shown_url(&server.index),
        }
    }

    /// The bytes of the index, and of its signature.
    ///
    /// # Errors
    ///
    /// They cannot be read, or are too long.
    pub async fn index(&self) -> Result<(Vec<u8>, Vec<u8>)> {
        let index = self.small(INDEX_FILE, MAX_INDEX).await?;
        Ok((index, self.small(&format!("{INDEX_FILE}.minisig"), MAX_SIGNATURE).await?))
    }

    async fn small(&self, name: &str, max: u64) -> Result<Vec<u8>> {
        let too_long = || anyhow::anyhow!("`{name}` is longer than {max} bytes");
        match self {
            Self::Folder(folder) => {
                let path = folder.join(name);
                let most = usize::try_from(max + 1)?;
                let (bytes, _) = read_regular(&path, most)
                    .with_context(|| format!("`{}` cannot be read", one_line(&path.display().to_string())))?;
                if bytes.len() as u64 > max { Err(too_long()) } else { Ok(bytes) }
            }
            Self::Address(server) => {
                let read = async {
                    let mut response = server.get(name).await?;
                    let mut bytes = Vec::new();
                    while let Some(piece) = response.chunk().await.map_err(|error| server.broken(name, &error))? {
                        bytes.extend_from_slice(&piece);
                        if bytes.len() as u64 > max {
                            return Err(too_long());
                        }
                    }
                    Ok(bytes)
                };
                timeout(server.patience, read).await.map_err(|_| server.late(name))?
            }
        }
    }

    /// Writes an archive to a file, and checks its size and its digest.
    ///
    /// # Errors
    ///
    /// It cannot be read or written, or is not what the index says.
    pub async fn download(&self, archive: &Archive, to: &mut File) -> Result<()> {
        let mut sink = Sink { archive, to, hasher: Sha256::new(), length: 0 };
        match self {
            Self::Folder(folder) => {
                let path = folder.join(&archive.file);
                let wrong = || format!("`{}` cannot be read", one_line(&path.display().to_string()));
                let (_, mut file) = read_regular(&path, 0).with_context(wrong)?;
                let mut piece = vec![0; 256 << 10];
                loop {
                    let length = file.read(&mut piece).with_context(wrong)?;
                    if length == 0 {
                        break;
                    }
                    sink.write(piece.get(..length).unwrap_or_default())?;
                }
            }
            Self::Address(server) => {
                let read = async {
                    let mut response = server.get(&archive.file).await?;
                    if let Some(length) = response.content_length().filter(|length| *length != archive.size) {
                        bail!("`{}` has {length} bytes, and {} in the index", archive.file, archive.size);
                    }
                    while let Some(piece) =
                        response.chunk().await.map_err(|error| server.broken(&archive.file, &error))?
                    {
                        sink.write(&piece)?;
                    }
                    anyhow::Ok(())
                };
                let limit = server.patience * ARCHIVE_FACTOR;
                timeout(limit, read).await.map_err(|_| server.late(&archive.file))??;
            }
        }
        sink.finish()
    }
}

/// The bytes of an archive on their way into a file.
struct Sink<'a> {
    archive: &'a Archive,
    to: &'a mut File,
    hasher: Sha256,
    length: u64,
}

impl Sink<'_> {
    fn write(&mut self, piece: &[u8]) -> Result<()> {
        self.length += piece.len() as u64;
        let (file, size) = (&self.archive.file, self.archive.size);
        ensure!(self.length <= size, "`{file}` has more than the {size} bytes of the index");
        self.hasher.update(piece);
        self.to.write_all(piece).context("the archive cannot be written beside the program")
    }

    fn finish(self) -> Result<()> {
        let (file, size) = (&self.archive.file, self.archive.size);
        ensure!(self.length == size, "`{file}` has {} bytes, and {size} in the index", self.length);
        let digest = hex(&self.hasher.finalize());
        ensure!(
            digest == self.archive.sha256,
            "`{file}` has another digest than in the index: sha256:{digest} instead of sha256:{}",
            self.archive.sha256
        );
        Ok(())
    }
}

impl Server {
    /// Asks for a file beside the index.
    async fn get(&self, name: &str) -> Result<Response> {
        let mut url = self.index.join(name).with_context(|| format!("`{}` is not a file", escaped(name, 200)))?;
        for _ in 0..=MAX_REDIRECTS {
            self.check(&url)?;
            let response = self.client.get(url.clone()).send().await.map_err(|error| match error.is_timeout() {
                true => self.late(name),
                false => anyhow::anyhow!("`{}` cannot be reached: {}", shown_url(&url), one_line(&cause(&error))),
            })?;
            let status = response.status();
            if status == StatusCode::OK {
                return Ok(response);
            }
            ensure!(status.is_redirection(), "`{}` answers with status {}", shown_url(&url), status.as_u16());
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let next = location.and_then(|location| url.join(location).ok());
            url = next.with_context(|| format!("`{}` redirects to nowhere", shown_url(&url)))?;
        }
        bail!("`{}` redirects too often", shown_url(&self.index))
    }

    /// Whether a request may go there: over TLS unless both are this machine, and not to a private address unless the index
    /// has one.
    fn check(&self, url: &Url) -> Result<()> {
        let is_fine = match url.scheme() {
            "https" => true,
            "http" => is_loopback(url) && is_loopback(&self.index) && self.index.scheme() == "http",
            _ => false,
        };
        ensure!(is_fine, "`{}` leads to `{}`, which is not over https", shown_url(&self.index), shown_url(url));
        let address = url.host_str().and_then(|host| host.trim_matches(['[', ']']).parse::<IpAddr>().ok());
        let is_fine = address.is_none_or(|address| is_allowed(address, self.is_local));
        ensure!(is_fine, "`{}` leads to `{}`, which is not a public address", shown_url(&self.index), shown_url(url));
        Ok(())
    }

    fn late(&self, name: &str) -> anyhow::Error {
        anyhow::anyhow!(
            "`{name}` does not come in time; `timeout_seconds` in `[update]` of config.toml says how long to wait for it"
        )
    }

    fn broken(&self, name: &str, error: &reqwest::Error) -> anyhow::Error {
        match error.is_timeout() {
            true => self.late(name),
            false => anyhow::anyhow!("`{name}` breaks off: {}", one_line(&cause(error))),
        }
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
