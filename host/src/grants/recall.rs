//! `bub:context/recall`: what is known beyond the window and is about a question.

use super::view::View;
use crate::plugin::bindings::recall::{Answer, Hit, Host, Options, Source};
use crate::plugin::bindings::{Error, Principal};
use crate::plugin::store::State;
use crate::tape::{self, Entry, Tape, json};
use crate::turn::Turn;
use std::sync::Arc;
use std::time::Duration;
use wasmtime::Result;
use wasmtime::component::Resource;

/// Hits of one answer.
const MAX_HITS: usize = 64;

/// How long a search may take.
const MAX_TIMEOUT: Duration = Duration::from_secs(5);

impl Host for State {
    async fn search(
        &mut self,
        view: Resource<View>,
        question: String,
        options: Options,
    ) -> Result<std::result::Result<Answer, Error>> {
        if let Err(refusal) = self.granted("recall") {
            return Ok(Err(refusal));
        }
        let turn = self.table.get(&view)?.turn().clone();
        let timeout = Duration::from_millis(options.timeout_ms.into()).min(MAX_TIMEOUT);
        let found = tokio::time::timeout(timeout, remembered(&turn, &options)).await;
        let (mut hits, missed) = match found {
            Ok(Ok(lines)) => (nearest(lines, &question), Vec::new()),
            Ok(Err(error)) => return Ok(Err(error.into())),
            Err(_) => (Vec::new(), vec!["looking through the memory timed out".to_owned()]),
        };
        hits.retain(|hit| hit.score >= options.min_score);
        hits.truncate((options.limit as usize).min(MAX_HITS));
        Ok(Ok(Answer { hits, missed }))
    }
}

/// The lines of the memories that the principal of the turn may see, less what the request holds anyway.
async fn remembered(turn: &Arc<Turn>, options: &Options) -> tape::Result<Vec<Hit>> {
    let mut tapes: Vec<Tape> = vec![turn.tape().await?];
    if matches!(turn.principal(), Principal::Owner | Principal::Peer) {
        tapes.push(turn.workspace_tape()?);
    }
    let mut found = Vec::new();
    for tape in tapes {
        for entry in tape.memory().await? {
            let source = match entry.event_name().as_deref() {
                Some("memory.long_term") => Source::Memory,
                Some("memory.daily") => Source::Note,
                _ => continue,
            };
            if options.sources.is_empty() || options.sources.contains(&source) {
                found.extend(lines(&entry, source, &options.sent));
            }
        }
    }
    Ok(found)
}

fn lines(entry: &Entry, source: Source, sent: &[String]) -> Vec<Hit> {
    let data = json::get(&entry.payload, "data").unwrap_or_default();
    if json::get(data, "tainted") == Some("true") || json::get(&entry.meta, "tainted") == Some("true") {
        return Vec::new();
    }
    let content = json::get(data, "content").and_then(json::string).unwrap_or_default();
    let lines = content.lines().map(|line| line.trim().trim_start_matches(['-', '*', '#', ' ']));
    let new = lines.filter(|line| !line.is_empty() && !sent.iter().any(|sent| sent.contains(line)));
    let hit = |line: &str| Hit {
        text: line.to_owned(),
        score: 0.0,
        source,
        date: entry.date.to_string(),
        entry: None,
        tainted: false,
    };
    new.map(hit).collect()
}

fn nearest(mut hits: Vec<Hit>, question: &str) -> Vec<Hit> {
    let scores = gist::Corpus::new(hits.iter().map(|hit| hit.text.as_str())).similarities(question);
    for (hit, score) in hits.iter_mut().zip(scores) {
        hit.score = score;
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits
}
