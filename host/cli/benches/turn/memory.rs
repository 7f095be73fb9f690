//! The cost of memory in the system prompt of a turn, by length of the tapes.

use super::in_process::{print_derived, turn};
use crate::figure::Samples;
use crate::host::{home, host};
use bub_model::Settings;
use bub_runtime::host::Host;
use bub_tests::{Home, programs};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SESSION: &str = "bench";

/// The session id of the workspace's tape.
const WORKSPACE: &str = "";

/// Lengths of the two tapes in entries. Their sections are at the beginning, the worst case for a search from the end.
const LENGTHS: [usize; 2] = [1_000, 1_000_000];

/// Turns of each kind.
const TURNS: usize = 1_000;

pub async fn figures() {
    let mut places = Vec::new();
    for entries in LENGTHS {
        places.push([place(entries, false).await, place(entries, true).await]);
    }
    // Alternate the kinds, so that other load on the machine affects all of them.
    let mut added = [(); LENGTHS.len()].map(|()| Vec::new());
    for run in 0..TURNS + 50 {
        for (kinds, added) in places.iter().zip(&mut added) {
            let mut took = [Duration::ZERO; 2];
            for ((_home, host), took) in kinds.iter().zip(&mut took) {
                let begun = Instant::now();
                turn(host, SESSION, "tried").await;
                *took = begun.elapsed();
            }
            if run >= 50 {
                added.push(took[1].saturating_sub(took[0]));
            }
        }
    }
    for (entries, added) in LENGTHS.iter().zip(added) {
        let name = format!("memory in a turn, on two tapes of {entries} entries");
        print_derived(&name, Samples::new(added).median(), Duration::from_micros(300));
    }
}

/// A home whose model hook requests the system prompt once, with the memory plugin alone or without any.
async fn place(entries: usize, with_memory: bool) -> (Home, Arc<Host>) {
    let home = home().bare();
    home.configure(&format!("[plugins.memory]\nenabled = {with_memory}"));
    home.configure("[plugins.trier]\ngrants = [\"agent\", \"tape:read\"]");
    home.configure("[plugins.trier.config]\ntries = [\"tape:read\", \"agent\"]");
    home.plugin("trier", programs::TRIER);
    home.grant_hooks();
    for session in [SESSION, WORKSPACE] {
        write(&home, session, entries);
    }
    let host = host(&home, Settings::new("offline:demo")).await;
    (home, host)
}

/// Writes a tape with a section at its beginning and an anchor near its end.
fn write(home: &Home, session: &str, entries: usize) {
    std::fs::create_dir_all(home.tapes_dir()).expect("the directory can be made");
    let mut file = BufWriter::new(File::create(home.tape_file(session)).expect("the tape can be made"));
    let anchor = |name: &str| format!(r#"{{"name": "{name}", "state": {{"version": 1}}}}"#);
    for id in 1..=entries {
        let (kind, payload) = match id {
            1 => ("anchor", r#"{"name": "session/start", "state": {"owner": "human"}}"#.to_owned()),
            2 => ("anchor", anchor("memory/open")),
            3 => {
                let data = r#"{"content": "Likes tea.", "updated_at": "2026-02-10T10:00:00.000000+00:00"}"#;
                ("event", format!(r#"{{"name": "memory.long_term", "data": {data}}}"#))
            }
            4 => ("anchor", anchor("memory/seal")),
            _ if id + 200 == entries => ("anchor", r#"{"name": "phase", "state": {}}"#.to_owned()),
            _ => ("message", format!(r#"{{"role": "user", "content": "entry {id} speaks of the weather"}}"#)),
        };
        let line = format!(
            r#"{{"id": {id}, "kind": "{kind}", "payload": {payload}, "meta": {{}}, "date": "2026-02-10T10:00:00+00:00"}}"#
        );
        writeln!(file, "{line}").expect("the tape can be written");
    }
}
