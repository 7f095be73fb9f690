//! Questions about tool calls, and those who can answer them. The contents of questions have a meaning elsewhere.

use bub_tape::Result;

use super::database::Database;
use super::usage::{column, text};

/// Rows that expired ten minutes ago are removed, so that a late answer still finds the decision.
const POST: &str = "WITH gone AS (DELETE FROM approval WHERE until < clock_timestamp() - interval '10 minutes') \
                    INSERT INTO approval AS a (id, question, until) \
                    VALUES ($1, $2, clock_timestamp() + $3 * interval '1 second') \
                    ON CONFLICT (id) DO UPDATE SET until = excluded.until";

const WITHDRAW: &str = "UPDATE approval SET until = '-infinity' WHERE id = $1 AND decision IS NULL";

const QUESTIONS: &str = "SELECT question FROM approval WHERE until > clock_timestamp() AND decision IS NULL \
                         ORDER BY asked, id LIMIT 1024";

/// The update waits for another one of the row, and then finds its decision. The second part sees the row as it was before
/// the statement, so that a decision of the same moment is read by another statement.
const DECIDE: &str = "UPDATE approval SET decision = $2, decided_by = $3, until = greatest(until, clock_timestamp()) \
                      WHERE id = $1 AND decision IS NULL RETURNING true";

const DECISION: &str =
    "SELECT decision, convert_to(decided_by, 'UTF8') FROM approval WHERE id = $1 AND decision IS NOT NULL";

const ATTEND: &str = "WITH gone AS (DELETE FROM approver WHERE until < clock_timestamp() - interval '10 minutes') \
                      INSERT INTO approver AS a (id, session_prefix, until) \
                      VALUES ($1, $2, clock_timestamp() + $3 * interval '1 second') \
                      ON CONFLICT (id) DO UPDATE SET until = excluded.until";

const LEAVE: &str = "DELETE FROM approver WHERE id = $1";

const APPROVERS: &str = "SELECT DISTINCT session_prefix FROM approver WHERE until > clock_timestamp()";

/// The tables of questions and approvers.
#[derive(Clone)]
pub struct ApprovalTable {
    database: Database,
}

/// Each function fails with [`Error::Io`](bub_tape::Error::Io) if the database does not answer or cannot be written.
impl ApprovalTable {
    /// The tables in that database.
    pub fn new(database: Database) -> Self {
        Self { database }
    }

    /// Writes a question, or lets it last for so many seconds more.
    ///
    /// # Errors
    ///
    /// See [`ApprovalTable`].
    pub async fn post(&self, id: &str, question: &[u8], seconds: i64) -> Result<()> {
        self.database.write("ask the owner", POST, &[&id, &question, &(seconds as f64)], true).await.map(drop)
    }

    /// Ends a question that has no decision.
    ///
    /// # Errors
    ///
    /// See [`ApprovalTable`].
    pub async fn withdraw(&self, id: &str) -> Result<()> {
        self.database.write("withdraw a question", WITHDRAW, &[&id], true).await.map(drop)
    }

    /// The questions without a decision, oldest first.
    ///
    /// # Errors
    ///
    /// See [`ApprovalTable`].
    pub async fn questions(&self) -> Result<Vec<Vec<u8>>> {
        let rows = self.database.query("read what the owner is asked", QUESTIONS, &[]).await?;
        rows.iter().map(|row| column::<Vec<u8>>(row, 0)).collect()
    }

    /// Writes a decision and the name of its author. Returns those that were there before, if there were any.
    ///
    /// # Errors
    ///
    /// See [`ApprovalTable`].
    pub async fn decide(&self, id: &str, decision: &str, by: &str) -> Result<Option<(String, String)>> {
        // Repeated after a lost answer, it finds its own decision.
        let rows = self.database.write("write a decision", DECIDE, &[&id, &decision, &by], true).await?;
        if !rows.is_empty() {
            return Ok(None);
        }
        Ok(self.decision(id).await?.filter(|(of, author)| (of.as_str(), author.as_str()) != (decision, by)))
    }

    /// The decision about a question and its author, if there is one.
    ///
    /// # Errors
    ///
    /// See [`ApprovalTable`].
    pub async fn decision(&self, id: &str) -> Result<Option<(String, String)>> {
        let rows = self.database.query("read a decision", DECISION, &[&id]).await?;
        rows.first().map(|row| Ok((column(row, 0)?, text(row, 1)?))).transpose()
    }

    /// Writes an approver, or lets it last for so many seconds more.
    ///
    /// # Errors
    ///
    /// See [`ApprovalTable`].
    pub async fn attend(&self, id: &str, session_prefix: &str, seconds: i64) -> Result<()> {
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
            [&id, &session_prefix.as_bytes(), &(seconds as f64)];
        self.database.write("say that the owner can be asked", ATTEND, &values, true).await.map(drop)
    }

    /// Removes an approver.
    ///
    /// # Errors
    ///
    /// See [`ApprovalTable`].
    pub async fn leave(&self, id: &str) -> Result<()> {
        self.database.write("say that the owner has left", LEAVE, &[&id], true).await.map(drop)
    }

    /// The session prefixes of the approvers.
    ///
    /// # Errors
    ///
    /// See [`ApprovalTable`].
    pub async fn approvers(&self) -> Result<Vec<String>> {
        let rows = self.database.query("read whether the owner can be asked", APPROVERS, &[]).await?;
        rows.iter().map(|row| text(row, 0)).collect()
    }
}
