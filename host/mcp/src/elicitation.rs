//! Asks the client's user about a tool call.

use bub_runtime::channel::ApprovalDecision;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, JsonObject,
    ServerRequest,
};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};
use serde_json::{Value, json};

/// Asks the client's user by elicitation.
#[derive(Clone)]
pub struct Elicitor(Peer<RoleServer>);

impl Elicitor {
    /// None: the client cannot ask its user, or its protocol lets no server begin a request.
    pub(crate) fn new(context: &RequestContext<RoleServer>) -> Option<Self> {
        let version = context.protocol_version()?;
        let elicitation = context.client_capabilities()?.elicitation?;
        // A client that names no way understands forms.
        let has_forms = elicitation.form.is_some() || elicitation.url.is_none();
        (version.has_initialize() && has_forms).then(|| Self(context.peer.clone()))
    }

    /// Shows the question, and waits for the user's decision. `has_rules`: it may be to keep the rules that the message shows.
    /// None: the client did not ask.
    pub async fn ask(&self, message: String, has_rules: bool) -> Option<ApprovalDecision> {
        let params =
            ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema(has_rules)? };
        let asked = self.0.send_request(ServerRequest::ElicitRequest(ElicitRequest::new(params))).await;
        match asked {
            Ok(ClientResult::ElicitResult(answer)) => Some(decision(&answer)),
            Ok(_) => None,
            Err(error) => {
                let error = bub_types::text::one_line(&error.to_string());
                tracing::warn!("the client did not ask its user: {error}");
                None
            }
        }
    }
}

/// Anything but a clear yes is a no.
fn decision(answer: &ElicitResult) -> ApprovalDecision {
    let said = answer.content.as_ref().and_then(|content| content.get("decision")).and_then(Value::as_str);
    match (&answer.action, said) {
        (ElicitationAction::Accept, Some("once")) => ApprovalDecision::Once,
        (ElicitationAction::Accept, Some("always")) => ApprovalDecision::Always,
        (ElicitationAction::Accept, Some("rule")) => ApprovalDecision::Rule,
        (ElicitationAction::Accept, Some("never")) => ApprovalDecision::Never,
        _ => ApprovalDecision::No,
    }
}

fn schema(has_rules: bool) -> Option<ElicitationSchema> {
    let choices: &[&str] = match has_rules {
        true => &["once", "always", "rule", "no", "never"],
        false => &["once", "always", "no", "never"],
    };
    let schema = json!({
        "type": "object",
        "properties": {
            "decision": {
                "type": "string",
                "title": "Decision",
                "description": "`once` allows this call; `always` and `never` hold for this session, a `rule` for all",
                "enum": choices,
            },
        },
        "required": ["decision"],
    });
    let schema: JsonObject = schema.as_object().cloned()?;
    ElicitationSchema::from_json_schema(schema).ok()
}
