//! Requests of the protocol.

use super::client::Client;
use super::message::{internal, invalid_params, invalid_request, no_method, not_found, read, storage};
use super::session::{RunningPrompt, Session};
use super::updates::chunk;
use super::workspaces::{Workspace, Workspaces, folder_of};
use super::{MAX_SESSIONS, commands, history, modes, prompt, turn};
use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, CloseSessionRequest, CloseSessionResponse, Error, Implementation, InitializeRequest,
    InitializeResponse, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, LoadSessionResponse,
    McpCapabilities, McpServer, NewSessionRequest, NewSessionResponse, PromptCapabilities, PromptRequest,
    PromptResponse, RequestId, ResumeSessionRequest, ResumeSessionResponse, SessionCapabilities,
    SessionCloseCapabilities, SessionInfo, SessionInfoUpdate, SessionListCapabilities, SessionResumeCapabilities,
    SessionUpdate, SetSessionModeRequest, SetSessionModeResponse,
};
use bub_runtime::approval_board::random_name;
use bub_runtime::host::{ListedSession, newest_sessions};
use bub_types::check_session_id;
use bub_types::text::{clipped, escaped, one_line};
use parking_lot::Mutex as Locked;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the id of a new session begins with; a random part follows.
const SESSION: &str = "acp:";

/// Characters of a session's title.
const MAX_TITLE: usize = 80;

/// The agent of one editor.
pub(crate) struct Agent {
    client: Client,
    workspaces: Workspaces,
    sessions: Locked<HashMap<String, Arc<Session>>>,
    is_initialized: AtomicBool,
}

/// A request that is being answered.
pub(crate) struct Work {
    id: RequestId,
    method: String,
    params: Value,
    /// Where it is a prompt of a session that is open.
    prompt: Option<(Arc<Session>, RunningPrompt)>,
}

impl Agent {
    pub(crate) fn new(client: Client, workspaces: Workspaces) -> Arc<Self> {
        Arc::new(Self { client, workspaces, sessions: Locked::default(), is_initialized: AtomicBool::new(false) })
    }

    /// An open session.
    pub(crate) fn session(&self, id: &str) -> Result<Arc<Session>, Error> {
        let found = self.sessions.lock().get(id).cloned();
        let shown = || escaped(id, 100);
        found.ok_or_else(|| not_found(format!("no session `{}` is open: begin or load it first", shown())))
    }

    pub(crate) fn cancel_all(&self) {
        self.sessions.lock().values().for_each(|session| session.cancel());
    }

    pub(crate) fn cancel_prompt(&self, id: &RequestId) {
        self.sessions.lock().values().for_each(|session| session.cancel_prompt(id));
    }

    pub(crate) async fn close(&self) {
        self.workspaces.close().await;
    }

    /// The answer to a request that waits for nothing.
    pub(crate) fn answer_at_once(&self, method: &str, params: &Value) -> Option<Result<Value, Error>> {
        match method {
            "initialize" => Some(self.initialize(params.clone()).and_then(value)),
            _ if !self.is_initialized.load(Ordering::Relaxed) => {
                Some(Err(invalid_request("the first request of a connection is `initialize`")))
            }
            "session/set_mode" => Some(self.set_mode(params.clone()).and_then(value)),
            "authenticate" => Some(Err(invalid_params("there is no authentication: begin a session"))),
            _ => None,
        }
    }

    /// A request that `answer` is to answer.
    pub(crate) fn begin(&self, id: RequestId, method: String, params: Value) -> Work {
        let session = params.get("sessionId").and_then(Value::as_str).filter(|_| method == "session/prompt");
        let session = session.and_then(|session| self.session(session).ok());
        let prompt = session.map(|session| {
            let running = session.begin(id.clone());
            (session, running)
        });
        Work { id, method, params, prompt }
    }

    /// Answers a request, and sends what belongs behind the answer.
    pub(crate) async fn answer(&self, work: Work) {
        let Work { id, method, params, prompt } = work;
        let mut opened = None;
        let outcome = match method.as_str() {
            "session/new" => self.new_session(params, &mut opened).await.and_then(value),
            "session/load" => self.load(params, &mut opened).await.and_then(value),
            "session/resume" => self.resume(params, &mut opened).await.and_then(value),
            "session/list" => self.list(params).await.and_then(value),
            "session/close" => self.close_session(params).await.and_then(value),
            "session/prompt" => self.prompt(params, prompt).await.and_then(value),
            _ => Err(no_method(&method)),
        };
        self.client.respond(id, outcome).await;
        if let Some(session) = opened {
            self.client.update(&session.id, commands::update(&session.workspace.host())).await;
            for note in &session.workspace.notes {
                self.client.update(&session.id, chunk(false, &format!("_{note}_\n\n"))).await;
            }
        }
    }

    fn initialize(&self, params: Value) -> Result<InitializeResponse, Error> {
        let request: InitializeRequest = read("initialize", params)?;
        tracing::debug!("the editor speaks version {} of the protocol", request.protocol_version);
        self.is_initialized.store(true, Ordering::Relaxed);
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).audio(true).embedded_context(true))
            .mcp_capabilities(McpCapabilities::new().http(true))
            .session_capabilities(sessions);
        let info = Implementation::new("bub-wasm", env!("CARGO_PKG_VERSION")).title("bub-wasm");
        // The one version that is spoken, whichever the editor asks for.
        Ok(InitializeResponse::new(ProtocolVersion::V1).agent_capabilities(capabilities).agent_info(info))
    }

    fn set_mode(&self, params: Value) -> Result<SetSessionModeResponse, Error> {
        let request: SetSessionModeRequest = read("session/set_mode", params)?;
        match self.session(&request.session_id.0)?.set_mode(&request.mode_id.0) {
            true => Ok(SetSessionModeResponse::new()),
            false => {
                let known: Vec<&str> = modes::ids().collect();
                let shown = escaped(&request.mode_id.0, 64);
                Err(invalid_params(format!("there is no mode `{shown}`; the modes are `{}`", known.join("`, `"))))
            }
        }
    }

    async fn new_session(&self, params: Value, opened: &mut Option<Arc<Session>>) -> Result<NewSessionResponse, Error> {
        let request: NewSessionRequest = read("session/new", params)?;
        check_extras(&request.additional_directories, request.system_prompt.is_some())?;
        let name = random_name().map_err(|error| internal(error.to_string()))?;
        let workspace = self.workspaces.open(&request.cwd, &request.mcp_servers).await?;
        let session = self.keep(format!("{SESSION}{}", &name[..12]), workspace, false)?;
        *opened = Some(Arc::clone(&session));
        Ok(NewSessionResponse::new(session.id.clone()).modes(session.modes()))
    }

    async fn load(&self, params: Value, opened: &mut Option<Arc<Session>>) -> Result<LoadSessionResponse, Error> {
        let request: LoadSessionRequest = read("session/load", params)?;
        check_extras(&request.additional_directories, request.system_prompt.is_some())?;
        let (session, tape) = self.open(&request.session_id.0, &request.cwd, &request.mcp_servers).await?;
        history::replay(&self.client, &session, &session.workspace.host(), &tape).await?;
        *opened = Some(Arc::clone(&session));
        Ok(LoadSessionResponse::new().modes(session.modes()))
    }

    async fn resume(&self, params: Value, opened: &mut Option<Arc<Session>>) -> Result<ResumeSessionResponse, Error> {
        let request: ResumeSessionRequest = read("session/resume", params)?;
        check_extras(&request.additional_directories, request.system_prompt.is_some())?;
        let (session, _) = self.open(&request.session_id.0, &request.cwd, &request.mcp_servers).await?;
        *opened = Some(Arc::clone(&session));
        Ok(ResumeSessionResponse::new().modes(session.modes()))
    }

    /// Opens a session that has a tape.
    async fn open(&self, id: &str, cwd: &Path, servers: &[McpServer]) -> Result<(Arc<Session>, bub_tape::Tape), Error> {
        check_session_id(id).map_err(invalid_params)?;
        let workspace = self.workspaces.open(cwd, servers).await?;
        let tape = history::tape(&workspace.host(), id).await?;
        let Some(tape) = tape else {
            let (id, folder) = (escaped(id, 100), escaped(&workspace.folder().to_string_lossy(), 200));
            return Err(not_found(format!("there is no session `{id}` in `{folder}`")));
        };
        Ok((self.keep(id.to_owned(), workspace, true)?, tape))
    }

    /// Keeps a session open. One that is open already keeps its mode.
    fn keep(&self, id: String, workspace: Arc<Workspace>, has_title: bool) -> Result<Arc<Session>, Error> {
        let mut sessions = self.sessions.lock();
        if let Some(before) = sessions.get(&id) {
            if Arc::ptr_eq(&before.workspace, &workspace) {
                return Ok(Arc::clone(before));
            }
            if before.workspace.folder() != workspace.folder() || before.is_busy() {
                let id = escaped(&id, 100);
                return Err(invalid_params(format!(
                    "the session `{id}` is open for another workspace: close it first"
                )));
            }
        } else if sessions.len() >= MAX_SESSIONS {
            return Err(internal(format!("{MAX_SESSIONS} sessions are open already: close one first")));
        }
        let session = Session::new(id.clone(), workspace, has_title);
        sessions.insert(id, Arc::clone(&session));
        Ok(session)
    }

    async fn close_session(&self, params: Value) -> Result<CloseSessionResponse, Error> {
        let request: CloseSessionRequest = read("session/close", params)?;
        let session = self.session(&request.session_id.0)?;
        session.cancel();
        // Its prompts save their state.
        let _idle = session.queue.lock().await;
        let is_used = {
            let mut sessions = self.sessions.lock();
            sessions.remove(&session.id);
            sessions.values().any(|other| Arc::ptr_eq(&other.workspace, &session.workspace))
        };
        if !is_used {
            self.workspaces.release(&session.workspace).await;
        }
        Ok(CloseSessionResponse::new())
    }

    async fn list(&self, params: Value) -> Result<ListSessionsResponse, Error> {
        let request: ListSessionsRequest = read("session/list", params)?;
        if request.cursor.is_some() {
            return Err(invalid_params("this list has one page: leave `cursor` out"));
        }
        let folder = request.cwd.as_deref().map(folder_of).transpose()?;
        let host = self.workspaces.any().await?;
        let listed = newest_sessions(&host, folder.as_deref(), "").await.map_err(storage)?;
        let info = |listed: ListedSession| {
            let about = listed.about;
            let of = about.mark.as_ref().map(|mark| PathBuf::from(&mark.workspace)).or_else(|| folder.clone());
            let cwd = of.filter(|cwd| cwd.is_absolute())?;
            check_session_id(&listed.id).ok()?;
            let title = about.name.or(about.first_words).map(|title| clipped(&one_line(&title), MAX_TITLE));
            Some(SessionInfo::new(listed.id, cwd).title(title).updated_at(about.date))
        };
        Ok(ListSessionsResponse::new(listed.into_iter().filter_map(info).collect()))
    }

    async fn prompt(
        &self,
        params: Value,
        prompt: Option<(Arc<Session>, RunningPrompt)>,
    ) -> Result<PromptResponse, Error> {
        let request: PromptRequest = read("session/prompt", params)?;
        let Some((session, running)) = prompt else {
            return Err(self.session(&request.session_id.0).map_or_else(
                |error| error,
                // It was opened after the request had come.
                |session| not_found(format!("no session `{}` was open", escaped(&session.id, 100))),
            ));
        };
        let host = self.workspaces.current(&session.workspace).await;
        let message = prompt::envelope(&host, &session.id, request.prompt)?;
        let title = clipped(&one_line(&message.content), MAX_TITLE);
        let stop_reason = turn::run(&self.client, (&session, &host), running, message).await?;
        if !title.is_empty() && !session.take_title() {
            let update = SessionInfoUpdate::new().title(title);
            self.client.update(&session.id, SessionUpdate::SessionInfoUpdate(update)).await;
        }
        Ok(PromptResponse::new(stop_reason))
    }
}

/// What only a client would send that ignores what the agent said of itself.
fn check_extras(directories: &[PathBuf], has_system_prompt: bool) -> Result<(), Error> {
    if !directories.is_empty() {
        return Err(invalid_params("`additionalDirectories` are not supported: a session works in `cwd` alone"));
    }
    if has_system_prompt {
        return Err(invalid_params(
            "`systemPrompt` is not supported: instructions are in `AGENTS.md` of the workspace",
        ));
    }
    Ok(())
}

fn value(response: impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(response).map_err(|error| internal(error.to_string()))
}
