//! Rules that can be left out of the protocol, and events that can happen.

/// A rule of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A claim takes only what is free or has expired.
    ClaimExpired,
    /// Whether it has expired is decided by the database's clock.
    DatabaseClock,
    /// A claim raises the epoch.
    NewEpoch,
    /// The owner is a random number of the claim, and not of the process.
    OwnerOfClaim,
    /// A renewal matches epoch and owner.
    RenewalMatches,
    /// A renewal that matches nothing ends the turn.
    StopWhenLost,
    /// The holder counts from before its request was sent.
    CountFromRequest,
    /// The holder asks whether its time is over before an effect.
    LookBeforeEffect,
    /// A release matches epoch and owner.
    ReleaseMatches,
    /// A write looks at the lease.
    Fence,
    /// It does so in its own transaction, and locks the row.
    FenceLocks,
    /// An effect is announced by a write first.
    Intent,
    /// An effect that was announced without a result is not repeated.
    NoRepeat,
    /// A write is done once under its key.
    Key,
    /// A message is inserted once under its deduplication key.
    Deduplicate,
}

impl Rule {
    /// Rules without which a run fails. A random owner of each claim does what the epoch does, and more.
    pub const CONTROLS: [(Mode, &'static [Self]); 16] = [
        (Mode::Faults, &[Self::ClaimExpired]),
        (Mode::Faults, &[Self::DatabaseClock]),
        (Mode::Faults, &[Self::NewEpoch, Self::OwnerOfClaim]),
        (Mode::Failover, &[Self::OwnerOfClaim]),
        (Mode::Faults, &[Self::RenewalMatches]),
        (Mode::Faults, &[Self::StopWhenLost]),
        (Mode::Faults, &[Self::CountFromRequest]),
        (Mode::Faults, &[Self::LookBeforeEffect]),
        (Mode::Faults, &[Self::ReleaseMatches]),
        (Mode::Faults, &[Self::Fence]),
        (Mode::Failover, &[Self::Fence]),
        (Mode::Faults, &[Self::FenceLocks]),
        (Mode::Faults, &[Self::Intent]),
        (Mode::Faults, &[Self::NoRepeat]),
        (Mode::Faults, &[Self::Key]),
        (Mode::Faults, &[Self::Deduplicate]),
    ];
}

/// Events besides the workers' own steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Workers end and are stopped, requests and answers are late or lost.
    Faults,
    /// The same, and the database falls back to an earlier state, as after an asynchronous failover.
    Failover,
}
