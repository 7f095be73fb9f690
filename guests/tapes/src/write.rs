//! Tools that change the tape.

use crate::{APPEND, RESET, TAPE};
use bub_guest::{Result, Schema, Turn, tool};
use serde::{Deserialize, Serialize};

/// The first anchor of every tape.
const SESSION_START: &str = "session/start";

#[derive(Deserialize, Schema)]
pub struct Phase {
    /// The phase's name.
    #[serde(default = "unnamed")]
    #[schema(default = "handoff")]
    name: String,
    /// What the next phase has to know.
    #[serde(default)]
    summary: String,
}

/// The state of a phase's anchor.
#[derive(Serialize)]
struct Summary {
    summary: String,
}

/// The state of the first anchor.
#[derive(Serialize)]
struct Start<'a> {
    owner: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    archived: Option<&'a str>,
}

fn unnamed() -> String {
    "handoff".to_owned()
}

/// Begin a new phase: what was said before goes out of view, and the summary stands in its place. Put into it all that the
/// next phase needs.
#[tool(name = "tape.handoff", effect = write)]
pub fn handoff(turn: &Turn, Phase { name, summary }: Phase) -> Result<String> {
    turn.tape(TAPE)?.writer(APPEND).handoff(&name, &Summary { summary })?;
    Ok(format!("anchor added: {name}"))
}

#[derive(Deserialize, Schema)]
pub struct Emptied {
    /// Keep what there is under another name.
    #[serde(default)]
    #[schema(default = false)]
    archive: bool,
}

/// Empty the record of this conversation and begin anew.
#[tool(name = "tape.reset", effect = write)]
pub fn reset(turn: &Turn, Emptied { archive }: Emptied) -> Result<String> {
    let tape = turn.tape(TAPE)?;
    let archived = tape.reset(RESET, archive)?;
    tape.writer(APPEND).handoff(SESSION_START, &Start { owner: "human", archived: archived.as_deref() })?;
    Ok(match archived {
        Some(archived) => format!("Archived: {archived}"),
        None => "ok".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::{handoff, reset};
    use bub_guest::test::Host;
    use serde_json::json;

    #[test]
    fn a_handoff_is_an_anchor_with_its_summary() {
        let host = Host::new();
        assert_eq!(host.call::<handoff>(json!({ "summary": "s" })).unwrap(), "anchor added: handoff");
        assert_eq!(host.entries()[0].json(), json!({ "name": "handoff", "state": { "summary": "s" } }));
    }

    #[test]
    fn a_reset_leaves_the_first_anchor_and_names_the_archive() {
        let host = Host::new().entry("message", json!({ "content": "a" }));
        let said = host.call::<reset>(json!({ "archive": true })).unwrap();
        let archive = said.as_str().and_then(|said| said.strip_prefix("Archived: ")).unwrap();
        assert_eq!(host.entries_of(archive).len(), 1);
        let start = host.entries()[0].json();
        assert_eq!((&start["name"], &start["state"]["archived"]), (&json!("session/start"), &json!(archive)));
        assert_eq!(host.call::<reset>(json!({})).unwrap(), "ok");
    }
}
