//! `/v1/approvals`: the questions of all turns that wait for the owner, and the answers to them.

use super::ApiError;
use super::body::{self, CallerClass};
use super::extract::{Caller, PathName};
use super::sse::{self, Source, StreamPermit};
use super::token::Bearer;
use axum::Json;
use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use axum::response::sse::Event;
use bub_config::Scope;
use bub_runtime::approval_board::{Decided, Decision, Follower, Question};
use bub_runtime::channel::ApprovalDecision;
use serde::Deserialize;
use serde_json::{Value, json};

/// The largest body of a decision, in bytes.
const MAX_BODY: usize = 4096;

/// `GET /v1/approvals`: the questions in the scope of the token.
pub(super) async fn list(Caller { api, bearer }: Caller) -> Result<Json<Value>, ApiError> {
    bearer.needs(Scope::Admin)?;
    let questions = in_scope(&bearer, api.approvals.board().questions().await?);
    Ok(Json(json!({ "approvals": questions })))
}

/// `GET /v1/approvals/stream`: the same, at once and after each change. While it is read, turns ask.
pub(super) async fn stream(Caller { api, bearer }: Caller) -> Result<Response, ApiError> {
    bearer.needs(Scope::Admin)?;
    let permit = StreamPermit::acquire(&api)?;
    let follower = api.approvals.follow(&bearer.session_prefix).await?;
    Ok(sse::respond(api.auth.lease(bearer), permit, Questions(follower)))
}

/// A decision.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DecisionRequest {
    decision: String,
}

/// `POST /v1/approvals/{id}`: answers a question. The first answer counts.
pub(super) async fn decide(
    Caller { api, bearer }: Caller,
    PathName(id): PathName,
    sent: Body,
) -> Result<Json<Value>, ApiError> {
    bearer.needs(Scope::Admin)?;
    let class = CallerClass::from_bearer(&bearer);
    let (request, _charge) = body::json(&api, sent, (class, MAX_BODY), Ok::<DecisionRequest, _>).await?;
    let Some(decision) = ApprovalDecision::parse(&request.decision) else {
        let shown = bub_types::text::escaped(&request.decision, 40);
        return Err(ApiError::bad_request(format!(
            "`{shown}` is no `decision`: `once`, `session`, `rule`, `no` or `never`"
        )));
    };
    let is_name = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let gone = || ApiError::not_found("this question is not waiting: its turn has ended, or it was withdrawn");
    if !is_name {
        return Err(gone());
    }
    let board = api.approvals.board();
    if let Some(before) = board.decision(&id).await? {
        return Err(answered(&before));
    }
    let open = in_scope(&bearer, board.questions().await?);
    let question = open.iter().find(|question| question.id == id).ok_or_else(gone)?;
    if decision == ApprovalDecision::Rule && question.rules.is_empty() {
        return Err(ApiError::bad_request("no rule can allow this call from now on: its `rules` are empty"));
    }
    let made = Decision { decision, by: bearer.name.clone() };
    match board.decide(&id, &made).await? {
        Decided::Already(before) => Err(answered(&before)),
        Decided::First => Ok(Json(json!({ "id": id, "decision": decision.name() }))),
    }
}

fn answered(before: &Decision) -> ApiError {
    let (by, decision) = (&before.by, before.decision.name());
    ApiError::new(StatusCode::CONFLICT, "answered", format!("`{by}` has answered `{decision}` before"))
}

fn in_scope(bearer: &Bearer, questions: Vec<Question>) -> Vec<Question> {
    questions.into_iter().filter(|question| question.session_id.starts_with(&bearer.session_prefix)).collect()
}

/// The questions in the scope of a token.
struct Questions(Follower);

impl Source for Questions {
    const NAME: &str = "`/v1/approvals/stream`";

    async fn next(&mut self) -> anyhow::Result<Vec<Event>> {
        let data = json!({ "approvals": self.0.next().await? }).to_string();
        Ok(vec![Event::default().event("approvals").data(data)])
    }
}
