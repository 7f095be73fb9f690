//! `bub:context/recall`: what is known beyond the window and is about a question.
//!
//! The host decides what a principal is told: the owner of all sessions of the workspace, as far as the token reaches, a peer of the
//! turn's own and of the workspace's memory, an anonymous sender of the turn's own. Text that was written in a tainted turn is told
//! where it adds nothing to what taints this turn already, and marked; all other is left out.

mod embedding;

use crate::guest::State;
use crate::guest::bindings::recall::{Answer, Hit, Host, Options, Source};
use crate::guest::view::View;
use crate::turn::Turn;
use bub_permissions::Grant;
use bub_recall::{QueryVector, RecallHit, RecallQuery, Source as PassageSource, Workspace};
use bub_tape::{Tapes, workspace_tape_name};
use bub_types::{Error, ErrorKind, Principal};
use embedding::Embedder;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use wasmtime::Result;
use wasmtime::component::Resource;

/// Hits of one answer.
const MAX_HITS: usize = 64;

/// How long a search may take.
const MAX_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the index is brought up to date behind an answer.
const BEHIND: Duration = Duration::from_secs(30);

/// Characters of a question that are looked at.
const QUESTION: usize = 2_000;

impl Host for State {
    async fn search(
        &mut self,
        view: Resource<View>,
        question: String,
        options: Options,
    ) -> Result<std::result::Result<Answer, Error>> {
        if let Err(refusal) = self.granted(&Grant::RECALL) {
            return Ok(Err(refusal));
        }
        self.has_read = true;
        let turn = self.table.get(&view)?.turn().clone();
        let plugin = self.plugin.name.clone();
        let question: String = question.chars().take(QUESTION).collect();
        Ok(search(&turn, &plugin, question, options).await)
    }
}

async fn search(
    turn: &Arc<Turn>,
    plugin: &str,
    question: String,
    options: Options,
) -> std::result::Result<Answer, Error> {
    let timeout = Duration::from_millis(options.timeout_ms.into()).min(MAX_TIMEOUT);
    let end = Instant::now() + timeout;
    // The index is searched in the second half of the time, whatever the first brought: a model that never answers
    // leaves enough of it.
    let enough = end - timeout / 2;
    let host = turn.scope.host.clone();
    let (recall, path) = (host.recall.clone(), turn.workspace.clone());
    let opened = tokio::task::spawn_blocking(move || recall.workspace(&path)).await;
    let workspace = opened.map_err(|error| error.to_string()).flatten().map_err(broken)?;
    let tapes = host.tapes_of(&turn.scope);
    let embedder = Embedder::for_turn(turn, plugin).await;

    let mut missed = Vec::new();
    let (current, caught_up) = oneshot::channel();
    let (seen, embedded) = oneshot::channel();
    let waiting = (current, seen);
    host.post_turn_tasks.spawn(catch_up(turn.clone(), workspace.clone(), tapes.clone(), embedder.clone(), waiting));
    let caught_up = timeout_at(enough, caught_up);
    let embedded = timeout_at(enough, embedded);
    let meaning = timeout_at(enough, meaning(&workspace, embedder.as_ref(), &question));
    let (caught_up, meaning, _) = tokio::join!(caught_up, meaning, embedded);
    match caught_up {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(why))) => missed.push(format!("what was said last is not looked through: {why}")),
        Ok(Err(_)) => missed.push("what was said last is not looked through".to_owned()),
        Err(_) => missed.push("not all was looked through in time; the index grows behind the turn".to_owned()),
    }
    let meaning = match (meaning, &embedder) {
        (Ok(meaning), _) => meaning,
        (Err(_), Some(embedder)) => Err(embedder.was_late(&workspace).await),
        (Err(_), None) => Ok(None),
    };
    let meaning = meaning.unwrap_or_else(|why| {
        missed.push(why);
        None
    });
    let wanted = wanted(turn, question, &options);
    let found = match timeout_at(end, workspace.search(&wanted, meaning)).await {
        Ok(Ok(found)) => found,
        Ok(Err(why)) => {
            host.recall.discard(&workspace, &why);
            return Err(broken(why));
        }
        Err(_) => return Err(Error::new(ErrorKind::Temporary, "what is known could not be looked through in time")),
    };
    let phase = match turn.tape().await?.last_anchor(None, None).await? {
        Some(anchor) => anchor.id,
        None => 0,
    };
    let found = found.into_iter().filter(|hit| may_be_told(turn, hit, phase)).collect();
    let limit = (options.limit as usize).min(MAX_HITS);
    let standing = timeout_at(end.max(Instant::now() + timeout / 5), workspace.verify(&tapes, found, limit)).await;
    let hits = standing.unwrap_or_default().into_iter().map(|found| hit(turn, found)).collect();
    Ok(Answer { hits, missed })
}

/// Forgotten texts leave the index at once. Messages since the last update of the index are not in it yet, and are
/// not taken in.
pub(super) async fn forget(turn: &Turn, texts: Vec<String>) {
    let (recall, path) = (turn.scope.host.recall.clone(), turn.workspace.clone());
    let opened = tokio::task::spawn_blocking(move || recall.existing(&path)).await;
    let Some(workspace) = opened.unwrap_or_default() else { return };
    for text in texts {
        if let Err(why) = workspace.forget(text).await {
            turn.scope.host.recall.discard(&workspace, &why);
            return;
        }
    }
}

fn broken(why: String) -> Error {
    Error::new(ErrorKind::Temporary, format!("the index of the workspace cannot be used: {why}"))
}

/// Brings the index up to date, and lets the model look at what is new. The first of `waiting` is told when words can be
/// looked for, the second when the model has looked at the newest texts.
async fn catch_up(
    turn: Arc<Turn>,
    workspace: Arc<Workspace>,
    tapes: Tapes,
    embedder: Option<Arc<Embedder>>,
    (current, seen): (oneshot::Sender<std::result::Result<(), String>>, oneshot::Sender<()>),
) {
    let shared = workspace_tape_name(&turn.workspace);
    let work = async {
        let caught_up = workspace.catch_up(&tapes, turn.tape_name(), &shared).await;
        let is_current = caught_up.is_ok();
        let _ = current.send(caught_up);
        if let Some(embedder) = embedder.filter(|_| is_current && !workspace.embedding_is_paused()) {
            embedder.look_at_new(&workspace, 1).await;
            let _ = seen.send(());
            if !workspace.embedding_is_paused() {
                embedder.look_at_new(&workspace, usize::MAX).await;
            }
        }
    };
    // The next question continues the remaining work.
    let _ = tokio::time::timeout(BEHIND, work).await;
}

/// The vector that the model makes of the question; none without a model.
async fn meaning(
    workspace: &Workspace,
    embedder: Option<&Arc<Embedder>>,
    question: &str,
) -> std::result::Result<Option<QueryVector>, String> {
    match embedder {
        Some(embedder) if !workspace.embedding_is_paused() => embedder.question(workspace, question).await.map(Some),
        Some(_) => Err("the embedding model has failed a moment ago; words alone were compared".to_owned()),
        None => Ok(None),
    }
}

fn wanted(turn: &Turn, question: String, options: &Options) -> RecallQuery {
    let shared = matches!(turn.principal(), Principal::Owner | Principal::Peer);
    RecallQuery {
        question,
        sources: options.sources.iter().map(|source| passage_source(*source)).collect(),
        own: turn.tape_name().to_owned(),
        shared: shared.then(|| workspace_tape_name(&turn.workspace)),
        all: sees_all(turn),
        window: options.window_start.unwrap_or(u64::MAX),
        sent: options.sent.clone(),
        min_score: options.min_score,
    }
}

/// Whether the caller of the turn may see the workspace's other sessions.
fn sees_all(turn: &Turn) -> bool {
    turn.principal() == Principal::Owner && turn.session_prefix().is_empty()
}

/// Whether the hit taints the turn by nothing that does not taint it already.
fn may_be_told(turn: &Turn, hit: &RecallHit, phase: u64) -> bool {
    let is_own = hit.tape == turn.tape_name();
    // Peers see the shared memory; only the owner sees the history on the workspace's tape.
    if !sees_all(turn) && hit.source == PassageSource::History && !is_own {
        return false;
    }
    let is_of_phase = is_own && hit.entry >= phase;
    hit.taint.iter().all(|source| turn.is_tainted_by(source, is_of_phase))
}

fn hit(turn: &Turn, found: RecallHit) -> Hit {
    let own = (found.tape == turn.tape_name()).then_some(found.entry);
    let source = match found.source {
        PassageSource::Memory => Source::Memory,
        PassageSource::Note => Source::Note,
        PassageSource::History => Source::History,
    };
    let tainted = found.taint.iter().any(|source| !turn.has_trusted(source));
    Hit { text: found.text, score: found.score, source, date: found.date, entry: own, tainted }
}

fn passage_source(source: Source) -> PassageSource {
    match source {
        Source::Memory => PassageSource::Memory,
        Source::Note => PassageSource::Note,
        Source::History => PassageSource::History,
    }
}
