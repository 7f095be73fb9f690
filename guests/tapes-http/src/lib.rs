//! A tape store over HTTP. `README.md` defines the protocol.

mod path;
mod server;
mod wire;

use bub_guest::hook::{Batch, Candidates, Condition, Lookup, Outcome, Page, Store, StoreQuery};
use bub_guest::tape::Entry;
use bub_guest::{Error, Result};
use path::Path;
use serde_json::{Value, json};
use server::{Answer, Server, Settings};

bub_guest::plugin! {
    about: "Keeps the tapes on another machine, over HTTP.",
    config: Settings,
    grants: {
        /// to reach the server that `url` names; grant that host alone
        SERVER: Http("*"),
        /// to say to the server who asks
        TOKEN: Secret("tapes"),
    },
    hooks: {
        /// to keep the tapes in place of the host
        store: Tapes,
        store_query: Tapes,
    },
}

struct Tapes;

impl Store for Tapes {
    fn commit(batches: Vec<Batch>, key: Option<String>) -> Result<Outcome> {
        // All are of one tape and its sidecars: it is named by any of them.
        let Some(first) = batches.first() else { return Ok(Outcome::Stored) };
        let tape = wire::family(&first.tape).to_owned();
        let own = batches.iter().find(|batch| batch.tape == tape).and_then(|batch| batch.last);
        let body = wire::body(&batches, key.as_deref());
        let answer = Server::new()?.post(&Path::of_tape(&tape, "entries"), own, key.as_deref(), &body)?;
        let said = answer.json()?;
        if answer.status() == 412 {
            let lasts = said["last"].as_array().into_iter().flatten().filter_map(Value::as_u64);
            return Ok(Outcome::Conflict(lasts.collect()));
        }
        match said["outcome"].as_str() {
            Some("stored") => Ok(Outcome::Stored),
            Some("already") => Ok(Outcome::Already),
            _ => Err(Error::temporary("the server did not say whether it stored the write")),
        }
    }

    fn read(tape: String, after: u64, max: u32) -> Result<Page> {
        page(Path::of_tape(&tape, "entries").with("after", after).with("max", max))
    }

    fn tail(tape: String, before: Option<u64>, max: u32) -> Result<Page> {
        // Without `after` it is the newest that are asked for.
        page(Path::of_tape(&tape, "entries").maybe("before", before).with("max", max))
    }

    fn newest(tape: String, lookup: Lookup, before: Option<u64>) -> Result<Option<Entry>> {
        let path = Path::of_tape(&tape, "newest");
        let path = match lookup {
            Lookup::Kind(kind) => path.with("kind", kind),
            Lookup::Named((kind, name)) => path.with("kind", kind).with("name", name),
            Lookup::Phase => path.with("phase", true),
        };
        let page = page(path.maybe("before", before))?;
        Ok(page.entries.into_iter().next())
    }

    fn list_tapes(after: Option<String>, max: u32) -> Result<Vec<String>> {
        names(Path::new("/v1/tapes").maybe("after", after).with("max", max))
    }

    fn list_sidecars(tape: String, after: Option<String>, max: u32) -> Result<Vec<String>> {
        names(Path::of_tape(&tape, "sidecars").maybe("after", after).with("max", max))
    }

    fn archive_name(tape: String) -> Result<Option<String>> {
        let said = Server::new()?.get(&Path::of_tape(&tape, "archive-name"))?.json()?;
        Ok(said["name"].as_str().map(str::to_owned))
    }
}

impl StoreQuery for Tapes {
    /// One request. A server that does not know the path is of an earlier version.
    fn query(tape: String, condition: Condition, newest_first: bool, max: u32) -> Result<Option<Candidates>> {
        let path = Path::of_tape(&tape, "query").with("after", condition.after).maybe("before", condition.before);
        let path = path.maybe("kinds", list(condition.kinds)).maybe("name", condition.name);
        let similar = condition.similar.into_iter().map(|word| json!([word.text, word.edits])).collect::<Vec<Value>>();
        let path = path.maybe("texts", list(condition.texts)).maybe("similar", list(similar));
        let path = path.maybe("since", condition.since).maybe("until", condition.until);
        let path = path.with("newest_first", newest_first).with("max", max);
        let Some(answer) = Server::new()?.get_if_known(&path)? else { return Ok(None) };
        let next = answer.header("bub-next").map(str::parse).transpose();
        let next = next.map_err(|_| Error::temporary("the server answered a `bub-next` that is no id"))?;
        Ok(Some(Candidates { entries: entries(&answer)?, next }))
    }
}

/// A list as JSON; `None` for an empty one.
fn list<T: Into<Value>>(elements: Vec<T>) -> Option<Value> {
    (!elements.is_empty()).then(|| Value::from(elements))
}

fn page(path: Path) -> Result<Page> {
    let answer = Server::new()?.get(&path)?;
    Ok(Page { entries: entries(&answer)?, more: answer.header("bub-more") == Some("true") })
}

fn entries(answer: &Answer) -> Result<Vec<Entry>> {
    let entry = |line| wire::cut(line).ok_or_else(|| Error::temporary("the server answered what is no line of a tape"));
    answer.text()?.lines().map(entry).collect()
}

fn names(path: Path) -> Result<Vec<String>> {
    let said = Server::new()?.get(&path)?.json()?;
    let names = said["names"].as_array().ok_or_else(|| Error::temporary("the server answered no list of names"))?;
    Ok(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}
