//! A worker of the model: claims, takes the oldest message, announces its effect, does it, and answers.

use std::time::Duration;

use bub_postgres::Held;

use super::rules::Rule;
use super::world::{Answer, Entry, Fence, Request, TERMS, World};

/// How long an answer is waited for.
const PATIENCE: u64 = 25;

/// The worker's next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Claim,
    Read,
    Announce(usize),
    Act(usize),
    Report(usize),
    End(usize),
}

/// A request that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u64,
    at: u64,
}

pub struct Worker {
    id: usize,
    /// A random number of the process, where a claim has none of its own.
    owner: u64,
    /// How far its clock is ahead of the database's.
    ahead: u64,
    stopped_until: u64,
    step: Step,
    lease: Option<(Fence, Held)>,
    sent: Option<Sent>,
    renewing: Option<Sent>,
    /// Numbers of requests, which no other process has used.
    next: u64,
}

impl Worker {
    pub fn new(id: usize, world: &mut World) -> Self {
        let random = 1 + world.chance.below(1 << 30) as u64;
        let ahead = world.chance.below(40) as u64;
        let (step, next) = (Step::Claim, random << 20);
        Self { id, owner: random, ahead, stopped_until: 0, step, lease: None, sent: None, renewing: None, next }
    }

    /// Nothing happens before `until`, as after SIGSTOP.
    pub fn stop(&mut self, until: u64) {
        self.stopped_until = until;
    }

    fn clock(&self, world: &World) -> Duration {
        Duration::from_millis(world.now + self.ahead)
    }

    fn send(&mut self, world: &mut World, request: Request) -> Sent {
        self.next += 1;
        world.send(self.id, self.next, request);
        Sent { number: self.next, at: world.now }
    }

    pub fn step(&mut self, world: &mut World) {
        if self.stopped_until > world.now {
            return;
        }
        while let Some((number, answer)) = world.receive(self.id) {
            if self.sent.is_some_and(|sent| sent.number == number) {
                self.answered(world, answer);
            } else if self.renewing.is_some_and(|sent| sent.number == number) {
                self.renewed(world, answer);
            }
        }
        let now = self.clock(world);
        if let Some((fence, held)) = self.lease {
            if !held.is_valid(now) && world.has(Rule::LookBeforeEffect) {
                self.give_up();
                return;
            }
            // By a task of its own, whatever the turn waits for.
            let waits = self.renewing.is_some_and(|sent| world.now < sent.at + PATIENCE / 2);
            if now >= held.next_renewal() && !waits {
                self.renewing = Some(self.send(world, Request::Renew(fence)));
            }
        }
        match self.sent {
            Some(sent) if world.now < sent.at + PATIENCE => {}
            _ => self.act(world),
        }
    }

    /// Does the next step, or repeats it when no answer came.
    fn act(&mut self, world: &mut World) {
        let request = match (self.step, self.lease) {
            (Step::Claim, _) | (_, None) => {
                self.step = Step::Claim;
                let clock = world.now + self.ahead;
                let own = 1 + world.chance.below(1 << 30) as u64;
                let owner = if world.has(Rule::OwnerOfClaim) { own } else { self.owner };
                Request::Claim { owner, clock }
            }
            (Step::Read, Some(_)) => {
                self.read(world);
                return;
            }
            (Step::Announce(message), Some((fence, _))) => Request::Append(fence, Entry::Intent(message)),
            (Step::Act(message), Some((fence, held))) => {
                if held.is_valid(self.clock(world)) || !world.has(Rule::LookBeforeEffect) {
                    let truly = world.holds(fence) || world.is_doubtful(fence);
                    world.effects.push((message, truly));
                    self.step = Step::Report(message);
                }
                return;
            }
            (Step::Report(message), Some((fence, _))) => Request::Append(fence, Entry::Result(message)),
            (Step::End(message), Some((fence, _))) => Request::End(fence, message),
        };
        self.sent = Some(self.send(world, request));
    }

    /// Reads the inbox and the tape: pending messages, and the last owner's remains.
    fn read(&mut self, world: &mut World) {
        let done = world.state.tape.iter().filter(|entry| matches!(entry, Entry::Answer(_))).count();
        let Some(message) = world.state.inbox.get(done).copied() else {
            // The answer is not waited for.
            if let Some((fence, _)) = self.lease {
                self.send(world, Request::Release(fence));
            }
            self.give_up();
            return;
        };
        let holds = |entry: Entry| world.state.tape.contains(&entry);
        self.step = if holds(Entry::Result(message)) {
            Step::End(message)
        } else if holds(Entry::Intent(message)) {
            if world.has(Rule::NoRepeat) { Step::Report(message) } else { Step::Act(message) }
        } else if world.has(Rule::Intent) {
            Step::Announce(message)
        } else {
            Step::Act(message)
        };
    }

    fn answered(&mut self, world: &World, answer: Answer) {
        let asked = self.sent.take().map_or(world.now, |sent| sent.at);
        match (answer, self.step) {
            (Answer::Claimed(Some(fence)), _) => {
                let from = if world.has(Rule::CountFromRequest) { asked } else { world.now };
                self.lease = Some((fence, Held::claimed(TERMS, Duration::from_millis(from + self.ahead))));
                self.step = Step::Read;
            }
            (Answer::Fenced, _) => self.give_up(),
            (Answer::Written, Step::Announce(message)) => self.step = Step::Act(message),
            (Answer::Written, Step::Report(message)) => self.step = Step::End(message),
            (Answer::Written, Step::End(_)) => self.give_up(),
            _ => {}
        }
    }

    fn renewed(&mut self, world: &World, answer: Answer) {
        let asked = self.renewing.take().map_or(world.now, |sent| sent.at);
        let Some((_, held)) = &mut self.lease else { return };
        let matched = answer == Answer::Renewed(true) || !world.has(Rule::StopWhenLost);
        let from = if world.has(Rule::CountFromRequest) { asked } else { world.now };
        held.answered(Duration::from_millis(from + self.ahead), matched);
    }

    /// Ends the turn, and all that it waits for.
    fn give_up(&mut self) {
        (self.step, self.lease, self.sent, self.renewing) = (Step::Claim, None, None, None);
    }
}
