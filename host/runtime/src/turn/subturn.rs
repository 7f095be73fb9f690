//! A turn inside a turn: the same plugins, a prompt of its own, and no more than its parent may.

use super::data::Turn;
use super::denial::DenialReason;
use super::lifetime::MAX_NESTED;
use super::options::{Cancel, Identity, TurnOptions};
use super::pipeline::run_model;
use super::spans;
use crate::error::Failure;
use crate::plugin::model_name;
use bub_config::Commands;
use bub_tape::{Tape, tape_name};
use bub_types::{EPHEMERAL_PREFIX, Envelope, Error, ErrorKind, MessageKind, Prompt, is_ephemeral};
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::Span;

/// The session that is the parent's own.
const INHERIT: &str = "inherit";

/// A new session that is not kept.
const TEMPORARY: &str = "temp";

/// The tool that begins such a turn. One of them has it only where it is named.
const TOOL: &str = "subagent";

/// The task of a turn inside a turn.
pub struct Inner {
    /// The prompt for the model.
    pub prompt: Prompt,
    /// None: one that is not kept; `inherit`: the parent's; else that session's own tape.
    pub session: Option<String>,
    /// The model; none: the parent's.
    pub model: Option<String>,
    /// None: all of the parent's.
    pub tools: Option<Vec<String>>,
    /// The skills; none: all of the parent's.
    pub skills: Option<Vec<String>>,
}

impl Turn {
    /// Runs a turn inside this one and returns its answer. Its principal, deadline and end are the parent's, and
    /// what taints one of the two taints the other. It is cancelled, too, once the call that waits for it is `abandoned`;
    /// what it wrote is on its tape when `token` is dropped.
    #[tracing::instrument(target = "otel", name = "subturn", skip_all, fields(session, principal, fuel, outcome,
        error.type, otel.status))]
    pub async fn run_inner(
        self: &Arc<Self>,
        inner: Inner,
        abandoned: Cancel,
        token: TaskTrackerToken,
    ) -> Result<String, Failure> {
        if self.nesting() >= MAX_NESTED {
            let message = format!("turns inside turns may go {MAX_NESTED} deep, no deeper");
            self.denied_call(DenialReason::Limit, "", TOOL, &Error::denied(&*message));
            return Err(refused(ErrorKind::Denied, message));
        }
        let options = self.options.for_inner().with_identity(Some(self.identity())).with_abandoned(abandoned);
        let begin = async {
            // The semaphore is never closed, so there is a place in the end.
            let place = self.inner.acquire().await;
            Ok::<_, Failure>((place, Arc::new(self.begin_inner(&inner, options.clone()).await?)))
        };
        let (_place, turn) = tokio::select! {
            biased;
            () = options.cancelled() => return Err(Failure::Cancelled),
            begun = begin => begun?,
        };
        if bub_telemetry::is_on() {
            Span::current().record("session", &turn.session_id);
        }
        let outcome = turn.work(&inner.prompt).await;
        if turn.is_tape(&self.tape) {
            self.is_shared.store(true, Ordering::Relaxed);
        }
        let settled = turn.finalize(outcome.as_ref().err()).await;
        self.fuel.fetch_add(turn.fuel(), Ordering::Relaxed);
        self.share_taint_of(&turn);
        if turn.changes.load(Ordering::Relaxed) > 0 {
            self.changed();
        }
        drop(token);
        turn.discard().await;
        spans::ended(&turn, outcome.is_err());
        let output = outcome.inspect_err(spans::failed)?;
        settled?;
        Ok(output)
    }

    async fn work(self: &Arc<Self>, prompt: &Prompt) -> Result<String, Failure> {
        self.record_prompt(prompt).await?;
        self.or_cancelled(run_model(self, prompt)).await
    }

    async fn begin_inner(self: &Arc<Self>, inner: &Inner, options: TurnOptions) -> Result<Self, Failure> {
        let (session_id, tape) = self.inner_tape(inner.session.as_deref()).await?;
        let message = Envelope {
            session_id: Some(session_id.clone()),
            kind: MessageKind::Normal,
            content: inner.prompt.text(),
            passages: Vec::new(),
            media: Vec::new(),
            ..Envelope::clone(&self.message)
        };
        let mut turn = Self::with_tape(&self.scope, tape, session_id.clone(), message, options).await?;
        turn.deadline = self.deadline;
        turn.shared = self.shared.clone();
        turn.is_preview = self.is_preview;
        turn.flows = self.flows.clone();
        turn.caller = self.caller.clone();
        turn.allowed_tools = self.inner_tools(inner.tools.as_deref())?;
        turn.parent = Some(Arc::clone(self));
        let mut state = Arc::unwrap_or_clone(self.state());
        state.insert("session_id".to_owned(), session_id.into());
        if let Some(model) = &inner.model {
            state.insert("model".to_owned(), model.as_str().into());
        }
        if let Some(skills) = &inner.skills {
            let mut skills = skills.clone();
            skills.sort();
            state.insert("allowed_skills".to_owned(), skills.into());
        }
        if let Some(tools) = &turn.allowed_tools {
            state.insert("allowed_tools".to_owned(), tools.iter().map(String::as_str).collect::<Vec<_>>().into());
        }
        turn.replace_state(Arc::new(state));
        turn.share_taint_of(self);
        Ok(turn)
    }

    /// The session that a turn inside this one is to be in, unless that is its own: one that is not kept, or one that is in
    /// the hands of this turn already.
    pub fn foreign_session<'a>(&self, session: Option<&'a str>) -> Option<&'a str> {
        let session = session.filter(|session| !matches!(*session, "" | TEMPORARY | INHERIT))?;
        let is_own = self.session_id == session || self.ancestors().any(|turn| turn.session_id == session);
        (!is_own).then_some(session)
    }

    /// The identity of this turn, which turns inside of it share.
    fn identity(&self) -> Identity {
        Identity {
            principal: self.principal,
            commands: Commands::None,
            session_prefix: self.session_prefix(),
            taint: None,
        }
    }

    /// The session of a turn inside this one, and its fork of that session's tape.
    async fn inner_tape(&self, session: Option<&str>) -> Result<(String, Tape), Failure> {
        let scope = &self.scope;
        match session {
            None | Some(TEMPORARY) => {
                let chance = RandomState::new().build_hasher().finish();
                let session_id = format!("{EPHEMERAL_PREFIX}{:08x}", chance as u32);
                let tape = scope.host.tapes_of(scope).open(&tape_name(&self.workspace, &session_id))?.fork();
                Ok((session_id, tape))
            }
            Some(INHERIT) => Ok((self.session_id.clone(), self.tape().await?.fork())),
            // A session whose turn runs already is waiting for this one: its own tape would never be free.
            Some(session) if self.ancestors().any(|turn| turn.session_id == session) || self.session_id == session => {
                Ok((session.to_owned(), self.tape().await?.fork()))
            }
            Some("") => Err(refused(ErrorKind::InvalidInput, "the session of a turn inside a turn needs a name")),
            Some(session) if is_ephemeral(session) => Err(refused(
                ErrorKind::InvalidInput,
                format!(
                    "a session's name does not begin with `{EPHEMERAL_PREFIX}`; `{TEMPORARY}` is a session that is not kept"
                ),
            )),
            Some(session) => {
                let name = tape_name(&self.workspace, session);
                Ok((session.to_owned(), super::begin::open(scope, &name, session).await?))
            }
        }
    }

    /// The tools of a turn inside this one: those that are named, as far as this one has them.
    fn inner_tools(&self, named: Option<&[String]>) -> Result<Option<BTreeSet<String>>, Failure> {
        let all = self.scope.plugins.iter().flat_map(|plugin| &plugin.tools).filter(|tool| self.has_tool(&tool.name));
        let all: BTreeSet<String> = all.map(|tool| tool.name.clone()).collect();
        // Without a word nothing but the means to begin further ones is taken away.
        let Some(named) = named.filter(|named| !named.is_empty()) else {
            return Ok(Some(all.into_iter().filter(|name| name != TOOL).collect()));
        };
        let mut tools = BTreeSet::new();
        for name in named {
            let written = model_name(name);
            match all.iter().find(|tool| model_name(tool) == written) {
                Some(tool) => tools.insert(tool.clone()),
                None => {
                    return Err(refused(
                        ErrorKind::InvalidInput,
                        format!("there is no tool `{name}` for a turn inside this one"),
                    ));
                }
            };
        }
        Ok(Some(tools))
    }

    /// The turn that all this happens in: itself, when it is inside of none.
    pub fn outermost(&self) -> &Self {
        self.ancestors().last().map_or(self, |turn| turn)
    }

    /// How many turns it is inside of.
    pub fn nesting(&self) -> usize {
        self.ancestors().count()
    }

    /// The session that the turn's costs are counted for: its own, or, where that is not kept, that of the closest turn
    /// around it whose session is.
    pub fn billed_session(&self) -> &str {
        let around = self.ancestors().map(|turn| turn.session_id.as_str());
        let kept = std::iter::once(self.session_id.as_str()).chain(around).find(|id| !is_ephemeral(id));
        kept.unwrap_or(&self.session_id)
    }

    /// The turns that this one is inside of, the closest first.
    pub(super) fn ancestors(&self) -> impl Iterator<Item = &Arc<Self>> {
        std::iter::successors(self.parent.as_ref(), |turn| turn.parent.as_ref())
    }
}

fn refused(kind: ErrorKind, message: impl Into<String>) -> Failure {
    Failure::Refused(Error::new(kind, message))
}
