//! Checks that a model's server is reachable, accepts the key and has the model.
//!
//! Requests the list of models, which is free. If there is none, it requests a completion without messages, which a
//! model server rejects with a JSON error, also free.

use super::{CONNECT_TIMEOUT, Client, Shared};
use crate::endpoint::Endpoint;
use crate::error::{Error, ErrorKind};
use crate::protocol::Protocol;
use bub_types::text::cause;
use bub_types::text::{clipped, one_line};
use reqwest::{Method, RequestBuilder, StatusCode, Url};
use serde_json::{Value, json};

/// Maximum bytes of an answer. The longest lists of models have some megabytes.
const MAX_ANSWER: usize = 16 << 20;

/// The result of a successful probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeResult {
    /// The server lists the model.
    Listed(String),
    /// It is a model server, but does not list its models.
    Answers(String),
}

/// A server's answer: status, and body if it is JSON.
struct Answer {
    status: StatusCode,
    json: Option<Value>,
}

impl Client {
    /// Probes the model's server. No tokens are used.
    ///
    /// # Errors
    ///
    /// There is no address or key, no answer within 10 seconds, the key is rejected, the server is not a model server,
    /// or it does not have the model.
    pub async fn probe(&self, label: &str) -> Result<ProbeResult, Error> {
        let endpoint = Endpoint::resolve(&self.shared.settings, label)?;
        let probe = Probe { shared: &self.shared, endpoint: &endpoint };
        let list = probe.endpoint.protocol.models(&endpoint.url);
        let mut paged = list.clone();
        if endpoint.protocol == Protocol::Messages {
            // The default page has twenty models.
            paged.query_pairs_mut().append_pair("limit", "1000");
        }
        let answer = probe.ask(Method::GET, paged).await?;
        match answer.json.as_ref().filter(|_| answer.status.is_success()).and_then(names) {
            Some(names) => probe.check_listed(&names, list).await,
            None => probe.ask_nothing().await,
        }
    }
}

struct Probe<'a> {
    shared: &'a Shared,
    endpoint: &'a Endpoint,
}

impl Probe<'_> {
    fn wrong(&self, text: String) -> Error {
        Error::new(ErrorKind::Provider, format!("model `{}`: {text}", self.endpoint.label))
    }

    async fn ask(&self, method: Method, url: Url) -> Result<Answer, Error> {
        let request = self.shared.http(self.endpoint).await?.request(method, url);
        self.send(request).await
    }

    async fn send(&self, request: RequestBuilder) -> Result<Answer, Error> {
        let host = &self.endpoint.host;
        let request = request.headers(self.shared.headers_for(self.endpoint)?).timeout(CONNECT_TIMEOUT);
        let broken = |error: reqwest::Error| {
            self.wrong(format!("`{host}` does not answer: {}", one_line(&cause(&error.without_url()))))
        };
        let mut response = request.send().await.map_err(broken)?;
        let status = response.status();
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(self.wrong(format!("`{host}` refuses the key (status {})", status.as_u16())));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            if body.len() + chunk.len() > MAX_ANSWER {
                return Err(self.wrong(format!("`{host}` is not a model server: its list of models does not end")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer { status, json: serde_json::from_slice(&body).ok() })
    }

    /// Whether the server lists the model, by its name or an alias.
    async fn check_listed(&self, names: &[String], list: Url) -> Result<ProbeResult, Error> {
        let (host, model) = (&self.endpoint.host, self.endpoint.model.as_str());
        if names.iter().any(|name| is_named(name, model)) {
            return Ok(ProbeResult::Listed(format!("`{host}` answers, and has it")));
        }
        // Aliases of the latest version are often not listed, but can be queried individually.
        let mut one = list;
        if let Ok(mut path) = one.path_segments_mut() {
            path.extend(model.split('/'));
        }
        let answer = self.ask(Method::GET, one).await?;
        if answer.status.is_success() && answer.json.is_some_and(|json| json.get("id").is_some()) {
            return Ok(ProbeResult::Listed(format!("`{host}` answers, and has it")));
        }
        let near = bub_types::suggest::several(model, names.iter().map(String::as_str), 3);
        let near: Vec<String> = near.iter().map(|name| format!("`{}`", shown(name))).collect();
        let near = if near.is_empty() { String::new() } else { format!("; near to it: {}", near.join(", ")) };
        Err(self.wrong(format!("`{host}` answers, but the model is not among its {} models{near}", names.len())))
    }

    /// For servers that list no models.
    async fn ask_nothing(&self) -> Result<ProbeResult, Error> {
        let (host, model) = (&self.endpoint.host, &self.endpoint.model);
        let body = json!({ "model": model, "messages": [], "max_tokens": 1 });
        let request = self.shared.http(self.endpoint).await?.post(self.endpoint.url.clone());
        let answer = self.send(request.body(body.to_string())).await?;
        let error = answer.json.as_ref().and_then(|json| json.get("error").or_else(|| json.get("detail")));
        let is_answer =
            answer.json.as_ref().is_some_and(|json| json.get("choices").is_some() || json.get("content").is_some());
        if answer.json.is_none() || (error.is_none() && !is_answer) {
            let status = answer.status.as_u16();
            return Err(self.wrong(format!(
                "`{host}` is not a model server: it supports neither a list of models nor chat requests (status {status}); check the address"
            )));
        }
        if answer.status == StatusCode::NOT_FOUND && error.is_some_and(|error| error.to_string().contains(model)) {
            return Err(self.wrong(format!("`{host}` answers, but does not have the model")));
        }
        Ok(ProbeResult::Answers(format!("`{host}` answers, but lists no models, so this model could not be checked")))
    }
}

/// The names in a list of models, in the formats of OpenAI, Ollama, or as a bare list. `None` for anything else.
fn names(json: &Value) -> Option<Vec<String>> {
    let list = json.get("data").or_else(|| json.get("models")).unwrap_or(json).as_array()?;
    let name = |entry: &Value| {
        let name = entry.get("id").or_else(|| entry.get("name")).or_else(|| entry.get("model")).unwrap_or(entry);
        name.as_str().map(str::to_owned)
    };
    list.iter().map(name).collect()
}

/// Whether a listed name is this model's: Gemini adds the prefix `models/`, Ollama a tag, and OpenRouter accepts
/// variants like `:free` that it does not list.
fn is_named(listed: &str, model: &str) -> bool {
    let listed = listed.strip_prefix("models/").unwrap_or(listed);
    let bare = model.strip_prefix("models/").unwrap_or(model);
    listed == bare
        || listed.strip_suffix(":latest") == Some(bare)
        || bare.rsplit_once(':').is_some_and(|(name, _)| name.contains('/') && name == listed)
}

fn shown(name: &str) -> String {
    clipped(&one_line(name), 100)
}
