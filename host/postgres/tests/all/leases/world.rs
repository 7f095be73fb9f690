//! The database, the network and the clock of the model, and the scheduler.

use std::time::Duration;

use bub_postgres::Terms;
use bub_test_support::Chance;

use super::judge::judge;
use super::rules::{Mode, Rule};
use super::worker::Worker;

/// The times of leases in the model, in milliseconds.
pub const TERMS: Terms = Terms { lease: Duration::from_millis(30), renewal: Duration::from_millis(10) };

const LEASE: u64 = 30;

pub const MESSAGES: usize = 3;

/// Identity of a claim: the columns of the database, and the actual claim, which no rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    pub epoch: u64,
    pub owner: u64,
    pub claim: u64,
}

/// The row of the lease.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub fence: Fence,
    pub until: u64,
}

/// An entry of the tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The effect of this message's turn is announced.
    Intent(usize),
    Result(usize),
    /// The turn is over.
    Answer(usize),
}

/// A request to the database.
#[derive(Clone, Copy, Debug)]
pub enum Request {
    Claim {
        owner: u64,
        clock: u64,
    },
    Renew(Fence),
    /// There was nothing to do.
    Release(Fence),
    Append(Fence, Entry),
    /// The answer and the release, in one transaction.
    End(Fence, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Claimed(Option<Fence>),
    Renewed(bool),
    Released,
    Written,
    Fenced,
}

/// A request on its way.
struct Flight {
    worker: usize,
    /// The worker's own number of the request: answers to an earlier process are lost.
    number: u64,
    request: Request,
    /// Whether the fence was looked at, if that is not part of the transaction.
    looked: bool,
    answer: Option<Answer>,
    late_until: u64,
}

/// The content of the database.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub row: Option<Row>,
    pub inbox: Vec<usize>,
    pub tape: Vec<Entry>,
}

pub struct World {
    pub chance: Chance,
    pub now: u64,
    pub state: State,
    /// States after earlier transactions, to which a failover returns.
    earlier: Vec<State>,
    /// Effects outside of the database: the message, and whether the worker truly held the lease, or a failover may
    /// have lost its claim.
    pub effects: Vec<(usize, bool)>,
    pub violation: Option<&'static str>,
    pub failovers: usize,
    /// Claims up to this one were made, or renewed, before the last failover, which may have lost that.
    doubtful: u64,
    left_out: Vec<Rule>,
    flights: Vec<Flight>,
    claims: u64,
    inserted: usize,
}

impl World {
    pub fn has(&self, rule: Rule) -> bool {
        !self.left_out.contains(&rule)
    }

    pub fn send(&mut self, worker: usize, number: u64, request: Request) {
        let looked = self.has(Rule::FenceLocks);
        let late_until = if self.chance.one_in(8) { self.now + self.chance.below(80) as u64 } else { 0 };
        self.flights.push(Flight { worker, number, request, looked, answer: None, late_until });
    }

    /// The next answer for a worker.
    pub fn receive(&mut self, worker: usize) -> Option<(u64, Answer)> {
        let now = self.now;
        let ready = |flight: &Flight| flight.worker == worker && flight.late_until <= now && flight.answer.is_some();
        let place = self.flights.iter().position(ready)?;
        let flight = self.flights.remove(place);
        Some((flight.number, flight.answer?))
    }

    /// Whether this claim is the one that the database knows.
    pub fn holds(&self, fence: Fence) -> bool {
        self.state.row.is_some_and(|row| row.fence.claim == fence.claim)
    }

    /// Whether a failover may have lost this claim or its renewal, which its worker cannot know yet.
    pub fn is_doubtful(&self, fence: Fence) -> bool {
        fence.claim <= self.doubtful
    }

    fn matches(&self, fence: Fence) -> bool {
        self.state.row.is_some_and(|row| (row.fence.epoch, row.fence.owner) == (fence.epoch, fence.owner))
    }

    /// Moves a random request: it is looked at, done, or lost.
    fn network(&mut self, may_fail: bool) {
        if self.flights.is_empty() {
            return;
        }
        let place = self.chance.below(self.flights.len());
        if may_fail && self.chance.one_in(12) {
            self.flights.remove(place);
            return;
        }
        let flight = &self.flights[place];
        if flight.answer.is_some() || flight.late_until > self.now {
            return;
        }
        let fence = match flight.request {
            Request::Append(fence, _) | Request::End(fence, _) => Some(fence),
            _ => None,
        };
        if let Some(fence) = fence
            && self.has(Rule::Fence)
            && (self.has(Rule::FenceLocks) || !flight.looked)
        {
            // Without the lock this look is a step of its own.
            let (alone, matches) = (!self.has(Rule::FenceLocks), self.matches(fence));
            let flight = &mut self.flights[place];
            flight.looked = true;
            if !matches {
                flight.answer = Some(Answer::Fenced);
                return;
            }
            if alone {
                return;
            }
        }
        let request = self.flights[place].request;
        let before = self.state.clone();
        let answer = self.execute(request);
        self.earlier.push(before);
        let late = if may_fail && self.chance.one_in(8) { self.now + self.chance.below(60) as u64 } else { 0 };
        let flight = &mut self.flights[place];
        (flight.answer, flight.late_until) = (Some(answer), late);
    }

    fn insert(&mut self, message: usize) {
        if !self.has(Rule::Deduplicate) || !self.state.inbox.contains(&message) {
            self.state.inbox.push(message);
        }
    }

    /// One transaction.
    fn execute(&mut self, request: Request) -> Answer {
        match request {
            Request::Claim { owner, clock } => {
                let now = if self.has(Rule::DatabaseClock) { self.now } else { clock };
                let is_free = self.state.row.is_none_or(|row| row.until <= now);
                if !is_free && self.has(Rule::ClaimExpired) {
                    return Answer::Claimed(None);
                }
                let epoch = self.state.row.map_or(0, |row| row.fence.epoch);
                let epoch = if self.has(Rule::NewEpoch) { epoch + 1 } else { epoch };
                self.claims += 1;
                let fence = Fence { epoch, owner, claim: self.claims };
                self.state.row = Some(Row { fence, until: now + LEASE });
                Answer::Claimed(Some(fence))
            }
            Request::Renew(fence) => {
                let matches = self.matches(fence) || !self.has(Rule::RenewalMatches);
                let until = self.now + LEASE;
                if let Some(row) = self.state.row.as_mut().filter(|_| matches) {
                    row.until = until;
                }
                Answer::Renewed(matches)
            }
            Request::Release(fence) => {
                self.release(fence);
                Answer::Released
            }
            Request::Append(fence, entry) => self.append(fence, entry),
            // The message's row is changed in the same transaction; a failover may have lost it.
            Request::End(_, message) if !self.state.inbox.contains(&message) => Answer::Fenced,
            Request::End(fence, message) => {
                let answer = self.append(fence, Entry::Answer(message));
                self.release(fence);
                answer
            }
        }
    }

    fn append(&mut self, fence: Fence, entry: Entry) -> Answer {
        if !self.holds(fence) {
            self.violation.get_or_insert("a stale owner writes");
        }
        if !self.has(Rule::Key) || !self.state.tape.contains(&entry) {
            self.state.tape.push(entry);
        }
        Answer::Written
    }

    fn release(&mut self, fence: Fence) {
        let matches = self.matches(fence) || !self.has(Rule::ReleaseMatches);
        if let Some(row) = self.state.row.as_mut().filter(|_| matches) {
            row.until = 0;
        }
    }

    fn fail_over(&mut self) {
        let lost = 1 + self.chance.below(3);
        for _ in 0..lost {
            if let Some(earlier) = self.earlier.pop() {
                self.state = earlier;
            }
        }
        self.doubtful = self.claims;
        self.failovers += 1;
        self.earlier.clear();
    }
}

/// Runs one schedule, and judges what it left.
pub fn run(seed: u64, mode: Mode, left_out: &[Rule]) -> Result<(), &'static str> {
    let chance = Chance::new(seed);
    let mut world = World {
        chance,
        now: 1,
        state: State::default(),
        earlier: Vec::new(),
        effects: Vec::new(),
        violation: None,
        failovers: 0,
        doubtful: 0,
        left_out: left_out.to_vec(),
        flights: Vec::new(),
        claims: 0,
        inserted: 0,
    };
    let mut workers: Vec<Worker> = (0..3).map(|id| Worker::new(id, &mut world)).collect();
    let mut rest = 0;
    let steps = 150 + world.chance.below(250);
    for step in 0..20_000 {
        let faults = step < steps;
        world.now += if world.chance.one_in(3) { world.chance.below(4) as u64 } else { 0 };
        // A client sends each message until it is accepted, and sometimes once more.
        if world.inserted < MESSAGES && world.chance.one_in(12) {
            let message = world.inserted;
            world.insert(message);
            if !world.chance.one_in(4) {
                world.inserted += 1;
            }
        }
        if faults && world.chance.one_in(60) {
            let worker = world.chance.below(workers.len());
            match world.chance.one_in(2) {
                true => workers[worker] = Worker::new(worker, &mut world),
                false => workers[worker].stop(world.now + world.chance.below(120) as u64),
            }
        }
        if faults && mode == Mode::Failover && world.chance.one_in(80) {
            world.fail_over();
        }
        match world.chance.one_in(2) {
            true => world.network(faults),
            false => {
                let worker = world.chance.below(workers.len());
                workers[worker].step(&mut world);
            }
        }
        if let Some(violation) = world.violation {
            return Err(violation);
        }
        let answered = world.state.tape.iter().filter(|entry| matches!(entry, Entry::Answer(_))).count();
        let is_done = !faults && world.inserted == MESSAGES && answered >= world.state.inbox.len();
        // Messages that are still on their way arrive.
        rest += usize::from(is_done);
        if rest > 400 {
            return judge(&world);
        }
    }
    Err("the workers wait for ever")
}
