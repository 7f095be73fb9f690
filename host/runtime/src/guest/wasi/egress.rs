//! `wasi:http`: a guest's requests go to the hosts that its grants name, and nowhere else. A secret that it names as
//! `{{secret:NAME}}` is filled in here, behind the guest's back, and taken out of what comes back.

use super::recorded_http;
use crate::host::Host;
use crate::plugin::Plugin;
use crate::plugin::recording::CallRecording;
use crate::turn::{Denial, DenialReason, Turn};
use bub_egress::secret;
use bub_egress::secret::SecretInjector;
use bub_egress::{Body, EgressClient, Outgoing, Target};
use bub_permissions::{Grant, GrantKind};
use bub_telemetry::TraceContext;
use futures_util::StreamExt;
use http_body_util::{BodyExt, StreamBody};
use reqwest::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use wasmtime_wasi_http::{Error, RequestOptions, Result, WasiBody, WasiHttpHooks};

/// The context of a plugin's HTTP requests.
pub(crate) struct Http {
    /// The host.
    pub host: Arc<Host>,
    /// The plugin that sends requests.
    pub plugin: Arc<Plugin>,
    /// The turn that requests are counted for, if there is one.
    pub turn: Option<Arc<Turn>>,
    /// A plugin has no network while it is loaded.
    pub is_loading: bool,
    /// It keeps the tapes: what a turn wrote leaves in one request, or not at all.
    pub keeps_tapes: bool,
    /// Records requests with their responses, or answers them.
    pub recording: CallRecording,
}

/// The late errors of a request, which are not used here.
pub(super) type Late = Box<dyn Future<Output = Result<()>> + Send>;

impl WasiHttpHooks for Http {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _late: Late,
    ) -> Box<dyn Future<Output = Result<(http::Response<WasiBody>, Late)>> + Send> {
        if self.recording.is_playback() {
            return Box::new(recorded_http::play(self.recording.clone(), request));
        }
        let client = self.egress_client();
        let (host, plugin, turn) = (self.host.clone(), self.plugin.clone(), self.turn.clone());
        let keeps_tapes = self.keeps_tapes;
        let recording = self.recording.clone();
        // A trace is known to others only if the user wants that.
        let trace = self.host.config.telemetry.propagate_to_plugins.then(bub_telemetry::current).flatten();
        let send = async move |request| {
            let (mut request, sent) = into_request(request, options)?;
            let began = Instant::now();
            let method = request.method.to_string();
            if let Some(value) = trace.and_then(|trace| HeaderValue::from_str(&trace.to_string()).ok()) {
                request.headers.entry(TraceContext::HEADER).or_insert(value);
            }
            let target = Target::from_url(request.url()).map(|target| target.to_string()).unwrap_or_default();
            match client.send(request).await {
                Ok(response) => {
                    let grant = Grant::http(&target);
                    let receipt = turn.map(|turn| {
                        turn.used(&plugin, &grant);
                        let status = Some(response.status.as_u16());
                        HttpReceipt { turn, plugin, grant, method, status, sent, received: 0, began, error: None }
                    });
                    let late: Late = Box::new(async { Ok(()) });
                    Ok((from_response(response, receipt), late))
                }
                Err(error) => {
                    if let Some(turn) = &turn {
                        write_down(turn, &plugin, &error);
                        // What was denied has reached no host.
                        if !is_denied(&error) {
                            let (turn, plugin, grant) = (turn.clone(), plugin.clone(), Grant::http(&target));
                            let error = Some(error.to_string());
                            drop(HttpReceipt {
                                turn,
                                plugin,
                                grant,
                                method,
                                status: None,
                                sent,
                                received: 0,
                                began,
                                error,
                            });
                        }
                    }
                    log_failure(&host, &plugin, &error, keeps_tapes);
                    Err(into_error(&error))
                }
            }
        };
        match recording.is_on() {
            true => Box::new(recorded_http::record(recording, request, send)),
            false => Box::new(send(request)),
        }
    }
}

/// Writes a request down that was denied.
fn write_down(turn: &Turn, plugin: &Plugin, error: &bub_egress::Error) {
    let deny = |reason, grant: &str| {
        turn.denied(Denial { reason, plugin: &plugin.name, tool: "", grant, host: "", message: &error.to_string() });
    };
    match error {
        bub_egress::Error::NotGranted { host } => turn.refused(plugin, &Grant::http(host)),
        bub_egress::Error::Private { host, .. } => deny(DenialReason::Reach, Grant::http(host).as_str()),
        // A secret that it does not hold, or that is not bound to that host.
        bub_egress::Error::Refused(_) => deny(DenialReason::Reach, "secret"),
        _ => {}
    }
}

impl Http {
    /// The client with the targets that the grants allow at this moment.
    fn egress_client(&self) -> EgressClient {
        let targets = if self.is_loading { Vec::new() } else { self.host.grants.held(&self.plugin, GrantKind::Http) };
        let targets = targets.iter().filter_map(|grant| Target::parse(grant.target()).ok());
        let (host, plugin, turn) = (self.host.clone(), self.plugin.clone(), self.turn.clone());
        let mut limits = bub_egress::Limits::default();
        if self.keeps_tapes {
            limits.request = limits.request.max(self.plugin.limits.memory_bytes() as u64);
        }
        EgressClient::new(self.host.network.clone(), targets.collect::<Vec<_>>())
            .with_limits(limits)
            .with_rewrite(move |outgoing: &mut Outgoing| fill(&host, &plugin, turn.as_deref(), outgoing))
    }
}

/// Puts the secrets into a request that is about to leave; what is answered must not come back.
fn fill(
    host: &Host,
    plugin: &Plugin,
    turn: Option<&Turn>,
    outgoing: &mut Outgoing,
) -> std::result::Result<Vec<Vec<u8>>, bub_egress::Error> {
    let url = &outgoing.url;
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let headers: Vec<(String, Vec<u8>)> =
        outgoing.headers.iter().map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect();
    let allowed = |name: &str| host.grants.allows(plugin, &Grant::secret(name));
    let refused = |error: secret::Error| match error {
        secret::Error::NotGranted { name } => bub_egress::Error::Refused(plugin.refusal(&Grant::secret(&name)).message),
        other => bub_egress::Error::Refused(other.to_string()),
    };
    let is_https = url.scheme() == "https";
    let injector = SecretInjector::new(&host.config.secrets);
    let filled =
        injector.inject(url.host_str().unwrap_or_default(), is_https, &path, &headers, &allowed).map_err(refused)?;
    if filled.used.is_empty() {
        return Ok(Vec::new());
    }
    for name in &filled.used {
        if let Some(turn) = turn {
            turn.used(plugin, &Grant::secret(name));
        }
    }
    let wrong = |_| bub_egress::Error::Refused("a secret does not fit where it was wanted".to_owned());
    outgoing.url = outgoing.url.join(&filled.path_and_query).map_err(|_| wrong(()))?;
    let mut headers = HeaderMap::new();
    for (name, value) in filled.headers {
        let name = HeaderName::try_from(name).map_err(|_| wrong(()))?;
        headers.append(name, HeaderValue::from_bytes(&value).map_err(|_| wrong(()))?);
    }
    outgoing.headers = headers;
    Ok(filled.values)
}

/// The contract has codes only; the sentence, with the command that helps, is for the log.
fn log_failure(host: &Host, plugin: &Plugin, error: &bub_egress::Error, keeps_tapes: bool) {
    let help = match error {
        bub_egress::Error::NotGranted { host: target } => {
            format!("; {}", plugin.refusal(&Grant::http(target)).message)
        }
        _ => String::new(),
    };
    let text = host.config.secrets.redact(&format!("plugin `{}`: {error}{help}", plugin.name));
    // A tape store retries, and its last error is the error of the turn: it is logged once.
    let said_elsewhere =
        keeps_tapes && !matches!(error, bub_egress::Error::NotGranted { .. } | bub_egress::Error::Refused(_));
    if said_elsewhere { tracing::info!("{text}") } else { tracing::warn!("{text}") }
}

/// The receipt of a request, left when its answer has been read or is dropped.
struct HttpReceipt {
    turn: Arc<Turn>,
    plugin: Arc<Plugin>,
    grant: Grant,
    method: String,
    status: Option<u16>,
    /// Bytes of the request's body so far.
    sent: Arc<AtomicU64>,
    received: u64,
    began: Instant,
    error: Option<String>,
}

impl Drop for HttpReceipt {
    fn drop(&mut self) {
        let receipt = serde_json::json!({
            "plugin": self.plugin.name,
            "digest": self.plugin.digest,
            "grant": self.grant,
            "host": self.grant.target(),
            "method": self.method,
            "status": self.status,
            "sent": self.sent.load(Ordering::Relaxed),
            "received": self.received,
            "ms": u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "error": self.error,
        });
        self.turn.receipt("http", receipt);
    }
}

/// Whether the request was not made at all.
fn is_denied(error: &bub_egress::Error) -> bool {
    use bub_egress::Error::{Invalid, NotGranted, Private, Refused};
    matches!(error, NotGranted { .. } | Private { .. } | Refused(_) | Invalid(_))
}

/// The request, and the bytes of its body that have left so far.
fn into_request(
    request: http::Request<WasiBody>,
    options: Option<RequestOptions>,
) -> Result<(bub_egress::Request, Arc<AtomicU64>)> {
    let (parts, body) = request.into_parts();
    let mut sent =
        bub_egress::Request::new(parts.method, &parts.uri.to_string()).map_err(|error| into_error(&error))?;
    let length = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    sent.headers = parts.headers;
    sent.first_byte = options.as_ref().and_then(|options| options.first_byte_timeout);
    sent.between_bytes = options.as_ref().and_then(|options| options.between_bytes_timeout);
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let chunks = body.into_data_stream().inspect(move |chunk| {
        let bytes = chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        counted.fetch_add(bytes, Ordering::Relaxed);
    });
    Ok((sent.with_body(Body::chunks(chunks, length)), count))
}

/// The answer, its bytes counted as they reach the guest.
fn from_response(response: bub_egress::Response, mut receipt: Option<HttpReceipt>) -> http::Response<WasiBody> {
    let frames = response.body.map(move |chunk| match chunk {
        Ok(bytes) => {
            if let Some(receipt) = &mut receipt {
                receipt.received += bytes.len() as u64;
                receipt.turn.received(&receipt.plugin, &receipt.grant, bytes.len());
            }
            Ok(http_body::Frame::data(bytes))
        }
        Err(error) => Err(into_error(&error)),
    });
    let mut answer = http::Response::new(StreamBody::new(frames).boxed_unsync());
    *answer.status_mut() = response.status;
    *answer.headers_mut() = response.headers;
    answer
}

fn into_error(error: &bub_egress::Error) -> Error {
    match error {
        bub_egress::Error::NotGranted { .. } | bub_egress::Error::Refused(_) => Error::HttpRequestDenied,
        bub_egress::Error::Private { .. } => Error::DestinationIpProhibited,
        bub_egress::Error::Invalid(_) => Error::HttpRequestUriInvalid,
        bub_egress::Error::TooLarge { part: "request", limit } => Error::HttpRequestBodySize(Some(*limit)),
        bub_egress::Error::TooLarge { limit, .. } => Error::HttpResponseBodySize(Some(*limit)),
        bub_egress::Error::TimedOut { .. } => Error::HttpResponseTimeout,
        _ => Error::InternalError(Some(error.to_string())),
    }
}
