//! The client: models, fallbacks and retries.

mod probe;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
    USER_AGENT,
};
use tokio::sync::OnceCell;

use crate::attempt::{Failure, Server};
use crate::body::Body;
use crate::completion::{Completion, EventSender};
use crate::endpoint::Endpoint;
use crate::error::{Error, ErrorKind};
use crate::exchange::Request;
use crate::redaction::{Redaction, is_secret_header};
use crate::retry;
use crate::route::{Route, check_key};
use crate::settings::Settings;
use bub_types::text::one_line;

pub use probe::ProbeResult;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends requests to models. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    /// The endpoint of the configured model, which most requests use.
    usual: OnceLock<Arc<Endpoint>>,
    headers: HeaderMap,
    redaction: Redaction,
    /// Clients without a proxy, and with the proxy of the environment.
    direct: Clients,
    proxied: Clients,
}

/// Created on first use.
#[derive(Default)]
struct Clients {
    /// For plain HTTP. Loads no certificates, so that it works on machines without any.
    plain: OnceCell<reqwest::Client>,
    /// For `https`. Loading the system's certificates takes time.
    secure: OnceCell<reqwest::Client>,
}

impl Client {
    /// Checks the headers of `settings`. Keys and addresses are resolved per request.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Config`] for a header that cannot be sent; its value is not shown.
    pub fn new(settings: Settings) -> Result<Client, Error> {
        let headers = headers(&settings.headers)?;
        let redaction = Redaction::new(&settings);
        Ok(Client {
            shared: Arc::new(Shared {
                settings,
                usual: OnceLock::new(),
                headers,
                redaction,
                direct: Clients::default(),
                proxied: Clients::default(),
            }),
        })
    }

    /// Creates a request, which starts when its first event is awaited. Errors are returned through the completion.
    ///
    /// A request is sent up to three times on temporary failures. After the first event a failure is final.
    pub fn complete(&self, request: Request) -> Completion {
        let shared = Arc::clone(&self.shared);
        Completion::new(self.shared.redaction.spoken(), |mut sender| async move {
            if let Err(error) = shared.answer(&request, &mut sender).await {
                sender.fail(error).await;
            }
        })
    }

    /// The body that a request would have for its model.
    ///
    /// # Errors
    ///
    /// The model has no address, or the request cannot be written for its protocol.
    pub fn body(&self, request: &Request) -> Result<String, Error> {
        let model = request.model.as_ref().unwrap_or(&self.shared.settings.model);
        Body::new(&self.shared.settings, request)?.text(&*self.shared.endpoint(model)?)
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Redacts a server's text.
    pub(super) fn redacted(&self, words: &str) -> String {
        self.shared.redaction.line(words)
    }

    /// Prepares a request to that URL of the endpoint's server, with its key.
    pub(super) async fn post(&self, endpoint: &Endpoint, url: reqwest::Url) -> Result<reqwest::RequestBuilder, Error> {
        let headers = self.shared.headers_for(endpoint)?;
        Ok(self.shared.http(endpoint).await?.post(url).headers(headers))
    }

    /// The route to the model's server.
    ///
    /// # Errors
    ///
    /// There is no address, or the key may not be sent there.
    pub async fn route(&self, label: &str) -> Result<(String, Route), Error> {
        let endpoint = Endpoint::resolve(&self.shared.settings, label)?;
        self.shared.headers_for(&endpoint)?;
        Ok((endpoint.host.clone(), Route::to(&endpoint.url).await))
    }
}

impl Shared {
    async fn answer(&self, request: &Request, sender: &mut EventSender) -> Result<(), Error> {
        let body = Body::new(&self.settings, request)?;
        let model = request.model.as_ref().unwrap_or(&self.settings.model);
        self.ask(model, &body, request.stream, sender).await
    }

    /// Sends the request to one model, within the timeout.
    async fn ask(&self, label: &str, body: &Body<'_>, stream: bool, sender: &mut EventSender) -> Result<(), Error> {
        let endpoint = self.endpoint(label)?;
        let server = Server {
            headers: self.headers_for(&endpoint)?,
            http: self.http(&endpoint).await?,
            endpoint: &endpoint,
            redaction: &self.redaction,
        };
        let text = Bytes::from(body.text(&endpoint)?);
        tracing::debug!(model = label, host = endpoint.host, bytes = text.len(), "request");
        let work = self.ask_with_retries(&server, text, stream, sender);
        let Some(limit) = self.settings.timeout else {
            return work.await;
        };
        tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
            let seconds = limit.as_secs_f64();
            let host = &endpoint.host;
            Err(Error::new(
                ErrorKind::Temporary,
                format!("model `{label}`: no whole answer from `{host}` within {seconds} s"),
            ))
        })
    }

    fn endpoint(&self, label: &str) -> Result<Arc<Endpoint>, Error> {
        if label != self.settings.model {
            return Ok(Arc::new(Endpoint::resolve(&self.settings, label)?));
        }
        if let Some(usual) = self.usual.get() {
            return Ok(usual.clone());
        }
        let endpoint = Arc::new(Endpoint::resolve(&self.settings, label)?);
        Ok(self.usual.get_or_init(|| endpoint).clone())
    }

    async fn ask_with_retries(
        &self,
        server: &Server<'_>,
        text: Bytes,
        stream: bool,
        sender: &mut EventSender,
    ) -> Result<(), Error> {
        let mut failed = 0;
        loop {
            let Err(failure) = server.ask(text.clone(), stream, failed, sender).await else {
                return Ok(());
            };
            let Failure { error, is_passing, asked } = failure;
            failed += 1;
            if !is_passing || failed >= retry::REQUESTS || sender.has_sent() {
                return Err(error);
            }
            let pause = retry::pause(self.settings.retry_delay, failed, asked);
            tracing::info!(failed, ?pause, "{error}; asking again");
            sender.retry(&error.message, pause).await;
            tokio::time::sleep(pause).await;
        }
    }

    async fn http(&self, endpoint: &Endpoint) -> Result<&reqwest::Client, Error> {
        let is_plain = endpoint.url.scheme() == "http";
        let is_direct = Route::to(&endpoint.url).await.is_direct();
        let clients = if is_direct { &self.direct } else { &self.proxied };
        let cell = if is_plain { &clients.plain } else { &clients.secure };
        cell.get_or_try_init(|| async { self.connections(is_plain, is_direct) }).await.map_err(|error| {
            let reason = one_line(&error.to_string());
            let label = &endpoint.label;
            Error::new(ErrorKind::Config, format!("model `{label}`: connections cannot be set up: {reason}"))
        })
    }

    fn connections(&self, is_plain: bool, is_direct: bool) -> Result<reqwest::Client, reqwest::Error> {
        let builder = bub_tls::client()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(self.settings.idle)
            // A redirect would send the conversation, and the user's own headers, to a host that the user did not name.
            .redirect(reqwest::redirect::Policy::none());
        let builder = if is_direct { builder.no_proxy() } else { builder };
        match is_plain {
            true => builder.tls_certs_only([]).build(),
            false => builder.build(),
        }
    }

    /// The headers of every request, with the endpoint's key. Headers that the user set are kept.
    ///
    /// # Errors
    ///
    /// The key is not a valid header value, or may not be sent there.
    fn headers_for(&self, endpoint: &Endpoint) -> Result<HeaderMap, Error> {
        let mut headers = self.headers.clone();
        if let Some((name, value)) = endpoint.protocol.fixed_header() {
            headers.entry(name).or_insert(value);
        }
        let (name, scheme) = endpoint.protocol.key_header();
        if let Some(key) = &endpoint.key
            && !headers.contains_key(AUTHORIZATION)
            && !headers.contains_key(&name)
        {
            let shown = format!("{scheme}{}", key.expose().trim());
            let mut value = HeaderValue::from_str(&shown).map_err(|_| {
                let label = &endpoint.label;
                Error::new(
                    ErrorKind::Config,
                    format!("model `{label}`: the key has characters that are invalid in a header"),
                )
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let carries_key = headers.values().any(HeaderValue::is_sensitive);
        check_key(endpoint, carries_key, self.settings.insecure_http)?;
        Ok(headers)
    }
}

fn headers(wanted: &[(String, String)]) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let agent = concat!("bub-wasm/", env!("CARGO_PKG_VERSION"));
    headers.insert(USER_AGENT, HeaderValue::from_static(agent));
    for (name, value) in wanted {
        let wrong = |what: &str| {
            let name = one_line(name);
            Error::new(ErrorKind::Config, format!("header `{name}` {what}"))
        };
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("has no valid name"))?;
        if [HOST, CONTENT_LENGTH, TRANSFER_ENCODING].contains(&parsed) {
            return Err(wrong("may not be set: it follows from the request"));
        }
        let mut parsed_value =
            HeaderValue::from_str(value).map_err(|_| wrong("has a value that is invalid in a header"))?;
        parsed_value.set_sensitive(is_secret_header(name));
        headers.insert(parsed, parsed_value);
    }
    Ok(headers)
}
