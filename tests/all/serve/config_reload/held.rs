//! Turns that run while the configuration changes, and how many may.

use super::super::say;
use super::{home_with, in_effect, start, until};
use bub_tests::{Answer, Serve, Server};
use serde_json::Value;
use std::sync::{Arc, Condvar, Mutex};

/// Keeps a model from answering until it may.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    /// How many answers may still be given.
    may: usize,
    /// Whether a caller has reached it.
    is_reached: bool,
}

impl Gate {
    /// A model that answers when it may.
    fn model(&self) -> Server {
        let held = self.clone();
        Server::ruled(move |_| {
            held.wait();
            Answer::text("done")
        })
    }

    fn wait(&self) {
        let (state, told) = &*self.0;
        state.lock().unwrap().is_reached = true;
        let mut state = told.wait_while(state.lock().unwrap(), |state| state.may == 0).unwrap();
        state.may -= 1;
    }

    fn is_reached(&self) -> bool {
        self.0.0.lock().unwrap().is_reached
    }

    /// Lets so many answers more be given.
    fn lets(&self, answers: usize) {
        let (state, told) = &*self.0;
        state.lock().unwrap().may += answers;
        told.notify_all();
    }
}

fn model_of(request: &bub_tests::Request) -> String {
    request.json()["model"].as_str().unwrap_or_default().to_owned()
}

/// Its second model call, behind a tool, is made when the other configuration has long been in effect.
#[test]
fn a_turn_ends_with_the_configuration_that_it_began_with() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Server::ruled(move |request| {
        let is_answered = request.messages().iter().any(|message| message["role"] == "tool");
        if model_of(request) == "old" && !is_answered {
            held.wait();
            return Answer::tool_call("tape_info", "{}");
        }
        Answer::text(&format!("{} answers", model_of(request)))
    });
    let home = home_with(&model);
    let serve = start(&home);
    std::thread::scope(|scope| {
        let long = scope.spawn(|| say(&serve, "long", "hi"));
        until("the model is asked", || gate.is_reached());
        home.configure("model = \"openai:new\"");
        in_effect(&serve, 1);
        assert_eq!(say(&serve, "short", "hi")["model_output"], "new answers");
        gate.lets(1);
        assert_eq!(long.join().unwrap()["model_output"], "old answers");
    });
    assert_eq!(say(&serve, "long", "hi")["model_output"], "new answers");
}

/// The running turns and waiting messages, from `/metrics`.
fn load(serve: &Serve<'_>) -> (f64, f64) {
    let page = serve.ask("GET", "/metrics").send().body;
    let value = |name: &str| page.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    let of = |name| value(name).unwrap_or_else(|| panic!("no `{name}` in\n{page}"));
    (of("bub_turns_running "), of("bub_messages_waiting "))
}

#[test]
fn more_turns_may_run_at_once_and_fewer() {
    let gate = Gate::default();
    let model = gate.model();
    let home = home_with(&model);
    home.configure("[serve]\nmax_turns = 1");
    let serve = start(&home);
    let serve = &serve;
    std::thread::scope(|scope| {
        let turn = |session: &'static str| scope.spawn(move || -> Value { say(serve, session, "hi") });
        let (one, two) = (turn("one"), turn("two"));
        until("one runs and one waits", || load(serve) == (1.0, 1.0));
        home.configure("[serve]\nmax_turns = 2");
        in_effect(serve, 1);
        until("both run", || load(serve) == (2.0, 0.0));
        let three = turn("three");
        until("two run and one waits", || load(serve) == (2.0, 1.0));
        // Running turns go on. A turn that waits already gets no place above the new limit.
        home.configure("[serve]\nmax_turns = 1");
        in_effect(serve, 2);
        gate.lets(1);
        until("one runs and one waits", || load(serve) == (1.0, 1.0));
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert_eq!(load(serve), (1.0, 1.0), "and it goes on to wait");
        gate.lets(2);
        for turn in [one, two, three] {
            assert_eq!(turn.join().unwrap()["model_output"], "done");
        }
    });
    until("nothing runs", || load(serve) == (0.0, 0.0));
}

/// After fewer places and more again there are as many as it says.
#[test]
fn places_that_are_taken_away_are_away() {
    let gate = Gate::default();
    let model = gate.model();
    let home = home_with(&model);
    let serve = start(&home);
    let serve = &serve;
    for (times, most) in [(1, 1), (2, 3), (3, 2)] {
        home.configure(&format!("[serve]\nmax_turns = {most}"));
        in_effect(serve, times);
    }
    std::thread::scope(|scope| {
        for session in ["one", "two", "three"] {
            scope.spawn(move || say(serve, session, "hi"));
        }
        until("two run and one waits", || load(serve) == (2.0, 1.0));
        gate.lets(3);
    });
}
