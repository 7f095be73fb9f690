//! The fake model, and the sink of a provider.

use super::turn::Turn;
use super::world::{World, missing};
use crate::Result;
use crate::model::{Event, Request};
use std::cell::RefCell;
use std::rc::Rc;

pub struct Sink(Rc<RefCell<World>>);

impl std::fmt::Debug for Sink {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Sink")
    }
}

impl Sink {
    pub fn new(world: Rc<RefCell<World>>) -> Self {
        Self(world)
    }

    pub fn send(&self, event: &Event) -> Result<()> {
        self.0.borrow_mut().sent.push(event.clone());
        Ok(())
    }
}

/// The answers of the test's model.
pub fn answer(turn: &Turn, request: &Request) -> Result<String> {
    let mut world = turn.world.borrow_mut();
    world.require(&format!("model:{}", request.model.as_deref().unwrap_or("test:model")))?;
    world.model_calls.push(request.clone());
    // Taken out, so that it can call the host.
    let mut model = world.model.take().ok_or_else(|| missing("model"))?;
    drop(world);
    let answer = model(request);
    turn.world.borrow_mut().model = Some(model);
    answer
}

/// `bub:model/chat`.
pub mod chat {
    use super::{Turn, answer};
    use crate::Result;
    use crate::model::{Event, Request};
    use std::cell::RefCell;

    #[derive(Debug)]
    pub struct Completion(RefCell<std::vec::IntoIter<Event>>);

    impl Completion {
        pub fn next(&self) -> Result<Option<Event>> {
            Ok(self.0.borrow_mut().next())
        }
    }

    /// The text in two pieces, so that a plugin that reads only the first is found out.
    pub fn complete(turn: &Turn, request: &Request) -> Result<Completion> {
        let text = answer(turn, request)?;
        let middle = text.floor_char_boundary(text.len() / 2);
        let (first, second) = text.split_at(middle);
        let events =
            vec![Event::Text(first.to_owned()), Event::Text(second.to_owned()), Event::Finish("stop".to_owned())];
        Ok(Completion(RefCell::new(events.into_iter())))
    }

    pub fn window(_model: &str) -> Option<u32> {
        None
    }

    pub fn input_budget(_model: &str) -> Option<u32> {
        crate::test::world::current().borrow().budget
    }

    pub fn token_calibration(_model: &str) -> f64 {
        1.0
    }
}

/// `bub:model/usage`.
pub mod usage {
    use super::Turn;
    use crate::Result;
    use crate::model::Row;
    use crate::test::world::{World, current};

    /// One row: the calls that the plugin made.
    fn rows(world: &World) -> Result<Vec<Row>> {
        world.require("usage")?;
        let calls = world.model_calls.len() as u64;
        let row = Row {
            model: "test:model".to_owned(),
            calls,
            estimated: calls,
            prompt: 0,
            cached: 0,
            completion: 0,
            total: 0,
        };
        Ok((calls > 0).then_some(row).into_iter().collect())
    }

    pub fn session(turn: &Turn, _days: u32) -> Result<Vec<Row>> {
        rows(&turn.world.borrow())
    }

    pub fn today() -> Result<Vec<Row>> {
        rows(&current().borrow())
    }

    pub fn daily_limit() -> Result<Option<u64>> {
        current().borrow().require("usage").map(|()| None)
    }
}
