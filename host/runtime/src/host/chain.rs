//! The chain of entries, by the configuration, and the delivery of its signed heads to a witness.

use anyhow::{Context, Result, ensure};
use bub_audit::{AuditFolder, ChainedStore, HeadKeeper, MAX_LIST, Signing};
use bub_config::{Config, Witness};
use bub_tape::Store;
use reqwest::{Client, Url};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long a witness may take for one delivery.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long a witness that has failed is left alone by turns.
const PAUSE: Duration = Duration::from_secs(60);

/// How long a witness may take for its whole list.
const LIST_PATIENCE: Duration = Duration::from_secs(10);

/// The header with the bytes of the whole list.
const WITNESS_BYTES: &str = "bub-witness-bytes";

/// That store with a chain beside each tape, if the configuration has one.
pub fn chained(config: &Config, store: Arc<dyn Store>) -> Arc<dyn Store> {
    if !config.chains_entries() {
        return store;
    }
    let keeper: Arc<dyn HeadKeeper> = Arc::new(Signing::new(AuditFolder::new(config.audit_dir())));
    Arc::new(ChainedStore::new(store, Some(keeper)))
}

/// The client for witnesses.
fn client() -> Result<&'static Client> {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    if let Some(client) = CLIENT.get() {
        return Ok(client);
    }
    let built = bub_tls::client().redirect(reqwest::redirect::Policy::none()).build()?;
    Ok(CLIENT.get_or_init(|| built))
}

/// The list that a witness has of this home, asked for by GET. Headers are those of the configuration, which alone names the
/// address.
///
/// A `serve` answers a part of its list at once, and the length of all in a header; what another server answers is the whole.
///
/// # Errors
///
/// It cannot be reached, answers too slowly or too much.
pub async fn witness_list(url: &Url, headers: &[(String, Vec<u8>)]) -> Result<Vec<u8>> {
    let mut list = Vec::new();
    let all = async {
        loop {
            let mut part = url.clone();
            if !list.is_empty() {
                part.query_pairs_mut().append_pair("from", &list.len().to_string());
            }
            let mut request = client()?.get(part);
            for (name, value) in headers {
                request = request.header(name, value.as_slice());
            }
            // The address stays out of the message.
            let mut answer = request.send().await.map_err(reqwest::Error::without_url)?;
            ensure!(answer.status().is_success(), "it answers `{}`", answer.status());
            let whole = answer.headers().get(WITNESS_BYTES).and_then(|bytes| bytes.to_str().ok()?.parse::<u64>().ok());
            let is_long = answer.content_length().is_some_and(|length| length > MAX_LIST);
            ensure!(!is_long, "it answers more than {} MiB", MAX_LIST >> 20);
            let before = list.len();
            while let Some(bytes) = answer.chunk().await.map_err(reqwest::Error::without_url)? {
                ensure!((list.len() + bytes.len()) as u64 <= MAX_LIST, "it answers more than {} MiB", MAX_LIST >> 20);
                list.extend_from_slice(&bytes);
            }
            let is_whole = whole.is_none_or(|whole| list.len() as u64 >= whole);
            if is_whole || list.len() == before {
                return Ok(());
            }
        }
    };
    match tokio::time::timeout(LIST_PATIENCE, all).await {
        Ok(read) => read.map(|()| list),
        Err(_) => anyhow::bail!("it does not answer within {} s", LIST_PATIENCE.as_secs()),
    }
}

/// The delivery of signed heads, by a configuration.
pub struct HeadDelivery {
    folder: AuditFolder,
    /// As the configuration names it; none: there is no witness.
    name: Option<String>,
    witness: Result<Option<Witness>>,
    redact: Box<dyn Fn(&str) -> String + Send + Sync>,
}

impl HeadDelivery {
    /// To the witness of that configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            folder: AuditFolder::new(config.audit_dir()),
            name: config.audit.witness.clone().filter(|_| config.chains_entries()),
            witness: config.witness(),
            redact: Box::new(config.redactor()),
        }
    }

    /// Sends the witness the signed heads that it does not have yet. Returns their number; `None`: there is no witness,
    /// another process sends them, or `is_turn`, and the witness has failed a moment ago.
    ///
    /// # Errors
    ///
    /// It cannot be reached or does not take them; the next delivery tries again.
    pub async fn run(&self, is_turn: bool) -> Result<Option<u64>> {
        let Some(name) = &self.name else { return Ok(None) };
        let Some(mut delivery) = self.folder.delivery(name)? else { return Ok(None) };
        if is_turn && delivery.has_failed_within(PAUSE) {
            return Ok(None);
        }
        let mut sent = 0;
        while let Some(lines) = delivery.next_lines()? {
            let outcome = match tokio::time::timeout(PATIENCE, self.send(lines.text)).await {
                Ok(outcome) => outcome,
                Err(_) => Err(anyhow::anyhow!("it does not answer")),
            };
            match outcome {
                Ok(()) => delivery.delivered(lines.count)?,
                Err(error) => {
                    let why = (self.redact)(&format!("{error:#}"));
                    delivery.failed(&why)?;
                    anyhow::bail!("the witness does not get the signed heads: {why}");
                }
            }
            sent += lines.count;
        }
        Ok(Some(sent))
    }

    async fn send(&self, lines: String) -> Result<()> {
        let witness = self.witness.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?;
        match witness.as_ref().context("there is none")? {
            Witness::File(path) => {
                let path = path.clone();
                tokio::task::spawn_blocking(move || bub_audit::append_lines(&path, &lines)).await?
            }
            Witness::Http(url, headers) => {
                let mut request =
                    client()?.post(url.clone()).header("content-type", "application/x-ndjson").body(lines);
                for (name, value) in headers {
                    request = request.header(name, value.as_slice());
                }
                // The address stays out of the message.
                let answer = request.send().await.map_err(reqwest::Error::without_url)?;
                ensure!(answer.status().is_success(), "it answers `{}`", answer.status());
                Ok(())
            }
        }
    }
}
