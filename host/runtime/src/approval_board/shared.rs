//! The board of all workers of a database.

use super::{ApprovalBoard, ApprovalDecision, BoardFuture, Decided, Decision, LIFETIME, Question};
use bub_postgres::{ApprovalTable, Database};

/// The board in the database.
pub(super) struct SharedBoard {
    table: ApprovalTable,
}

impl SharedBoard {
    pub(super) fn new(database: Database) -> Self {
        Self { table: ApprovalTable::new(database) }
    }
}

fn to_decision((decision, by): (String, String)) -> Decision {
    // A name that a newer program has written permits nothing here.
    Decision { decision: ApprovalDecision::parse(&decision).unwrap_or(ApprovalDecision::No), by }
}

impl ApprovalBoard for SharedBoard {
    fn post<'a>(&'a self, question: &'a Question) -> BoardFuture<'a, ()> {
        Box::pin(async move {
            let text = serde_json::to_vec(question)?;
            Ok(self.table.post(&question.id, &text, LIFETIME).await?)
        })
    }

    fn withdraw<'a>(&'a self, id: &'a str) -> BoardFuture<'a, ()> {
        Box::pin(async move { Ok(self.table.withdraw(id).await?) })
    }

    fn questions(&self) -> BoardFuture<'_, Vec<Question>> {
        Box::pin(async move {
            let found = self.table.questions().await?;
            Ok(found.iter().filter_map(|text| serde_json::from_slice(text).ok()).collect())
        })
    }

    fn decide<'a>(&'a self, id: &'a str, decision: &'a Decision) -> BoardFuture<'a, Decided> {
        Box::pin(async move {
            let before = self.table.decide(id, decision.decision.name(), &decision.by).await?;
            Ok(before.map_or(Decided::First, |before| Decided::Already(to_decision(before))))
        })
    }

    fn decision<'a>(&'a self, id: &'a str) -> BoardFuture<'a, Option<Decision>> {
        Box::pin(async move { Ok(self.table.decision(id).await?.map(to_decision)) })
    }

    fn attend<'a>(&'a self, id: &'a str, session_prefix: &'a str) -> BoardFuture<'a, ()> {
        Box::pin(async move { Ok(self.table.attend(id, session_prefix, LIFETIME).await?) })
    }

    fn leave<'a>(&'a self, id: &'a str) -> BoardFuture<'a, ()> {
        Box::pin(async move { Ok(self.table.leave(id).await?) })
    }

    fn approvers(&self) -> BoardFuture<'_, Vec<String>> {
        Box::pin(async move { Ok(self.table.approvers().await?) })
    }
}
