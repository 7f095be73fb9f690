//! Previews a turn up to its first model call, without side effects.

use super::data::Turn;
use super::options::{Identity, TurnOptions};
use super::pipeline::build_prompt;
use super::scope::CallScope;
use super::selection_report::SelectionReport;
use crate::channel::{kind_of, message};
use crate::error::Failure;
use crate::guest::view::About;
use crate::hooks;
use crate::host::Host;
use crate::imports::stages::Request;
use crate::imports::tape::attach;
use crate::imports::{chat, stages, trail};
use anyhow::Result;
use bub_blame::{RequestTrail, TrailSink};
use bub_tape::{Fork, MAX_SENT, Store, Tape, workspace_tape_name};
use bub_types::text::one_line;
use bub_types::{EPHEMERAL_PREFIX, Envelope, Error, ModelOptions, Prompt};
use serde_json::json;
use std::borrow::Cow;
use std::sync::Arc;
use tokio::sync::watch;

/// The next turn of a session, as far as the model would see it.
pub struct Preview<'a> {
    /// The tape's store.
    pub store: Arc<dyn Store>,
    /// The tape's name.
    pub tape: &'a str,
    /// The session id that hooks see.
    pub session_id: &'a str,
    /// The prompt of the previewed turn.
    pub prompt: Option<&'a str>,
    /// The plugin that selects, in place of the one in charge.
    pub selector: Option<&'a str>,
    /// The requester of the preview.
    pub requester: Requester<'a>,
}

/// The sender that the turn is previewed for.
pub struct Requester<'a> {
    /// The channel of a session whose id names none.
    pub channel: &'a str,
    /// The sender of the previewed message.
    pub sender: &'a str,
    /// None: the principal is the one that the channel's configuration gives to the sender.
    pub identity: Option<Identity>,
}

impl Requester<'_> {
    /// The owner at the terminal.
    pub fn at_terminal() -> Self {
        Self { channel: "cli", sender: "human", identity: None }
    }
}

impl Preview<'_> {
    /// The chat messages of the first model call. The hooks are asked as in any turn, the model is not, and what is
    /// written goes nowhere. It takes no lease: a turn of the session may run meanwhile.
    ///
    /// # Errors
    ///
    /// The error that a turn would fail with before its first model call.
    pub async fn messages(&self, host: &Arc<Host>) -> Result<Vec<String>> {
        self.inspect(host, async |turn, request| {
            let messages = request.into_messages(turn);
            let filled = turn.scope.media.restore_request(&messages, MAX_SENT, "a request")?;
            Ok(filled.into_iter().map(Cow::into_owned).collect())
        })
        .await
    }

    /// Calls `inspect` with the turn and its first request.
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn inspect<T>(
        &self,
        host: &Arc<Host>,
        inspect: impl AsyncFnOnce(&Arc<Turn>, Request) -> Result<T>,
    ) -> Result<T> {
        let (_open, turn) = self.begin(host, None).await?;
        self.inspected(&turn, inspect).await
    }

    async fn inspected<T>(
        &self,
        turn: &Arc<Turn>,
        inspect: impl AsyncFnOnce(&Arc<Turn>, Request) -> Result<T>,
    ) -> Result<T> {
        let inspected = match self.ask(turn).await {
            Ok(request) => inspect(turn, request).await,
            Err(error) => Err(error),
        };
        turn.discard().await;
        inspected
    }

    /// The data that plugins want kept beside the archive, were the tape emptied now.
    async fn before_reset(&self, host: &Arc<Host>) -> Result<Vec<(String, String)>> {
        let (_open, turn) = self.begin(host, None).await?;
        let kept = hooks::before_reset(&turn, DEPTH, true).await;
        turn.discard().await;
        Ok(kept)
    }

    /// Archives that tape and its sidecars, with what plugins want kept beside the archive. A plugin that fails does not
    /// prevent it. Returns the name of the archive; `None`: the tape was empty.
    ///
    /// Waits for the running turn. Not cancel safe: what plugins want kept may be missing.
    ///
    /// # Errors
    ///
    /// Those of [`Tape::reset`].
    pub async fn archive(&self, host: &Arc<Host>, tape: &Tape) -> bub_tape::Result<Option<String>> {
        let kept = self.before_reset(host).await.unwrap_or_else(|error| {
            tracing::warn!("plugins were not asked what to keep beside the archive: {error:#}");
            Vec::new()
        });
        let archive = tape.reset(true).await?;
        if let Some(archive) = &archive {
            attach(&host.config.tapes_dir(), archive, &kept);
        }
        Ok(archive)
    }

    /// How the first model request is made, with the plugins that can rewrite it. What the agent loop itself would add is
    /// known in a turn alone.
    ///
    /// # Errors
    ///
    /// The same, and those of the plugins that rewrite requests.
    pub async fn trail(&self, host: &Arc<Host>) -> Result<RequestTrail> {
        let inspect = async |turn: &Arc<Turn>, request: Request| {
            let (model, tools) = (request.view.about().model.clone(), request.view.about().tools.clone());
            let context = trail::context(turn, request, None).await?;
            let trail = chat::preview(turn, DEPTH, context, (model, &tools)).await;
            trail.map_err(|error| anyhow::anyhow!("{}", one_line(&error.message)))
        };
        let (_open, turn) = self.begin(host, Some(Arc::new(|_| {}))).await?;
        self.inspected(&turn, inspect).await
    }

    /// What the selector selects for the first model call.
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn selection(&self, host: &Arc<Host>) -> Result<SelectionReport> {
        let mut report = self.inspect(host, SelectionReport::new).await?;
        // One that failed is reported under its own name.
        if let Some(selector) = self.selector {
            selector.clone_into(&mut report.selector);
        }
        Ok(report)
    }

    /// The models that a session of which nothing is kept could ask.
    ///
    /// # Errors
    ///
    /// The tapes cannot be asked.
    pub async fn options(host: &Arc<Host>, requester: Requester<'_>) -> Result<ModelOptions> {
        let store = Arc::clone(host.tapes().store());
        let session_id = &format!("{EPHEMERAL_PREFIX}models");
        let tape = &bub_tape::tape_name(&host.workspace, session_id);
        let preview = Preview { store, tape, session_id, prompt: None, selector: None, requester };
        let (_open, turn) = preview.begin(host, None).await?;
        let options = hooks::model_options(&turn, 0).await;
        turn.discard().await;
        Ok(options)
    }

    async fn begin(&self, host: &Arc<Host>, trails: Option<TrailSink>) -> Result<(watch::Sender<bool>, Arc<Turn>)> {
        // A fork around the turn's own: what plugins write past that one goes nowhere as well.
        let tape = apart_from(Arc::clone(&self.store), self.tape)?.fork();
        let (open, cancel) = watch::channel(false);
        let mut options = TurnOptions::new(cancel).with_identity(self.requester.identity.clone());
        options.trails = trails;
        let mut turn =
            Turn::with_tape(&CallScope::new(host), tape, self.session_id.to_owned(), self.envelope(host), options)
                .await?;
        turn.is_preview = true;
        turn.shared = Some(apart_from(Arc::clone(host.tapes().store()), &workspace_tape_name(&host.workspace))?);
        Ok((open, Arc::new(turn)))
    }

    async fn ask(&self, turn: &Arc<Turn>) -> Result<Request> {
        turn.or_cancelled(hooks::load_state(turn)).await?;
        let mut new = Vec::new();
        let mut prompt = Prompt::Text(String::new());
        if self.prompt.is_some() {
            prompt = turn.or_cancelled(build_prompt(turn)).await?;
            let content = match &prompt {
                Prompt::Text(text) => json!(text),
                Prompt::Parts(parts) => serde_json::from_str(parts)?,
            };
            new.push(json!({ "role": "user", "content": content }).to_string());
        }
        let system = turn.or_cancelled(hooks::system_prompt(turn, DEPTH, &prompt)).await?;
        let session = turn.get("model").and_then(|model| model.as_str().map(str::to_owned));
        let model = session.unwrap_or_else(|| turn.scope.host.config.model.model.clone());
        let tools = stages::offered(turn).collect();
        let about = About { prompt, system, model, new_messages: new, tools };
        let request = async {
            let request = stages::request(turn, DEPTH, about, self.selector).await;
            // An error is one line.
            request.map_err(|error| Failure::Tape(Error { message: one_line(&error.message), ..error }))
        };
        Ok(turn.or_cancelled(request).await?)
    }

    fn envelope(&self, host: &Host) -> Envelope {
        let Requester { channel, sender, identity } = &self.requester;
        let (channel, chat_id) = self.session_id.split_once(':').unwrap_or((channel, "local"));
        let commands = identity.as_ref().map_or_else(|| host.config.commands(channel), |identity| identity.commands);
        let content = self.prompt.unwrap_or_default();
        message(Some(self.session_id.to_owned()), [channel, chat_id, sender], content, kind_of(commands, content))
    }
}

/// A fork of that tape that is never merged.
fn apart_from(store: Arc<dyn Store>, tape: &str) -> bub_tape::Result<Tape> {
    let apart: Arc<dyn Store> = Arc::new(Fork::new(store, tape));
    Tape::open(apart, tape)
}

/// How deep in calls an agent loop's own calls are: they come from inside a hook.
const DEPTH: u32 = 1;
