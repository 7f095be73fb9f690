//! `[audit]`: receipts, the chain of a tape's entries, and who else gets its signed heads.

use super::Config;
use super::tapes::TapeStorage;
use super::telemetry::{address, check_header};
use anyhow::{Context, Result};
use bub_egress::secret;
use bub_types::text::escaped;
use reqwest::Url;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

const WHERE: &str = "`witness` in `[audit]` of config.toml";

/// `[audit]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Audit {
    /// Whether the digests of entries are chained; none: where the tapes are on this machine.
    pub chain: Option<bool>,
    /// Whether turns record what they have done outside of the tape; none: where the tapes are on this machine.
    pub receipts: Option<bool>,
    /// A file or an address that gets the signed heads as well.
    pub witness: Option<String>,
    /// Headers of each request to it. `{{secret:NAME}}` stands for a secret.
    pub witness_headers: BTreeMap<String, String>,
}

/// Who gets the signed heads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Witness {
    /// A file.
    File(PathBuf),
    /// An address that takes them by POST, with the headers of each request.
    Http(Url, Vec<(String, Vec<u8>)>),
}

impl Audit {
    pub(super) fn check(&self, insecure_http: bool) -> Result<()> {
        if let Some(witness) = self.witness.as_ref().filter(|witness| is_address(witness)) {
            address(witness, insecure_http).context(WHERE)?;
        }
        let is_named = self.witness.as_ref().is_none_or(|witness| !witness.trim().is_empty());
        anyhow::ensure!(is_named, "{WHERE}: it names neither a file nor an address");
        for (name, value) in &self.witness_headers {
            check_header(name, value).context("`witness_headers` in `[audit]` of config.toml")?;
        }
        Ok(())
    }
}

/// Whether it is the address of a server, and not the path of a file.
fn is_address(witness: &str) -> bool {
    witness.contains("://")
}

impl Config {
    /// The folder of the key, the signed heads and what became of them.
    pub fn audit_dir(&self) -> PathBuf {
        self.home.join("audit")
    }

    /// The folder of the signed heads of other homes, which `serve` is a witness of.
    pub fn witness_dir(&self) -> PathBuf {
        self.home.join("witness")
    }

    /// Whether entries are chained.
    pub fn chains_entries(&self) -> bool {
        !self.is_trial && self.audit.chain.unwrap_or_else(|| self.keeps_tapes_here())
    }

    /// Whether turns record what they have done outside.
    pub fn records_receipts(&self) -> bool {
        !self.is_trial && self.audit.receipts.unwrap_or_else(|| self.keeps_tapes_here())
    }

    fn keeps_tapes_here(&self) -> bool {
        !matches!(self.tapes.storage, TapeStorage::Postgres(_))
    }

    /// Who gets the signed heads, if anyone does. Paths are relative to the home.
    ///
    /// # Errors
    ///
    /// A secret of a header cannot be sent there.
    pub fn witness(&self) -> Result<Option<Witness>> {
        let Some(witness) = &self.audit.witness else { return Ok(None) };
        if !is_address(witness) {
            return Ok(Some(Witness::File(self.home.join(witness))));
        }
        let url = address(witness, self.model.insecure_http).context(WHERE)?;
        let mut headers = Vec::with_capacity(self.audit.witness_headers.len());
        for (header, value) in &self.audit.witness_headers {
            for secret in secret::placeholders(value)? {
                let name = url.host_str().unwrap_or_default();
                self.secrets.check_host(&secret, name, url.scheme() == "https")?;
            }
            let filled = self.secrets.fill(value).with_context(|| format!("header `{}`", escaped(header, 40)))?;
            headers.push((header.clone(), filled.expose().to_vec()));
        }
        Ok(Some(Witness::Http(url, headers)))
    }
}
