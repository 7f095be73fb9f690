//! The rule: what faults and answers, one behind the other, come to. Times are milliseconds since 1970.

use super::{Held, Key};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Faults in a row that open it.
const FAULTS: u32 = 3;

/// Sessions in which it has to be open to be open in all.
const SESSIONS: usize = 2;

/// The longest pause.
const LONGEST: u64 = 3_600_000;

/// Sessions that are remembered; the one whose last fault is longest ago goes first.
const MAX_SESSIONS: usize = 64;

/// The longest wait of an embedded guest's call.
const LONGEST_WAIT: u64 = 30_000;

/// What is known of one hook of one plugin's bytes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Breaker {
    /// The plugin's name.
    pub(super) plugin: String,
    /// It is never switched off, and only made to wait.
    #[serde(default)]
    pub(super) only_waits: bool,
    /// What it did last.
    pub(super) fault: String,
    /// When that was.
    pub(super) at: u64,
    sessions: BTreeMap<String, Streak>,
    /// Whether no session asks.
    everywhere: Option<Open>,
}

/// One session's faults.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Streak {
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
    /// Whether calls of that session have to be let through one by one.
    pub(super) fn is_open(&self, session: &str) -> bool {
        self.everywhere.is_some() || self.sessions.get(session).is_some_and(|streak| streak.open.is_some())
    }

    /// Whether that session has seen faults.
    pub(super) fn knows(&self, session: &str) -> bool {
        self.sessions.contains_key(session)
    }

    /// Why that session does not ask now.
    pub(super) fn held(&self, key: &Key, session: &str, now: u64) -> Option<Held> {
        let own = self.sessions.get(session).and_then(|streak| streak.open).map(|open| (open, Some(session)));
        let both = self.everywhere.map(|open| (open, None)).into_iter().chain(own);
        let (open, session) = both.filter(|(open, _)| open.until > now).max_by_key(|(open, _)| open.until)?;
        Some(self.as_held(key, session, open, now))
    }

    /// Everything that is held at this moment.
    pub(super) fn all_held(&self, key: &Key, now: u64) -> Vec<Held> {
        let own = self.sessions.iter().filter_map(|(session, streak)| Some((streak.open?, Some(session.as_str()))));
        let all = self.everywhere.map(|open| (open, None)).into_iter().chain(own);
        let all = all.filter(|(open, _)| open.until > now && !self.only_waits);
        all.map(|(open, session)| self.as_held(key, session, open, now)).collect()
    }

    fn as_held(&self, (digest, hook): &Key, session: Option<&str>, open: Open, now: u64) -> Held {
        Held {
            plugin: self.plugin.clone(),
            digest: digest.clone(),
            hook: hook.clone(),
            session: session.map(str::to_owned),
            left: Duration::from_millis(open.until.saturating_sub(now)),
            fault: self.fault.clone(),
        }
    }

    /// Lets one call through, and no other for as long as the pause is at first: whoever makes it may never tell. `false`:
    /// there is nothing to try.
    pub(super) fn try_once(&mut self, session: &str, now: u64, pause: Duration) -> bool {
        let again = |open: &mut Open| open.until = Open::for_the_first_time(now, pause).until;
        let own = self.sessions.get_mut(session).and_then(|streak| streak.open.as_mut());
        let is_open = self.everywhere.is_some() || own.is_some();
        own.map(again);
        self.everywhere.as_mut().map(again);
        is_open
    }

    /// `true`: nothing is held against it any more. A call that was on its way when others broke proves nothing for them.
    pub(super) fn succeed(&mut self, session: &str, is_trial: bool) -> bool {
        match self.sessions.get_mut(session) {
            Some(streak) if streak.open.is_some() && !is_trial => streak.faults = 0,
            Some(_) => drop(self.sessions.remove(session)),
            None => {}
        }
        if is_trial && self.everywhere.take().is_some() {
            self.sessions.clear();
        }
        self.sessions.is_empty() && self.everywhere.is_none()
    }

    /// `true`: it is not asked from here on, and was until now.
    pub(super) fn fault(&mut self, session: &str, now: u64, pause: Duration, is_trial: bool) -> bool {
        self.at = now;
        let streak = self.sessions.entry(session.to_owned()).or_default();
        streak.faults = streak.faults.saturating_add(1);
        streak.at = now;
        let was_open = streak.open.is_some();
        streak.open = match streak.open {
            Some(open) if is_trial => Some(open.again(now)),
            None if streak.faults >= FAULTS => Some(Open::for_the_first_time(now, pause)),
            open => open,
        };
        let opened = streak.open.is_some() && (!was_open || is_trial);
        let open = self.sessions.values().filter(|streak| streak.open.is_some()).count();
        let everywhere = self.everywhere.is_some();
        self.everywhere = match self.everywhere {
            Some(open) if is_trial => Some(open.again(now)),
            None if open >= SESSIONS => Some(Open::for_the_first_time(now, pause)),
            open => open,
        };
        self.forget_some(session);
        opened || self.everywhere.is_some() && (!everywhere || is_trial)
    }

    /// How long a call of a guest waits that is never switched off.
    pub(super) fn back_off(&self, session: &str) -> Duration {
        let faults = self.sessions.get(session).map_or(0, |streak| streak.faults);
        match faults.checked_sub(FAULTS) {
            Some(more) => Duration::from_millis(
                1_000_u64.checked_shl(more.min(16)).map_or(LONGEST_WAIT, |ms| ms.min(LONGEST_WAIT)),
            ),
            None => Duration::ZERO,
        }
    }

    fn forget_some(&mut self, but: &str) {
        while self.sessions.len() > MAX_SESSIONS {
            let others = self.sessions.iter().filter(|(session, _)| *session != but);
            let Some(oldest) = others.min_by_key(|(_, streak)| streak.at).map(|(session, _)| session.clone()) else {
                return;
            };
            self.sessions.remove(&oldest);
        }
    }
}
