//! A single request: the POST, and reading of the answer.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, Stream, StreamExt};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::Value;
use sse_stream::Sse;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::answer::Answer;
use crate::body_reader;
use crate::body_reader::ReadError;
use crate::calls::TooManyCalls;
use crate::completion::EventSender;
use crate::endpoint::Endpoint;
use crate::error::{Error, ErrorKind};
use crate::exchange::Event;
use crate::redaction::Redaction;
use crate::refusal::Refusal;
use crate::retry;
use bub_telemetry::TraceContext;
use bub_types::text::cause;

/// How long to wait for the end of a connection after its answer. A connection that is still open then is not reused.
const DRAIN: Duration = Duration::from_secs(1);

/// Events after the end that are read without waiting.
const MAX_DRAINED: usize = 8;

/// Why a request has no complete answer.
pub(crate) struct Failure {
    pub error: Error,
    /// Whether a retry may succeed.
    pub is_passing: bool,
    /// The server's `Retry-After`.
    pub asked: Option<Duration>,
}

/// A model's server.
pub(crate) struct Server<'a> {
    pub http: &'a reqwest::Client,
    pub headers: HeaderMap,
    pub endpoint: &'a Endpoint,
    pub redaction: &'a Redaction,
}

impl Server<'_> {
    /// Sends `body`, and emits the events of the answer as they arrive. `failed`: how often it was sent before.
    pub(crate) async fn ask(
        &self,
        body: Bytes,
        stream: bool,
        failed: u32,
        sender: &mut EventSender,
    ) -> Result<(), Failure> {
        let span = bub_telemetry::span!(
            "POST",
            otel.kind = "client",
            http.request.method = "POST",
            server.address = self.endpoint.url.host_str(),
            server.port = self.endpoint.url.port_or_known_default().map(u64::from),
            http.request.resend_count = (failed > 0).then_some(u64::from(failed)),
            http.response.status_code = Empty,
            gen_ai.response.model = Empty,
            outcome = Empty,
            error.type = Empty,
            otel.status = Empty,
        );
        let sent = self.send(body, stream, sender).instrument(span.clone()).await;
        match &sent {
            Ok(()) => span.record("outcome", "answered"),
            Err(Failure { error, .. }) => {
                span.record("otel.status", &error.message);
                span.record("outcome", "failed").record("error.type", error.kind.name())
            }
        };
        sent
    }

    async fn send(&self, body: Bytes, stream: bool, sender: &mut EventSender) -> Result<(), Failure> {
        let mut headers = self.headers.clone();
        // The server may be a part of the same system, and can make its own spans a part of the trace.
        if let Some(value) = bub_telemetry::current().and_then(|span| HeaderValue::from_str(&span.to_string()).ok()) {
            headers.entry(TraceContext::HEADER).or_insert(value);
        }
        let request = self.http.post(self.endpoint.url.clone()).headers(headers).body(body);
        let response = request.send().await.map_err(|error| self.unsent(&error))?;
        if bub_telemetry::is_on() {
            Span::current().record("http.response.status_code", response.status().as_u16());
        }
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        match comes_in_events(&response, stream) {
            true => self.read_events(response, sender).await,
            false => self.read_whole(response, sender).await,
        }
    }

    async fn read_whole(&self, response: Response, sender: &mut EventSender) -> Result<(), Failure> {
        let bytes = body_reader::whole(response).await.map_err(|broken| self.broken(broken))?;
        let document: Value = serde_json::from_slice(&bytes).map_err(|_| self.not_understood("is no valid JSON"))?;
        let mut answer = Answer::new(self.endpoint.protocol);
        self.pass_on(&document, &mut answer, sender).await?;
        self.finish(answer, sender).await
    }

    async fn read_events(&self, response: Response, sender: &mut EventSender) -> Result<(), Failure> {
        let mut events = body_reader::events(response);
        let mut answer = Answer::new(self.endpoint.protocol);
        loop {
            let event = match events.next().await {
                Some(Ok(event)) => event,
                // The finish reason arrived: at most the usage is missing.
                Some(Err(ReadError::Connection(_))) | None if answer.is_finished() => break,
                Some(Err(broken)) => return Err(self.broken(broken)),
                None => return Err(self.cut_off(None)),
            };
            let Some(data) = event.data.as_deref().filter(|data| !data.trim().is_empty()) else {
                continue;
            };
            if data.trim() == "[DONE]" {
                drain(events);
                break;
            }
            let document = match serde_json::from_str::<Value>(data) {
                Ok(document) => document,
                Err(_) if is_error(&event) => return Err(self.reported(&Refusal::from_text(data))),
                Err(_) => return Err(self.not_understood("holds an event that is no valid JSON")),
            };
            self.pass_on(&document, &mut answer, sender).await?;
            if answer.is_over() {
                drain(events);
                break;
            }
        }
        self.finish(answer, sender).await
    }

    async fn pass_on(&self, document: &Value, answer: &mut Answer, sender: &mut EventSender) -> Result<(), Failure> {
        if let Some(refusal) = Refusal::in_answer(document) {
            return Err(self.reported(&refusal));
        }
        if bub_telemetry::is_on()
            && !answer.has_choice()
            && let Some(model) = document.get("model").and_then(Value::as_str)
        {
            Span::current().record("gen_ai.response.model", model);
        }
        let events: Vec<Event> =
            answer.take_in(document).map_err(|TooManyCalls| self.not_understood("holds more than 128 tool calls"))?;
        for event in events {
            sender.send(event).await;
        }
        Ok(())
    }

    async fn finish(&self, answer: Answer, sender: &mut EventSender) -> Result<(), Failure> {
        if !answer.has_choice() {
            return Err(self.not_understood(&format!("holds no {}", self.endpoint.protocol.least())));
        }
        for event in answer.finish() {
            sender.send(event).await;
        }
        Ok(())
    }

    /// The request got no response.
    fn unsent(&self, error: &reqwest::Error) -> Failure {
        let host = &self.endpoint.host;
        if error.is_builder() {
            let text = format!("no request can be made for `{host}`: {}", cause(error));
            return self.failure(ErrorKind::Config, &text, false);
        }
        if error.is_connect() {
            let text = match error.is_timeout() {
                true => format!("could not connect to `{host}` in time"),
                false => format!("could not connect to `{host}`: {}", cause(error)),
            };
            let failure = self.failure(ErrorKind::Temporary, &text, true);
            let provider = self.provider().to_ascii_uppercase();
            let remedy = format!(
                "see that it runs, or set another address by `BUB_{provider}_API_BASE`; `bub-wasm doctor` tries it"
            );
            return Failure { error: failure.error.with_remedy(remedy), ..failure };
        }
        if error.is_timeout() {
            return self.silent();
        }
        let text = format!("no answer from `{host}`: {}", cause(error));
        self.failure(ErrorKind::Temporary, &text, true)
    }

    /// The response has an error status.
    async fn refused(&self, response: Response) -> Failure {
        let status = response.status().as_u16();
        let asked = retry::asked(response.headers());
        let refusal = Refusal::from_response(status, &body_reader::beginning(response).await);
        let text = match refusal.words() {
            "" => format!("the server answered {status}"),
            words => format!("the server answered {status}: {}", self.redaction.line(words)),
        };
        let failure = self.failure(refusal.kind(), &text, refusal.is_passing());
        let error = failure.error.with_remedy(self.remedy(status));
        Failure { error, asked, ..failure }
    }

    /// The remedy for an error status.
    fn remedy(&self, status: u16) -> String {
        let (provider, host) = (self.provider(), &self.endpoint.host);
        let variable = provider.to_ascii_uppercase();
        match status {
            401 | 403 => {
                let wrong = if self.endpoint.key.is_some() { "the key is refused" } else { "it needs a key" };
                let host = host.split(':').next().unwrap_or_default();
                format!("{wrong}: set one by `bub-wasm secret set {provider} --host {host}` or `BUB_{variable}_API_KEY`, and try it by `bub-wasm doctor`")
            }
            404 => format!("the model's name or the server's address is wrong: name another model by `-m PROVIDER:MODEL` or `BUB_MODEL`, another address by `BUB_{variable}_API_BASE`"),
            429 => "it limits how much may be asked of it: try again later, or name others in `fallback_models` of config.toml".to_owned(),
            500.. => "try again later, or name others in `fallback_models` of config.toml".to_owned(),
            _ => String::new(),
        }
    }

    /// The provider's name, as in variables and secrets.
    fn provider(&self) -> String {
        let provider = self.endpoint.label.split(':').next().unwrap_or_default();
        provider.to_ascii_lowercase().replace(['-', '.'], "_")
    }

    /// A successful response contains an error.
    fn reported(&self, refusal: &Refusal) -> Failure {
        let words = self.redaction.line(refusal.words());
        let text = format!("the server reported an error: {words}");
        self.failure(refusal.kind(), &text, refusal.is_passing())
    }

    /// The answer ended early.
    fn broken(&self, broken: ReadError) -> Failure {
        match broken {
            ReadError::Connection(error) if error.is_timeout() => self.silent(),
            ReadError::Connection(error) => self.cut_off(Some(&cause(&error))),
            ReadError::TooLarge(what) => {
                let text = format!("`{}` sent {what}", self.endpoint.host);
                self.failure(ErrorKind::Provider, &text, false)
            }
            ReadError::Malformed => self.not_understood("is no valid stream of events"),
        }
    }

    fn cut_off(&self, cause: Option<&str>) -> Failure {
        let host = &self.endpoint.host;
        let text = match cause {
            Some(cause) => format!("`{host}` broke off in the middle of its answer: {cause}"),
            None => format!("`{host}` broke off in the middle of its answer"),
        };
        self.failure(ErrorKind::Temporary, &text, true)
    }

    /// Not retried: it would take as long again.
    fn silent(&self) -> Failure {
        let text = format!("`{}` fell silent", self.endpoint.host);
        self.failure(ErrorKind::Temporary, &text, false)
    }

    fn not_understood(&self, what: &str) -> Failure {
        let text = format!("the answer of `{}` {what}", self.endpoint.host);
        self.failure(ErrorKind::Provider, &text, false)
    }

    fn failure(&self, kind: ErrorKind, text: &str, is_passing: bool) -> Failure {
        Failure { error: Error::new(kind, format!("model `{}`: {text}", self.endpoint.label)), is_passing, asked: None }
    }
}

/// Servers may answer a streaming request as a whole, or the reverse: the content type decides, or else the request.
fn comes_in_events(response: &Response, asked_for: bool) -> bool {
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_ascii_lowercase();
    match kind.split(';').next().unwrap_or_default().trim() {
        "text/event-stream" => true,
        "" | "text/plain" | "application/octet-stream" => asked_for,
        _ => false,
    }
}

fn is_error(event: &Sse) -> bool {
    event.event.as_deref() == Some("error")
}

/// Reads the rest after `[DONE]` or the event that ends a message, so that the connection can be reused and the next
/// step needs no handshake. Available data is read here; the rest in the background.
fn drain(mut events: impl Stream<Item = Result<Sse, ReadError>> + Send + Unpin + 'static) {
    for _ in 0..MAX_DRAINED {
        match events.next().now_or_never() {
            Some(Some(Ok(_))) => {}
            Some(_) => return,
            None => break,
        }
    }
    tokio::spawn(tokio::time::timeout(DRAIN, async move { while let Some(Ok(_)) = events.next().await {} }));
}
