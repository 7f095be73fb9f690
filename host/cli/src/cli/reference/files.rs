//! The files that the program reads and writes.

use super::{begin, table};

/// Below `$BUB_HOME`: path and meaning. Capitals stand for names.
const HOME: &[(&str, &str)] = &[
    ("config.toml", "[Configuration](configuration.md)."),
    (".env", "[Environment variables](environment.md), one `NAME=value` a line."),
    ("secrets.toml", "Secrets that plugins can name and never see; only you may read the file."),
    ("secrets.toml.lock", "Lock of that file."),
    ("serve.token", "The owner's token for the [HTTP API](http.md), written by the first `serve`."),
    ("plugins/NAME.wasm", "Plugins. A file that is added, changed or removed is noticed while the program runs."),
    ("mcp/NAME.json", "The tools of an MCP server that you have accepted; config.toml has its digest."),
    (
        "plugins.lock",
        "Source, digest, signature and grants of each installed plugin, and what is in quarantine by an advisory.",
    ),
    ("plugins/.before/NAME.wasm", "The previous version of a plugin, for `plugin rollback`."),
    ("plugins/.before/NAME.json", "The grants of that version."),
    ("tapes/TAPE.jsonl", "A tape: one JSON entry a line, only ever appended to."),
    ("tapes/TAPE.jsonl.lock", "Lock and commit record of a tape."),
    (
        "tapes/TAPE.jsonl.turn",
        "Journal and lease of the turn that runs on a tape; the next turn recovers it after a crash.",
    ),
    ("tapes/TAPE.jsonl.torn", "Half-written lines that recovery set aside."),
    ("tapes/TAPE.jsonl.DATE.bak", "Archive that a reset wrote."),
    ("tapes/trash/", "Discarded tapes, for a day."),
    ("tapes/TAPE__sidecar__NAME.jsonl", "Sidecar of a tape: entries of a plugin beside the conversation."),
    ("sessions/TAPE.json", "When a session was last used, and in which workspace."),
    ("usage/DATE.jsonl", "Tokens of each model call of a day, for `usage` and budgets."),
    (
        "usage/unsettled/",
        "Model calls that the database of the tapes did not take; they are sent when it answers again.",
    ),
    ("plugins/.shared.json", "Versions of plugins that were taken over from other workers."),
    ("plugins/.shared.lock", "Lock of the plugins and their settings, with shared plugins."),
    ("quarantine/breakers.json", "Plugins in quarantine."),
    ("quarantine/lock", "Lock of that file."),
    ("quarantine/NAME-HOOK-ID/", "A call that broke a plugin; `plugin check --repro DIR` repeats it."),
    ("serve.sqlite", "Messages that `serve` has accepted, and answers to deliver (SQLite)."),
    ("serve.sqlite-wal", "Write-ahead log of that database."),
    ("serve.sqlite-shm", "Shared memory of that database."),
    ("version", "[Version of the home](../guide/backup.md#versions-of-a-home), which an older program refuses."),
    ("update.json", "When the newest index of releases was made that `self update` has seen, by key."),
    ("serve.lock", "Held by the `serve` of this home."),
    ("serve.address", "Where a browser on this machine reaches the `serve` that runs."),
    ("logins/", "One-time codes and cookies of browsers, by their digests."),
    ("approvals/", "Tool calls that wait for the owner's word, and the answers; for seconds."),
    ("tapes/TAPE__sidecar__receipts.jsonl", "What the turns of a tape have done outside of it."),
    (
        "tapes/TAPE__sidecar__chain.jsonl",
        "Digests of the entries of a tape and its sidecars, each record over the last.",
    ),
    ("audit/key", "The secret key that signs the ends of chains; only you may read it."),
    ("audit/keys.jsonl", "Its public key, and those before it."),
    ("audit/heads.jsonl", "The signed ends of chains, after each turn."),
    ("audit/witness.json", "Which of them the witness has."),
    ("audit/lock", "Held while a head is signed."),
    ("audit/witness.lock", "Held while signed heads are sent."),
    ("witness/NAME.jsonl", "Signed heads of another home, which `serve` has witnessed for that token."),
    ("undo/WORKSPACE/turn-N.json", "What a turn has changed in a workspace, without contents; for a week."),
    ("undo/WORKSPACE/open-N.json", "The files of a workspace before a turn that runs, or was cut off."),
    ("undo/WORKSPACE/objects/", "Copies of files of a workspace, so that changes can be put back."),
    ("undo/WORKSPACE/lock", "Held while a workspace is copied or put back."),
    (
        "recordings/.erased",
        "Its time says when something was erased last: turns that wait to be recorded since before are not.",
    ),
    ("recordings/TAPE/TURN.rec", "A recorded turn of a session, if `record` is on; `bub-wasm replay` reads it."),
    ("history/WORKSPACE.lines", "Lines that were typed in `chat`."),
    (
        "index/WORKSPACE.sqlite",
        "Search index of the conversations and the memory of a workspace; rebuilt when it is missing.",
    ),
    ("cache/DIGEST.cwasm", "Compiled plugins (`BUB_CACHE` moves them); rebuilt when they are missing."),
    ("cache/DIGEST.cwasm.checked", "The state in which such a file was checked, and when it was used last."),
    (
        "cache/sandbox",
        "That bubblewrap works here, and with which settings of the system; tried again when one changes.",
    ),
    ("cache/index/TAPE.NAME", "Indexes of long tapes; rebuilt when they are missing."),
    ("cache/DIGEST.refused", "Plugins that could not be compiled, and why."),
];

/// Below a workspace.
const WORKSPACE: &[(&str, &str)] = &[
    ("AGENTS.md", "Instructions for the agent; untrusted until you run `bub-wasm trust`."),
    (".agents/skills/NAME/SKILL.md", "Skills of the workspace."),
    (".bub/plugins/NAME.wasm", "Plugins of the workspace; not loaded until you run `bub-wasm plugin trust FILE`."),
];

pub(super) fn page() -> String {
    let intro = "`$BUB_HOME` is `~/.bub` unless `--home` or `BUB_HOME` names another directory.\n";
    let mut page = begin("Files", intro);
    page.push_str("## `$BUB_HOME`\n\n");
    let rows = |files: &[(&str, &str)]| {
        files.iter().map(|(path, about)| vec![format!("`{path}`"), (*about).to_owned()]).collect::<Vec<_>>()
    };
    table(&mut page, &["Path", "Content"], rows(HOME));
    page.push_str("\n## Workspace\n\nThe workspace is the current directory, or the directory that `-w` names.\n\n");
    table(&mut page, &["Path", "Content"], rows(WORKSPACE));
    page.push_str("\n## Home directory\n\n");
    table(&mut page, &["Path", "Content"], rows(&[("~/.agents/skills/NAME/SKILL.md", "Your skills.")]));
    page
}
