//! Every function that the host offers, called once. What they answer does not matter here, only that they are there and
//! take what they took.

use crate::bub::context::view::View;
use crate::bub::model::sink::Sink;
use crate::bub::model::{chat, exchange, usage};
use crate::bub::plugin::{config, log, secrets};
use crate::bub::process::process;
use crate::bub::tape::entries::{Draft, Query, Search, Start};
use crate::bub::tape::tape::Tape;
use crate::bub::tools::toolbox;
use crate::bub::turn::turn::Turn;
use crate::bub::turn::{stages, subturn};
use crate::bub::types::types::{MessageKind, Prompt, StreamEvent};

/// Calls them all, and counts those that answered without an error.
pub(crate) fn all(turn: &Turn) -> usize {
    let mut well = 0;
    let mut count = |is_well: bool| well += usize::from(is_well);
    log::log(log::Level::Info, "frozen");
    count(config::get("model").is_some());
    count(config::granted("process").is_ok());
    count(secrets::placeholder("none").is_ok());
    count(secrets::matches("none", "x").is_ok());
    count(secrets::hmac_sha256("none", b"x").is_ok());
    of_turn(turn, &mut count);
    for tape in [turn.tape(), turn.workspace_tape()].into_iter().flatten() {
        of_tape(&tape, &mut count);
    }
    of_others(turn, &mut count);
    well
}

fn of_turn(turn: &Turn, count: &mut impl FnMut(bool)) {
    count(turn.new_run_id().starts_with("run-"));
    count(!turn.session_id().is_empty() && !turn.workspace().is_empty() && !turn.started().is_empty());
    count(turn.workspace_instructions("AGENTS.md").is_some());
    turn.set_message_kind(MessageKind::Command);
    count(turn.message().kind == MessageKind::Command);
    let _ = (turn.principal(), turn.tainted());
    count(turn.set("frozen", "1").is_ok());
    count(turn.get("frozen").as_deref() == Some("1"));
    count(turn.state().contains("frozen"));
    count(turn.emit(&StreamEvent::Reasoning("cold".into())).is_ok());
}

fn of_tape(tape: &Tape, count: &mut impl FnMut(bool)) {
    let query = Query {
        start: Start::First,
        kinds: vec!["event".into()],
        name: None,
        text: None,
        since: None,
        until: None,
        newest_first: true,
        limit: Some(1),
    };
    let search =
        Search { text: "cold".into(), kinds: vec![], since: None, until: None, limit: 1, patience: Some(1000) };
    let draft = Draft { kind: "event".into(), payload: r#"{"name":"frozen","data":{}}"#.into(), meta: "{}".into() };
    count(!tape.name().is_empty());
    count(tape.info().is_ok());
    count(tape.append(&[draft.clone()]).is_ok());
    count(tape.append_if(u64::MAX, &[draft]).is_ok());
    count(tape.handoff("frozen", Some("{}")).is_ok());
    count(tape.query(&query).and_then(|cursor| cursor.next(1)).is_ok());
    count(tape.search(&search).is_ok());
    count(tape.tail(None, 1).is_ok());
    count(tape.last_anchor(None, None).is_ok());
    count(tape.fork().and_then(|fork| fork.merge()).is_ok());
    count(tape.sidecar("frozen").is_ok());
    // A turn that has begun to write cannot be emptied by a fork that is dropped.
    count(tape.fork().and_then(|fork| fork.reset(false)).is_ok());
}

fn of_others(turn: &Turn, count: &mut impl FnMut(bool)) {
    let prompt = Prompt::Text("cold".into());
    count(stages::system_prompt(turn, &prompt).is_ok());
    count(stages::messages(turn, &prompt, "", &[], None).is_ok());
    count(stages::steering(turn).is_ok());
    count(stages::continue_prompt(turn, &prompt).is_ok());
    count(stages::model_options(turn).is_ok());
    let request = subturn::Request { prompt, session: None, model: None, tools: Some(vec![]), skills: None };
    count(subturn::run(turn, &request).is_ok());
    let request = exchange::Request {
        model: None,
        messages: vec![r#"{"role":"user","content":"cold"}"#.into()],
        tools: vec![],
        max_tokens: None,
        purpose: "frozen".into(),
        options: None,
    };
    count(chat::complete(turn, &request).and_then(|completion| completion.next()).is_ok());
    let _ = chat::window("frozen:model");
    count(usage::session(turn, 1).is_ok());
    count(usage::today().is_ok());
    count(usage::daily_limit().is_ok());
    count(toolbox::list_tools(turn).is_ok());
    count(toolbox::call_tools(turn, &[]).is_ok());
    count(process::find("none").is_ok());
    if let Ok(child) = process::spawn("true", None) {
        count(!child.id().is_empty() && child.wait(1000).is_ok());
        count(child.read(0, 1).is_ok());
        count(child.kill().is_ok());
    }
}

/// What a selector can ask.
pub(crate) fn of_view(view: &View) {
    let _ = (view.tail(None, 1), view.search("cold", 1, 1000), view.sidecar("frozen"), view.info());
    let _ = (view.prompt(), view.system_prompt(), view.model(), view.budget(), view.state("frozen"));
}

/// What a provider can do.
pub(crate) fn of_sink(sink: &Sink, text: &str) -> Result<(), crate::bub::types::types::Error> {
    sink.send(&exchange::Event::Text(text.into()))?;
    sink.send(&exchange::Event::Usage(r#"{"total_tokens":1}"#.into()))?;
    sink.send(&exchange::Event::Finish("stop".into()))
}
