//! `/v1/plugins`: what is loaded, and what an owner changes: installing, grants, going back, ending a quarantine.

use super::body::{self, CallerClass};
use super::extract::{Caller, PathName, QueryParams};
use super::token::Bearer;
use super::{Api, ApiError};
use axum::Json;
use axum::body::Body;
use axum::http::StatusCode;
use bub_config::{Config, Scope};
use bub_permissions::Grants;
use bub_runtime::host::{Host, grant_edit, introspection};
use bub_runtime::plugin::{MAX_FILE, Plugin, PluginFiles, PluginSet, Source, digest, plugin_lock};
use bub_runtime::plugin_sharing::SharedChange;
use bub_types::suggest;
use bub_types::text::one_line;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Components that were inspected and not added yet.
const MAX_CANDIDATES: usize = 4;

/// How long they are kept.
const CANDIDATE_LIFETIME: Duration = Duration::from_secs(600);

/// How long a change waits until it is loaded, and how often it looks.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(5);
const REFRESH_PAUSE: Duration = Duration::from_millis(50);

/// The largest body of a change, in bytes.
const MAX_BODY: usize = 64 << 10;

/// Components that were uploaded and inspected: the bytes that are added are those that were shown.
#[derive(Default)]
pub(super) struct Candidates(Mutex<VecDeque<Candidate>>);

#[derive(Clone)]
struct Candidate {
    name: String,
    plugin: Arc<Plugin>,
    bytes: Arc<Vec<u8>>,
    since: Instant,
}

impl Candidates {
    fn put(&self, candidate: Candidate) {
        let mut kept = self.0.lock();
        kept.retain(|known| {
            known.since.elapsed() < CANDIDATE_LIFETIME && known.plugin.digest != candidate.plugin.digest
        });
        kept.truncate(MAX_CANDIDATES - 1);
        kept.push_front(candidate);
    }

    fn get(&self, name: &str, digest: &str) -> Option<Candidate> {
        let kept = self.0.lock();
        let is_it = |known: &&Candidate| known.name == name && known.plugin.digest == digest;
        kept.iter().find(is_it).filter(|known| known.since.elapsed() < CANDIDATE_LIFETIME).cloned()
    }
}

/// `GET /v1/plugins`: the output of `bub-wasm plugin list --json`, without sessions outside of the caller's scope, and with
/// the calls of each plugin since the process began.
pub(super) async fn list(Caller { api, bearer }: Caller) -> Result<Json<Value>, ApiError> {
    bearer.needs(Scope::Read)?;
    let host = api.gateway.host();
    let mut plugins = introspection::plugins(&host, &host.plugins());
    for plugin in plugins["plugins"].as_array_mut().into_iter().flatten() {
        let name = plugin["name"].as_str().unwrap_or_default().to_owned();
        plugin["stats"] = stats(&host, &name);
        plugin["has_previous"] = PluginFiles::new(&host.config, &name).is_ok_and(|files| files.has_previous()).into();
    }
    if let Some(quarantined) = plugins["quarantined"].as_array_mut() {
        let is_in_scope = |circuit: &Value| match circuit["session"].as_str() {
            Some(session) => session.starts_with(&bearer.session_prefix),
            // The names of other callers are for tokens that reach all sessions.
            None => circuit["caller"].is_null() || bearer.session_prefix.is_empty(),
        };
        quarantined.retain(is_in_scope);
    }
    Ok(Json(plugins))
}

/// Counts of the calls into a plugin, by export.
fn stats(host: &Host, name: &str) -> Value {
    let counts = host.meter.of(name).into_iter().map(|(hook, count)| {
        let micros = u64::try_from(count.took.as_micros()).unwrap_or(u64::MAX);
        let stats = json!({ "calls": count.calls, "faults": count.faults, "micros": micros, "fuel": count.fuel });
        (hook.to_owned(), stats)
    });
    Value::Object(counts.collect())
}

/// The name of a component that is uploaded.
#[derive(Debug, Deserialize)]
pub(super) struct InspectParams {
    name: String,
}

/// `POST /v1/plugins/inspect`: what a component is and wants. It is kept for some minutes, so that it can be added.
pub(super) async fn inspect(
    Caller { api, bearer }: Caller,
    QueryParams(InspectParams { name }): QueryParams<InspectParams>,
    sent: Body,
) -> Result<Json<Value>, ApiError> {
    bearer.needs(Scope::Admin)?;
    let max = usize::try_from(MAX_FILE).unwrap_or(usize::MAX);
    let received = body::read(&api, sent, CallerClass::from_bearer(&bearer), max).await?;
    let host = api.gateway.host();
    // An invalid name is reported before the component is compiled.
    PluginFiles::new(&host.config, &name).map_err(invalid)?;
    let bytes = Arc::new(received.bytes);
    let plugin = host.probe(&name, &bytes).await.map_err(invalid)?;
    let plugins = host.plugins();
    plugins.would_take(&plugin).map_err(invalid)?;
    let before = installed(&plugins, &name).map(|before| introspection::plugin(&host, before));
    let answer = json!({
        "candidate": introspection::plugin(&host, &plugin),
        "size": bytes.len(),
        "digest": plugin.digest,
        "before": before,
    });
    api.candidates.put(Candidate { name, plugin, bytes, since: Instant::now() });
    Ok(Json(answer))
}

/// The component to add, and its grants.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AddRequest {
    digest: String,
    #[serde(default)]
    grants: Vec<String>,
}

/// The source of an uploaded component, in plugins.lock.
const UPLOADED: &str = "upload";

/// `POST /v1/plugins/{name}/add`: installs an inspected component with these grants and no others.
pub(super) async fn add(
    Caller { api, bearer }: Caller,
    PathName(name): PathName,
    sent: Body,
) -> Result<Json<Value>, ApiError> {
    let request: AddRequest = request(&api, &bearer, sent).await?;
    let gateway = Arc::clone(&api.gateway);
    gateway.complete(add_inspected(api, name, request)).await?
}

async fn add_inspected(api: Arc<Api>, name: String, request: AddRequest) -> Result<Json<Value>, ApiError> {
    let (host, change) = begin(&api).await?;
    let Some(candidate) = api.candidates.get(&name, &request.digest) else {
        return Err(ApiError::not_found(
            "no component with this name and digest was inspected in the last ten minutes",
        ));
    };
    let grants = grant_edit::parse(&request.grants).map_err(invalid)?;
    grant_edit::check_requested(&candidate.plugin, &grants).map_err(invalid)?;
    let files = PluginFiles::read_again(&host.config, &name).map_err(invalid)?;
    if digest(&candidate.bytes) != candidate.plugin.digest {
        return Err(ApiError::internal(&"an inspected component has changed in memory"));
    }
    let is_there = installed(&host.plugins(), &name).is_some_and(|before| before.digest == request.digest);
    if !is_there {
        plugin_lock::check_unsigned(&host.config, &name, &request.digest).map_err(invalid)?;
        let version = &candidate.plugin.manifest.version;
        plugin_lock::note_unsigned(&host.config.home, &name, UPLOADED, &request.digest, version)?;
        files.install(&candidate.bytes)?;
    }
    let grants = grants.into_iter().collect::<Grants>();
    grant_edit::write(&host, &candidate.plugin, &grants, false)?;
    end(&host, change, &name).await?;
    Ok(Json(introspection::plugin(&host, &candidate.plugin)))
}

/// Grants of a plugin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantsRequest {
    grants: Vec<String>,
}

/// `POST /v1/plugins/{name}/grant`: adds grants.
pub(super) async fn grant(
    Caller { api, bearer }: Caller,
    PathName(name): PathName,
    sent: Body,
) -> Result<Json<Value>, ApiError> {
    let request: GrantsRequest = request(&api, &bearer, sent).await?;
    let gateway = Arc::clone(&api.gateway);
    let work = change_grants(api, name, move |host, plugin| {
        let grants = grant_edit::parse(&request.grants).map_err(invalid)?;
        grant_edit::check_requested(plugin, &grants).map_err(invalid)?;
        Ok(grant_edit::add(host, plugin, &grants, false)?)
    });
    gateway.complete(work).await?
}

/// `POST /v1/plugins/{name}/revoke`: removes grants.
pub(super) async fn revoke(
    Caller { api, bearer }: Caller,
    PathName(name): PathName,
    sent: Body,
) -> Result<Json<Value>, ApiError> {
    let request: GrantsRequest = request(&api, &bearer, sent).await?;
    if request.grants.is_empty() {
        return Err(ApiError::bad_request("`grants` names the grants to revoke"));
    }
    let gateway = Arc::clone(&api.gateway);
    let work = change_grants(api, name, move |host, plugin| {
        grant_edit::remove(host, plugin, &request.grants).map_err(invalid)?;
        Ok(())
    });
    gateway.complete(work).await?
}

async fn change_grants(
    api: Arc<Api>,
    name: String,
    edit: impl FnOnce(&Arc<Host>, &Arc<Plugin>) -> Result<(), ApiError> + Send,
) -> Result<Json<Value>, ApiError> {
    let (host, change) = begin(&api).await?;
    let plugins = host.plugins();
    let plugin = find(&plugins, &name)?;
    edit(&host, plugin)?;
    end(&host, change, &name).await?;
    Ok(Json(introspection::plugin(&host, plugin)))
}

/// No member.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// `POST /v1/plugins/{name}/rollback`: goes back to the version before, with the grants that it had.
pub(super) async fn rollback(
    Caller { api, bearer }: Caller,
    PathName(name): PathName,
    sent: Body,
) -> Result<Json<Value>, ApiError> {
    let Nothing {} = request(&api, &bearer, sent).await?;
    let gateway = Arc::clone(&api.gateway);
    gateway.complete(restore_previous(api, name)).await?
}

async fn restore_previous(api: Arc<Api>, name: String) -> Result<Json<Value>, ApiError> {
    let (host, change) = begin(&api).await?;
    let files = PluginFiles::read_again(&host.config, &name).map_err(invalid)?;
    if !files.has_previous() {
        return Err(ApiError::not_found("no earlier version of this plugin is kept"));
    }
    let bytes = files.previous_bytes()?;
    plugin_lock::check_return(&host.config, &name, &bytes).map_err(invalid)?;
    let plugin = host.probe(&name, &bytes).await.map_err(invalid)?;
    host.plugins().would_take(&plugin).map_err(invalid)?;
    plugin_lock::note_return(&host.config.home, &name, &plugin.digest)?;
    files.restore(&bytes)?;
    host.grants.reload_now();
    end(&host, change, &name).await?;
    Ok(Json(introspection::plugin(&host, &plugin)))
}

/// `POST /v1/plugins/{name}/unquarantine`: lets a plugin be called again.
pub(super) async fn unquarantine(
    Caller { api, bearer }: Caller,
    PathName(name): PathName,
    sent: Body,
) -> Result<Json<Value>, ApiError> {
    let Nothing {} = request(&api, &bearer, sent).await?;
    let gateway = Arc::clone(&api.gateway);
    gateway.complete(lift_quarantine(api, name)).await?
}

async fn lift_quarantine(api: Arc<Api>, name: String) -> Result<Json<Value>, ApiError> {
    let (host, change) = begin(&api).await?;
    if host.lift_quarantine(&name).await? == 0 {
        find(&host.plugins(), &name)?;
        return Err(ApiError::new(StatusCode::CONFLICT, "not_quarantined", "this plugin is not in quarantine"));
    }
    // A plugin that an advisory lists is not loaded until now.
    end(&host, change, &name).await?;
    let plugins = host.plugins();
    Ok(Json(introspection::plugin(&host, find(&plugins, &name)?)))
}

/// Reads the body of a change.
///
/// # Errors
///
/// The token may not change plugins, or the body is not understood.
async fn request<T: serde::de::DeserializeOwned + Send + 'static>(
    api: &Api,
    bearer: &Bearer,
    sent: Body,
) -> Result<T, ApiError> {
    bearer.needs(Scope::Admin)?;
    let class = CallerClass::from_bearer(bearer);
    let (request, _charge) = body::json(api, sent, (class, MAX_BODY), Ok::<T, _>).await?;
    Ok(request)
}

/// Begins a change. Where the workers of a database share plugins, what others have changed is taken over first, and no
/// other process of this home changes plugins until the end.
///
/// # Errors
///
/// The database cannot be reached, or another process is changing plugins.
async fn begin(api: &Api) -> Result<(Arc<Host>, Option<SharedChange>), ApiError> {
    let host = api.gateway.host();
    let unavailable =
        |error: anyhow::Error| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", one_line(&format!("{error:#}")));
    if !host.config.shares_plugins() {
        return Ok((host, None));
    }
    let config = Config::load(Some(&host.config.home)).map_err(unavailable)?.with_connection_of(&host.config);
    let (_, change) = SharedChange::begin(config).await.map_err(unavailable)?;
    if change.is_some() {
        host.grants.reload_now();
        refresh(&host).await;
    }
    Ok((host, change))
}

/// Loads a change, and stores it for all workers that share plugins.
///
/// # Errors
///
/// The database does not answer: the change is active in this home alone.
async fn end(host: &Arc<Host>, change: Option<SharedChange>, name: &str) -> Result<(), ApiError> {
    refresh(host).await;
    if let Err(error) = plugin_lock::note_grants(&host.config.home, &host.config.file()) {
        tracing::warn!("{}", one_line(&format!("{error:#}")));
    }
    let Some(change) = change else { return Ok(()) };
    let unavailable = |error: anyhow::Error| {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_shared", one_line(&format!("{error:#}")))
    };
    let stored = change.end(&host.config.home, Some(name)).await.map_err(unavailable)?;
    stored.iter().for_each(|line| tracing::info!("{line}"));
    Ok(())
}

/// Loads what has changed, so that the next turn has it. A file is read once it has rested for a moment, like any other that
/// is put into the directory.
async fn refresh(host: &Arc<Host>) {
    let end = Instant::now() + REFRESH_TIMEOUT;
    while !host.refresh().await && Instant::now() < end {
        tokio::time::sleep(REFRESH_PAUSE).await;
    }
}

fn installed<'a>(plugins: &'a PluginSet, name: &str) -> Option<&'a Arc<Plugin>> {
    plugins.iter().find(|plugin| plugin.name == name && plugin.source == Source::User)
}

fn find<'a>(plugins: &'a PluginSet, name: &str) -> Result<&'a Arc<Plugin>, ApiError> {
    plugins.iter().find(|plugin| plugin.name == name).ok_or_else(|| {
        let hint = suggest::hint(name, plugins.iter().map(|plugin| plugin.name.as_str()));
        ApiError::not_found(format!("no plugin `{}` is loaded{hint}", one_line(name)))
    })
}

/// The component, the name or a grant is not acceptable.
fn invalid(error: anyhow::Error) -> ApiError {
    ApiError::bad_request(one_line(&format!("{error:#}")))
}
