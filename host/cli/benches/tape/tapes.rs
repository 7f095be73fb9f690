//! The measured tapes.

use bub_tape::{Draft, handoff};
use std::io::{BufWriter, Write};
use std::path::Path;

/// The name of the tape in each directory.
pub const NAME: &str = "00000000000000aa__00000000000000bb";

/// Entries after the latest anchor.
pub const WINDOW: usize = 200;

/// Occurs in three entries near the beginning of each tape: few enough that the whole tape is searched, and enough that
/// typing errors are not considered.
pub const RARE: &str = "chrysoprase";

/// The drafts of a tape: a run event every ten entries, an anchor every thousand, the last one `WINDOW` entries before
/// the end.
pub fn drafts(entries: usize) -> impl Iterator<Item = Draft> {
    (0..entries).flat_map(move |number| -> Vec<Draft> {
        if number + WINDOW == entries || number % 1000 == 0 {
            return vec![handoff("phase", None).expect("it is an anchor")[0].clone()];
        }
        if number % 10 == 9 {
            let payload = r#"{"name": "run", "data": {"status": "ok", "usage": {"completion_tokens": 5, "prompt_tokens": 973, "total_tokens": 978}, "model": "bench:model"}}"#;
            return vec![Draft::new("event", payload, r#"{"run_id": "run-20261121T000000000000Z"}"#).expect("it is an entry")];
        }
        let role = ["user", "assistant"][number % 2];
        let rare = if (5..=7).contains(&number) { RARE } else { "stone" };
        let payload = format!(r#"{{"role": "{role}", "content": "entry {number} speaks of some {rare}, 上海 weather and what else there is"}}"#);
        vec![Draft::new("message", &payload, r#"{"run_id": "run-20261121T000000000000Z"}"#).expect("it is an entry")]
    })
}

/// Writes the tape's file in the program's format.
pub fn write(dir: &Path, entries: usize) {
    std::fs::create_dir_all(dir).expect("the directory can be made");
    let file = std::fs::File::create(dir.join(format!("{NAME}.jsonl"))).expect("the tape can be made");
    let mut file = BufWriter::new(file);
    for (id, draft) in (1..).zip(drafts(entries)) {
        writeln!(file, "{}", draft.numbered(id).line()).expect("the tape can be written");
    }
}
