//! Texts become vectors: by a plugin that is an embedder, or by the configured model, within budgets and on the account.

use crate::guest::bindings::model_exports::embedder::Purpose;
use crate::hooks;
use crate::host::{Allowance, Demand};
use crate::plugin::Plugin;
use crate::turn::Turn;
use bub_model::Embedded;
use bub_model::usage::{Call, Tokens};
use bub_recall::{Baseline, QueryVector, Workspace, probes};
use bub_types::Principal;
use std::sync::Arc;
use std::time::Duration;

/// Texts that are sent at once.
const BATCH: usize = 64;

/// Bytes of a text that are sent.
const TEXT: usize = 8 << 10;

/// Texts that are looked at behind one question.
const MAX_TEXTS: usize = 1_024;

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Compares meanings in a turn.
pub(super) struct Embedder {
    turn: Arc<Turn>,
    /// The plugin that searches: the model is asked at its expense.
    caller: String,
    model: EmbeddingModel,
    /// The name under which vectors are kept.
    name: String,
}

enum EmbeddingModel {
    Guest(Arc<Plugin>),
    /// `provider:model`.
    Server(String),
}

impl Embedder {
    /// The configured model, else the plugin that is an embedder; none where there is neither.
    pub(super) async fn for_turn(turn: &Arc<Turn>, caller: &str) -> Option<Arc<Self>> {
        let (model, name) = match &turn.scope.host.config.embedding_model {
            Some(model) => (EmbeddingModel::Server(model.clone()), model.clone()),
            None => {
                let plugin = hooks::embedder(turn)?;
                let model = hooks::embedding_name(turn, &plugin).await?;
                let name = format!("{}/{model}", plugin.name);
                (EmbeddingModel::Guest(plugin), name)
            }
        };
        Some(Arc::new(Self { turn: turn.clone(), caller: caller.to_owned(), model, name }))
    }

    /// The vector that the model makes of a question.
    pub(super) async fn question(&self, workspace: &Workspace, question: &str) -> Result<QueryVector, String> {
        let made: Result<QueryVector, String> = async {
            let vector = self.ask(&[question.to_owned()], Purpose::Question).await?.pop();
            let baseline = self.baseline(workspace).await?;
            let vector = vector.ok_or_else(|| "no vector came for the question".to_owned())?;
            Ok(QueryVector { model: self.name.clone(), vector, baseline })
        }
        .await;
        made.map_err(|why| self.failed(workspace, &why))
    }

    /// Has the model look at texts that it has not seen, so many batches at most.
    pub(super) async fn look_at_new(&self, workspace: &Workspace, batches: usize) {
        if let Err(why) = self.baseline(workspace).await {
            self.failed(workspace, &why);
            return;
        }
        for _ in 0..batches.min(MAX_TEXTS / BATCH) {
            match self.next_batch(workspace).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(why) => {
                    self.failed(workspace, &why);
                    return;
                }
            }
        }
    }

    /// Whether there may be more.
    async fn next_batch(&self, workspace: &Workspace) -> Result<bool, String> {
        let texts = workspace.texts_without_vector(&self.name, BATCH).await?;
        if texts.is_empty() {
            return Ok(false);
        }
        let vectors = self.ask(&texts, Purpose::Passage).await?;
        let is_full = texts.len() == BATCH;
        workspace.store_vectors(&self.name, texts.into_iter().zip(vectors).collect()).await?;
        Ok(is_full)
    }

    /// The baseline of the model, from unrelated texts: as configured, as it was learned, or learned now.
    async fn baseline(&self, workspace: &Workspace) -> Result<Baseline, String> {
        if let (EmbeddingModel::Server(_), Some(configured)) =
            (&self.model, self.turn.scope.host.config.embedding_scale)
        {
            return Ok(configured);
        }
        // One at a time: the second finds what the first has learned.
        let _alone = workspace.measuring().await;
        if let Some(known) = workspace.baseline(&self.name).await? {
            return Ok(known);
        }
        let (questions, statements) = probes();
        let questions = self.ask(&questions, Purpose::Question).await?;
        let statements = self.ask(&statements, Purpose::Passage).await?;
        let learned = workspace.measure_baseline(&self.name, &questions, &statements).await?;
        learned.ok_or_else(|| "it says the same of all texts".to_owned())
    }

    async fn ask(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, String> {
        let texts: Vec<String> = texts.iter().map(|text| beginning(text)).collect();
        match &self.model {
            EmbeddingModel::Guest(plugin) => {
                let vectors = hooks::embed(&self.turn, plugin, &texts, purpose).await;
                vectors.map_err(|failure| failure.to_string())
            }
            EmbeddingModel::Server(model) => {
                let sent = texts.iter().map(String::len).sum::<usize>() as u64;
                let allowance = self.admit(sent).await?;
                let host = &self.turn.scope.host;
                let embedded = host.model.embed(model, &texts, TIMEOUT).await.map_err(|error| error.message)?;
                self.record_usage(model, (sent, allowance), &embedded);
                Ok(embedded.vectors)
            }
        }
    }

    /// The budgets of all, of the plugin that searches and of the caller.
    async fn admit(&self, sent: u64) -> Result<Allowance, String> {
        let host = &self.turn.scope.host;
        let demand = Demand {
            plugin: &self.caller,
            own: host.config.plugin(&self.caller).daily_tokens,
            caller: &self.turn.caller().account,
            quota: self.turn.quota().tokens_per_day,
        };
        let admitted = host.budget.admit(demand, || Tokens::estimated(sent, 0).total).await;
        admitted.map_err(|refused| refused.error.message)
    }

    fn record_usage(&self, model: &str, (sent, allowance): (u64, Allowance), embedded: &Embedded) {
        let reported = embedded.usage.as_deref().and_then(Tokens::reported);
        let tokens = reported.unwrap_or_else(|| Tokens::estimated(sent, 0));
        let (session, workspace) = (self.turn.billed_session(), self.turn.workspace.to_string_lossy());
        let call = Call::now(model, session, &workspace, &self.caller, "embedding", tokens);
        let is_counted = self.turn.principal() != Principal::Owner || self.turn.quota().tokens_per_day.is_some();
        let call = if is_counted { call.caused_by(&self.turn.caller().account) } else { call };
        self.turn.spends(call.tokens());
        let used =
            serde_json::json!({ "prompt": tokens.prompt, "total": tokens.total, "estimate": tokens.is_estimate });
        let receipt = serde_json::json!({ "model": model, "plugin": self.caller, "tokens": used });
        self.turn.receipt("embedding", receipt);
        self.turn.scope.host.budget.settle(allowance, Some(&call));
    }

    /// The question was not answered in time: the next ones do not wait for the model for a while, unless it was new.
    pub(super) async fn was_late(&self, workspace: &Workspace) -> String {
        if matches!(workspace.baseline(&self.name).await, Ok(Some(_))) {
            return self.failed(workspace, &format!("embedding model `{}`: no answer in time", self.name));
        }
        format!("embedding model `{}` is being measured; words alone were compared", self.name)
    }

    /// One line in the log, and a pause before the model is asked again.
    fn failed(&self, workspace: &Workspace, why: &str) -> String {
        // A search asks the model for the question and for new texts at once, and both can fail.
        if workspace.pause_embedding() {
            tracing::warn!("{why}; words alone are compared");
        }
        format!("{why}; words alone were compared")
    }
}

/// As much of a text as is sent.
fn beginning(text: &str) -> String {
    let mut end = text.len().min(TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}
