//! One request to the collector.

use crate::settings::Settings;
use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};
use std::time::Duration;

/// Bytes of a response that are read, so that its connection can be used again.
const MAX_RESPONSE: usize = 64 << 10;

/// The longest time that a collector can ask to be left alone.
const MAX_WAIT: Duration = Duration::from_secs(60);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why the collector did not take a request.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// In words, without an address and without a word of the collector.
    pub(crate) why: String,
    /// When to ask again; `None`: what was sent is not taken at any time.
    pub(crate) retry: Option<Duration>,
}

/// Sends an empty request, to see whether the collector takes it.
///
/// # Errors
///
/// Why it does not.
pub async fn probe(settings: &Settings) -> Result<(), String> {
    Collector::new(settings)?.send("traces", Bytes::new()).await.map_err(|refusal| refusal.why)
}

/// Sends requests to the collector.
pub(crate) struct Collector {
    client: Client,
    endpoint: String,
    headers: HeaderMap,
    timeout: Duration,
}

impl Collector {
    pub(crate) fn new(settings: &Settings) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            let invalid = || format!("`{name}` is no header that can be sent");
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
            let mut value = HeaderValue::from_bytes(value).map_err(|_| invalid())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        let builder = bub_tls::client()
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("bub-wasm/", env!("CARGO_PKG_VERSION")))
            // A redirect would send the headers to a host that the user did not name.
            .redirect(reqwest::redirect::Policy::none());
        let builder = if settings.is_local { builder.no_proxy() } else { builder };
        // Plain HTTP needs no certificates, which some machines lack.
        let is_plain = settings.endpoint.starts_with("http:");
        let builder = if is_plain { builder.tls_certs_only([]) } else { builder };
        let client = builder.build().map_err(|error| bub_types::text::cause(&error))?;
        Ok(Self { client, endpoint: settings.endpoint.clone(), headers, timeout: settings.timeout })
    }

    /// Sends a request of that kind: `traces`, `logs` or `metrics`.
    pub(crate) async fn send(&self, kind: &str, body: Bytes) -> Result<(), Refusal> {
        let send = async {
            let url = format!("{}/v1/{kind}", self.endpoint);
            let response = self.client.post(url).headers(self.headers.clone()).body(body).send().await;
            let mut response = response.map_err(|error| Refusal {
                why: match error.is_connect() {
                    true => format!("the connection failed: {}", bub_types::text::cause(&error)),
                    false => bub_types::text::cause(&error),
                },
                retry: Some(Duration::ZERO),
            })?;
            if !response.status().is_success() {
                return Err(refusal(&response));
            }
            let mut read = 0;
            while let Ok(Some(chunk)) = response.chunk().await {
                read += chunk.len();
                if read > MAX_RESPONSE {
                    break;
                }
            }
            Ok(())
        };
        tokio::time::timeout(self.timeout, send).await.unwrap_or_else(|_| {
            let why = format!("it did not answer within {} s", self.timeout.as_secs_f64());
            Err(Refusal { why, retry: Some(Duration::ZERO) })
        })
    }
}

fn refusal(response: &Response) -> Refusal {
    let status = response.status();
    // The specification names these; another one would be answered again.
    let passes = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ]
    .contains(&status);
    let asked = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let wait = Duration::from_secs(asked.unwrap_or_default()).min(MAX_WAIT);
    Refusal { why: format!("it answered {}", status.as_u16()), retry: passes.then_some(wait) }
}
