//! Requests of the protocol.

use super::MAX_CALLS;
use super::carried::CarriedTaint;
use super::connection::{Caller, Connection};
use super::run::{Asked, run};
use super::{resources, tools};
use bub_runtime::host::newest_sessions;
use bub_runtime::imports::toolbox::DirectCall;
use bub_runtime::turn::session_taint;
use bub_types::text::escaped;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, ErrorCode,
    Implementation, JsonObject, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The oldest version of the protocol that is spoken.
const OLDEST: ProtocolVersion = ProtocolVersion::V_2025_06_18;

/// Requests that look through tapes at once. Further ones wait.
const MAX_SCANS: usize = 4;

/// What clients show their models about the server.
const INSTRUCTIONS: &str = "The tools of a bub-wasm home, each within the grants and the policy of its owner; `run_turn` \
    runs a whole turn of its agent. Resources are the tapes of its sessions, as lines of JSON.";

/// Methods whose requests end up unrecognized only if their parameters do not fit.
const METHODS: [&str; 6] =
    ["tools/call", "tools/list", "resources/read", "resources/list", "resources/templates/list", "initialize"];

/// The MCP server. Clones share their bounds.
pub struct McpServer<C>(Arc<Shared<C>>);

struct Shared<C> {
    connection: C,
    carried: CarriedTaint,
    places: Semaphore,
    scans: Semaphore,
}

impl<C> Clone for McpServer<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: Connection> McpServer<C> {
    /// A server for the clients of that connection.
    pub fn new(connection: C) -> Self {
        let (carried, places) = (CarriedTaint::default(), Semaphore::new(MAX_CALLS));
        Self(Arc::new(Shared { connection, carried, places, scans: Semaphore::new(MAX_SCANS) }))
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<C::Caller, ErrorData> {
        self.0.connection.caller(&context.extensions)
    }

    fn place(&self) -> Result<SemaphorePermit<'_>, ErrorData> {
        self.0.places.try_acquire().map_err(|_| {
            ErrorData::internal_error(format!("{MAX_CALLS} calls run already; try again when one has ended"), None)
        })
    }

    /// Runs a tool of a plugin.
    async fn call(
        &self,
        caller: &C::Caller,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        tools::check_name(&caller.host(), &request.name)?;
        let arguments = Value::Object(request.arguments.unwrap_or_default()).to_string();
        let call = DirectCall::new(request.name.into_owned(), arguments);
        let session = caller.session().to_owned();
        let taint = self.0.carried.get(&session);
        let asked = Asked { session, taint, content: String::new(), call: Some(Arc::clone(&call)) };
        let outcome = run(caller, context, asked).await?;
        Ok(match call.outcome() {
            Some(outcome) => tools::result(outcome),
            None => tools::failed(&outcome.error.map_or_else(|| "the turn ended".to_owned(), |error| error.message)),
        })
    }

    /// Runs a whole turn.
    async fn run_turn(
        &self,
        caller: &C::Caller,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let (content, named) = match turn_arguments(arguments) {
            Ok(arguments) => arguments,
            Err(reason) => return Ok(tools::failed(&reason)),
        };
        let own = caller.session().to_owned();
        let host = caller.host();
        let session = named.unwrap_or_else(|| own.clone());
        if session != own {
            caller.check_session(&session)?;
        }
        let mut taint = self.0.carried.get(&own);
        if taint.is_none() && session != own {
            taint = session_taint(&host, &own).await.map_err(storage)?;
        }
        let asked = Asked { session: session.clone(), taint, content, call: None };
        let outcome = run(caller, context, asked).await?;
        // The client has the answer now, and may bring its text into a call.
        if session != own
            && let Some(why) = session_taint(&host, &session).await.map_err(storage)?
        {
            self.0.carried.set(&own, why);
        }
        Ok(match outcome.error {
            Some(error) => tools::failed(&error.message),
            None => tools::result(&Ok(Value::from(outcome.text).to_string())),
        })
    }
}

impl<C: Connection> ServerHandler for McpServer<C> {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("bub-wasm", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let known = ProtocolVersion::KNOWN_VERSIONS;
        Cow::Owned(known.iter().filter(|version| version.as_str() >= OLDEST.as_str()).cloned().collect())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        check_cursor(request.as_ref())?;
        let caller = self.caller(&context)?;
        // A token that only reads has none.
        let listed = caller.check_calls().map(|()| tools::list(&caller.host())).unwrap_or_default();
        let mut result = ListToolsResult::with_all_items(listed);
        if has_caches(&context) {
            (result.ttl_ms, result.cache_scope) = (Some(0), Some(CacheScope::Private));
        }
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context)?;
        caller.check_calls()?;
        let _place = self.place()?;
        let result = match &*request.name {
            tools::RUN_TURN => self.run_turn(&caller, request.arguments.unwrap_or_default(), &context).await?,
            _ => self.call(&caller, request, &context).await?,
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        check_cursor(request.as_ref())?;
        let caller = self.caller(&context)?;
        caller.check_reads()?;
        // The semaphore is never closed.
        let _place = self.0.scans.acquire().await;
        let host = caller.host();
        let listed = newest_sessions(&host, Some(&host.workspace), caller.session_prefix()).await;
        let sessions = listed.map_err(storage)?;
        let mut result = ListResourcesResult::with_all_items(sessions.iter().map(resources::of_session).collect());
        if has_caches(&context) {
            (result.ttl_ms, result.cache_scope) = (Some(0), Some(CacheScope::Private));
        }
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        check_cursor(request.as_ref())?;
        Ok(ListResourceTemplatesResult::with_all_items(vec![resources::template()]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = self.caller(&context)?;
        caller.check_reads()?;
        let wanted = resources::Wanted::parse(&request.uri)?;
        caller.check_session(&wanted.session)?;
        let _place = self.0.scans.acquire().await;
        let result = resources::read(&caller.host(), &request.uri, &wanted).await?;
        Ok(match has_caches(&context) {
            true => result.with_ttl_ms(0).with_cache_scope(CacheScope::Private).into(),
            false => result.into(),
        })
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let shown = escaped(&request.method, 64);
        Err(match METHODS.contains(&request.method.as_str()) {
            true => ErrorData::invalid_params(format!("the parameters of `{shown}` do not fit"), None),
            false => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{shown}`"), None),
        })
    }
}

/// Whether the client's revision knows hints for caches: without a hint, it would keep what it got for everyone.
fn has_caches(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

/// Every list has one page.
fn check_cursor(request: Option<&PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor.as_ref()) {
        Some(_) => Err(ErrorData::invalid_params("this list has one page: leave `cursor` out", None)),
        None => Ok(()),
    }
}

/// The message and the session of `run_turn`.
fn turn_arguments(mut arguments: JsonObject) -> Result<(String, Option<String>), String> {
    let mut text = |key: &str| match arguments.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("the argument `{key}` of `run_turn` is a text")),
    };
    let (message, session) = (text("message")?, text("session")?);
    if let Some(key) = arguments.keys().next() {
        return Err(format!("`run_turn` takes `message` and `session`, and no `{}`", escaped(key, 64)));
    }
    let message = message.filter(|message| !message.trim().is_empty());
    Ok((message.ok_or("`run_turn` needs the argument `message`")?, session))
}

pub(crate) fn storage(error: bub_tape::Error) -> ErrorData {
    let error = bub_types::Error::from(error);
    ErrorData::internal_error(error.message, None)
}
