//! The rule: what faults and answers, one behind the other, come to. Times are milliseconds since 1970.
//!
//! A breaker opens for one caller in one session first, then for that caller in all sessions, and for all callers only where
//! callers that the configuration trusts have seen it: the owner in two sessions, or two of owner and peers.

use super::caller::{Caller, Trust};
use crate::plugin::open_circuit::OpenCircuit;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Digest and hook: what faults are counted by.
pub(super) type Key = (String, String);

/// Faults in a row that open it.
const FAULTS: u32 = 3;

/// Sessions of one caller in which it has to be open to be open in all of that caller's, and trusted callers for whom it has
/// to be open to be open for all.
const WITNESSES: usize = 2;

/// The longest pause.
const LONGEST: u64 = 3_600_000;

/// Sessions that are remembered; of untrusted callers, and then of all, the one whose last fault is longest ago goes first.
const MAX_SESSIONS: usize = 64;

/// The longest wait of an embedded guest's call.
const LONGEST_WAIT: u64 = 30_000;

/// The circuit breaker of one hook of one plugin's bytes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Breaker {
    /// The plugin's name.
    pub(super) plugin: String,
    /// It is never switched off, and only made to wait.
    #[serde(default)]
    pub(super) only_waits: bool,
    /// The last fault.
    pub(super) fault: String,
    /// When that was.
    pub(super) at: u64,
    sessions: Vec<Streak>,
    /// Callers for whom no session asks.
    callers: BTreeMap<String, Open>,
    /// Whether nothing asks.
    everywhere: Option<Open>,
}

/// One caller's faults in one session.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Streak {
    caller: String,
    trust: Trust,
    session: String,
    /// In a row.
    faults: u32,
    at: u64,
    open: Option<Open>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Open {
    until: u64,
    /// The pause that ends then, in milliseconds.
    pause: u64,
}

impl Open {
    fn for_the_first_time(now: u64, pause: Duration) -> Self {
        let pause = u64::try_from(pause.as_millis()).unwrap_or(LONGEST).min(LONGEST);
        Self { until: now.saturating_add(pause), pause }
    }

    fn again(self, now: u64) -> Self {
        let pause = self.pause.saturating_mul(2).clamp(1, LONGEST);
        Self { until: now.saturating_add(pause), pause }
    }
}

impl Breaker {
    fn streak(&self, caller: &Caller, session: &str) -> Option<&Streak> {
        self.sessions.iter().find(|streak| streak.is_of(caller, session))
    }

    fn streak_mut(&mut self, caller: &Caller, session: &str) -> Option<&mut Streak> {
        self.sessions.iter_mut().find(|streak| streak.is_of(caller, session))
    }

    /// Whether calls of that caller in that session have to be let through one by one.
    pub(super) fn is_open(&self, caller: &Caller, session: &str) -> bool {
        self.everywhere.is_some()
            || self.callers.contains_key(&*caller.name)
            || self.streak(caller, session).is_some_and(|streak| streak.open.is_some())
    }

    /// Whether that caller has seen faults in that session.
    pub(super) fn knows(&self, caller: &Caller, session: &str) -> bool {
        self.streak(caller, session).is_some()
    }

    /// Why that caller's messages do not ask now in that session.
    pub(super) fn open_circuit(&self, key: &Key, caller: &Caller, session: &str, now: u64) -> Option<OpenCircuit> {
        let name = (caller.trust != Trust::Owner && !caller.name.is_empty()).then_some(&*caller.name);
        let own = self.streak(caller, session).and_then(|streak| streak.open).map(|open| (open, name, Some(session)));
        let all_own = self.callers.get(&*caller.name).map(|open| (*open, name, None));
        let all = self.everywhere.map(|open| (open, None, None));
        // Of several that end together the widest is told.
        let (open, name, session) = own
            .into_iter()
            .chain(all_own)
            .chain(all)
            .filter(|(open, ..)| open.until > now)
            .max_by_key(|(open, ..)| open.until)?;
        Some(self.as_held(key, (name, session), open, now))
    }

    /// Everything that is held at this moment.
    pub(super) fn open_circuits(&self, key: &Key, now: u64) -> Vec<OpenCircuit> {
        let named = |streak: &'_ Streak| streak.trust != Trust::Owner && !streak.caller.is_empty();
        let own = self.sessions.iter().filter_map(|streak| {
            Some((streak.open?, named(streak).then_some(streak.caller.as_str()), Some(streak.session.as_str())))
        });
        let callers = self.callers.iter().map(|(caller, open)| (*open, Some(caller.as_str()), None));
        let all = self.everywhere.map(|open| (open, None, None)).into_iter().chain(callers).chain(own);
        let all = all.filter(|(open, ..)| open.until > now && !self.only_waits);
        all.map(|(open, caller, session)| self.as_held(key, (caller, session), open, now)).collect()
    }

    fn as_held(
        &self,
        (digest, hook): &Key,
        (caller, session): (Option<&str>, Option<&str>),
        open: Open,
        now: u64,
    ) -> OpenCircuit {
        OpenCircuit {
            plugin: self.plugin.clone(),
            digest: digest.clone(),
            hook: hook.clone(),
            caller: caller.map(str::to_owned),
            session: session.map(str::to_owned),
            left: Duration::from_millis(open.until.saturating_sub(now)),
            fault: self.fault.clone(),
        }
    }

    /// Lets one call through, and no other for the length of the first pause, because the caller may never report. `false`:
    /// there is nothing to try.
    pub(super) fn try_once(&mut self, caller: &Caller, session: &str, now: u64, pause: Duration) -> bool {
        let is_open = self.is_open(caller, session);
        let again = |open: &mut Open| open.until = Open::for_the_first_time(now, pause).until;
        self.streak_mut(caller, session).and_then(|streak| streak.open.as_mut()).map(again);
        self.callers.get_mut(&*caller.name).map(again);
        self.everywhere.as_mut().map(again);
        is_open
    }

    /// `true`: nothing is held against it any more. A call that was on its way when others broke proves nothing for them.
    pub(super) fn succeed(&mut self, caller: &Caller, session: &str, is_trial: bool) -> bool {
        match self.streak_mut(caller, session) {
            Some(streak) if streak.open.is_some() && !is_trial => streak.faults = 0,
            Some(_) => self.sessions.retain(|streak| !streak.is_of(caller, session)),
            None => {}
        }
        if is_trial && self.callers.remove(&*caller.name).is_some() {
            self.sessions.retain(|streak| streak.caller != *caller.name);
        }
        if is_trial && self.everywhere.take().is_some() {
            self.sessions.clear();
            self.callers.clear();
        }
        self.sessions.is_empty() && self.callers.is_empty() && self.everywhere.is_none()
    }

    /// `true`: it is not asked from here on, and was until now.
    pub(super) fn fault(&mut self, caller: &Caller, session: &str, now: u64, pause: Duration, is_trial: bool) -> bool {
        self.at = now;
        let before = self.held_scopes(caller, session);
        let first = Open::for_the_first_time(now, pause);
        if !self.knows(caller, session) {
            self.sessions.push(Streak::new(caller, session));
        }
        if let Some(streak) = self.streak_mut(caller, session) {
            streak.faults = streak.faults.saturating_add(1);
            streak.at = now;
            streak.open = match streak.open {
                Some(open) if is_trial => Some(open.again(now)),
                None if streak.faults >= FAULTS => Some(first),
                open => open,
            };
        }
        let is_trusted = caller.trust != Trust::Untrusted;
        // A trial of a stranger's shows nothing to the others, and they get it back; the stranger has had theirs.
        let wasted = is_trial && !is_trusted && self.everywhere.is_some();
        if let Some(open) = self.callers.get_mut(&*caller.name) {
            *open = if is_trial { open.again(now) } else { *open };
        } else if caller.trust != Trust::Owner
            && !caller.name.is_empty()
            && (wasted || self.open_of(caller) >= WITNESSES)
        {
            self.callers.insert(caller.name.to_string(), first);
        }
        self.everywhere = match self.everywhere {
            Some(open) if wasted => Some(Open { until: now, ..open }),
            Some(open) if is_trial => Some(open.again(now)),
            None if self.is_witnessed() => Some(first),
            open => open,
        };
        self.forget_some(caller, session);
        let after = self.held_scopes(caller, session);
        is_trial && after > 0 || after > before
    }

    /// In how many scopes it is not asked there.
    fn held_scopes(&self, caller: &Caller, session: &str) -> usize {
        usize::from(self.streak(caller, session).is_some_and(|streak| streak.open.is_some()))
            + usize::from(self.callers.contains_key(&*caller.name))
            + usize::from(self.everywhere.is_some())
    }

    /// In how many of the caller's sessions it is open.
    fn open_of(&self, caller: &Caller) -> usize {
        self.sessions.iter().filter(|streak| streak.open.is_some() && streak.caller == *caller.name).count()
    }

    /// Whether callers that are trusted have seen enough of it.
    fn is_witnessed(&self) -> bool {
        let open = || self.sessions.iter().filter(|streak| streak.open.is_some());
        let trusted = open().filter(|streak| streak.trust != Trust::Untrusted).map(|streak| &streak.caller);
        let owned = open().filter(|streak| streak.trust == Trust::Owner).count();
        owned >= WITNESSES || trusted.collect::<BTreeSet<_>>().len() >= WITNESSES
    }

    /// How long a call of a guest waits that is never switched off.
    pub(super) fn back_off(&self, caller: &Caller, session: &str) -> Duration {
        let faults = self.streak(caller, session).map_or(0, |streak| streak.faults);
        match faults.checked_sub(FAULTS) {
            Some(more) => Duration::from_millis(
                1_000_u64.checked_shl(more.min(16)).map_or(LONGEST_WAIT, |ms| ms.min(LONGEST_WAIT)),
            ),
            None => Duration::ZERO,
        }
    }

    fn forget_some(&mut self, caller: &Caller, session: &str) {
        let oldest = |sessions: &[Streak]| {
            let others = sessions.iter().enumerate().filter(|(_, streak)| !streak.is_of(caller, session));
            others.min_by_key(|(_, streak)| (streak.trust != Trust::Untrusted, streak.at)).map(|(at, _)| at)
        };
        while self.sessions.len() > MAX_SESSIONS
            && let Some(at) = oldest(&self.sessions)
        {
            self.sessions.remove(at);
        }
        while self.callers.len() > MAX_SESSIONS {
            let soonest =
                self.callers.iter().filter(|(name, _)| **name != *caller.name).min_by_key(|(_, open)| open.until);
            let Some(name) = soonest.map(|(name, _)| name.clone()) else { return };
            self.callers.remove(&name);
        }
    }
}

impl Streak {
    fn new(caller: &Caller, session: &str) -> Self {
        let (caller, trust) = (caller.name.to_string(), caller.trust);
        Self { caller, trust, session: session.to_owned(), faults: 0, at: 0, open: None }
    }

    fn is_of(&self, caller: &Caller, session: &str) -> bool {
        self.session == session && self.caller == *caller.name
    }
}
