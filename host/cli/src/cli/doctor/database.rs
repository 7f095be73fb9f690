//! The database of the tapes, if they are in PostgreSQL.

use super::{Diagnostic, State, diagnostic};
use bub_config::{Config, TapeStorage};
use bub_postgres::examine::{Facts, Pooling, Standby, examine};
use bub_types::text::{bytes, count};

/// The oldest major version that this program is tested with.
const TESTED: u32 = 15;

/// How far clocks may differ, in seconds.
const MAX_SKEW: f64 = 2.0;

/// How long a standby may take to show a commit, in seconds.
const MAX_LAG: f64 = 10.0;

/// How much a standby may have yet to replay, in bytes.
const MAX_BEHIND: u64 = 64 << 20;

/// Free space below which a disk is nearly full, in bytes.
const LOW_DISK: u64 = 1 << 30;

/// Diagnostics of the database, and whether a turn can use it; none if tapes are elsewhere.
pub(super) async fn diagnostics(config: &Config) -> (Vec<Diagnostic>, bool) {
    let TapeStorage::Postgres(address) = &config.tapes.storage else { return (Vec::new(), true) };
    let what = format!("database `{address}`");
    let facts = match config.database(address) {
        Ok(settings) => examine(settings).await.map_err(|error| error.to_string()),
        Err(error) => Err(format!("{error:#}")),
    };
    let facts = match facts {
        Ok(facts) => facts,
        Err(error) => return (vec![diagnostic(what, State::Wrong, error)], false),
    };
    let mut all = vec![server(what, &facts)];
    let (schema, isolation, pooler) = (schema(&facts), isolation(&facts), pooler(&facts));
    let is_usable = ![&schema, &isolation, &pooler].iter().any(|found| found.state == State::Wrong);
    all.extend([schema, encoding(&facts), isolation, pooler]);
    all.extend(limits(&facts));
    all.extend([writes(&facts), durability(&facts)]);
    all.extend(facts.standbys.iter().map(|standby| replication(standby, facts.sees_standbys)));
    all.extend([clock(&facts), connections(&facts), disk(&facts)]);
    (all, is_usable)
}

fn server(what: String, facts: &Facts) -> Diagnostic {
    let (version, milliseconds) = (&facts.version, facts.round_trip.as_secs_f64() * 1000.0);
    let text = format!("PostgreSQL {version}, {milliseconds:.1} ms away");
    match facts.major < TESTED {
        true => diagnostic(what, State::Note, format!("{text}; this program is tested with {TESTED} and later")),
        false => diagnostic(what, State::Well, text),
    }
}

fn schema(facts: &Facts) -> Diagnostic {
    let (schema, what) = (&facts.schema, "database schema");
    let (version, reads) = (schema.found.version, schema.reads);
    match (version, schema.pending.is_empty()) {
        _ if !schema.is_usable() => {
            let text = format!(
                "version {version} is not for this program, which reads version {reads}: use the program that wrote it"
            );
            diagnostic(what, State::Wrong, text)
        }
        _ if schema.needs_consent => {
            let text = format!(
                "version {version}; version {reads} excludes programs that can use it now: end those, then run `bub-wasm store migrate`"
            );
            diagnostic(what, State::Wrong, text)
        }
        (0, _) => diagnostic(what, State::Note, "there are no tables yet; the next start makes them"),
        (_, false) => diagnostic(what, State::Note, format!("version {version}; the next start makes version {reads}")),
        (_, true) => diagnostic(what, State::Well, format!("version {version}; this program reads version {reads}")),
    }
}

fn encoding(facts: &Facts) -> Diagnostic {
    let what = "database encoding";
    let text = format!("{}, collation {}", facts.encoding, facts.collation);
    match facts.wrong_collations {
        0 => diagnostic(what, State::Well, format!("{text}; names are in the order of their bytes")),
        wrong => {
            let columns = count(u64::from(wrong), "column has", "columns have");
            let text = format!(
                "{text}; {columns} names in another order than `COLLATE \"C\"`: restore the tables as `pg_dump` wrote them"
            );
            diagnostic(what, State::Wrong, text)
        }
    }
}

fn isolation(facts: &Facts) -> Diagnostic {
    let (what, isolation) = ("database isolation", &facts.isolation);
    match isolation == "read committed" {
        true => diagnostic(what, State::Well, isolation),
        false => {
            let text = format!(
                "`{isolation}`, since the pooler drops options: `ALTER ROLE` the user `SET default_transaction_isolation = 'read committed'`"
            );
            diagnostic(what, State::Wrong, text)
        }
    }
}

fn pooler(facts: &Facts) -> Diagnostic {
    let what = "database pooler";
    match facts.pooling {
        Pooling::Sessions => diagnostic(what, State::Well, "none, or one by session"),
        Pooling::Transactions { keeps_statements: Some(true) } => {
            diagnostic(what, State::Well, "by transaction, with prepared statements")
        }
        Pooling::Transactions { keeps_statements: Some(false) } => {
            let text = "by transaction, and loses prepared statements: give PgBouncer 1.21 or later `max_prepared_statements`, or an older one `pool_mode = session`";
            diagnostic(what, State::Wrong, text)
        }
        Pooling::Transactions { keeps_statements: None } => {
            let text = "by transaction, with one connection at a time: raise its `default_pool_size`";
            diagnostic(what, State::Note, text)
        }
    }
}

/// Time limits that a pooler dropped.
fn limits(facts: &Facts) -> Option<Diagnostic> {
    let names = facts.unlimited.join("`, `");
    let text = format!(
        "there is no `{names}`: `ALTER ROLE` the user `SET` it, since a pooler drops the options of this program"
    );
    (!facts.unlimited.is_empty()).then(|| diagnostic("database limits", State::Note, text))
}

fn writes(facts: &Facts) -> Diagnostic {
    let what = "database writes";
    let wrong = match (facts.is_standby, facts.is_read_only) {
        (true, _) => {
            "it is a standby: name the primary, or all servers with `target_session_attrs=read-write` in `tape_store`"
        }
        (false, true) => "it is read-only: `ALTER DATABASE` it `SET default_transaction_read_only = off`, or the role",
        (false, false) => return diagnostic(what, State::Well, "allowed"),
    };
    diagnostic(what, State::Wrong, wrong)
}

fn durability(facts: &Facts) -> Diagnostic {
    let (what, commit, standbys) = ("database durability", &facts.synchronous_commit, &facts.synchronous_standbys);
    if commit == "off" {
        let text = "`synchronous_commit` is off: a crash of the server loses the last answers; set it to `on`";
        return diagnostic(what, State::Note, text);
    }
    let text = format!("`synchronous_commit` is {commit}");
    match (standbys.is_empty(), facts.standbys.is_empty(), commit.as_str()) {
        (true, true, _) => diagnostic(what, State::Well, format!("{text}; there is no standby")),
        (true, false, _) => {
            let text = format!(
                "{text}, and no standby is synchronous: a failover can lose the last answers; set `synchronous_standby_names`"
            );
            diagnostic(what, State::Note, text)
        }
        (false, _, "local") => {
            let text = format!(
                "{text}, which does not wait for standbys: a failover can lose the last answers; set it to `on`"
            );
            diagnostic(what, State::Note, text)
        }
        (false, true, _) => {
            let text = format!("{text}, and no standby of `{standbys}` is there: writes wait for one");
            diagnostic(what, State::Wrong, text)
        }
        (false, false, _) => diagnostic(what, State::Well, format!("{text}, with the standbys `{standbys}`")),
    }
}

fn replication(standby: &Standby, is_seen: bool) -> Diagnostic {
    let what = format!("standby `{}`", standby.name);
    if !is_seen {
        let text = "its state is not visible: `GRANT pg_read_all_stats` to the user";
        return diagnostic(what, State::Note, text);
    }
    let behind = standby.behind.map_or_else(|| "an unknown distance".to_owned(), bytes);
    let lag = standby.lag.map_or_else(String::new, |lag| format!(" and {lag:.1} s"));
    let is_late =
        standby.lag.is_some_and(|lag| lag > MAX_LAG) || standby.behind.is_none_or(|behind| behind > MAX_BEHIND);
    let text = format!("{}, {behind}{lag} behind", standby.sync_state);
    match is_late {
        true => {
            diagnostic(what, State::Note, format!("{text}: it would serve old tapes after a failover; look at its log"))
        }
        false => diagnostic(what, State::Well, text),
    }
}

fn clock(facts: &Facts) -> Diagnostic {
    let (what, ahead) = ("database clock", facts.clock_ahead);
    // The clock may have been read at any time of the round trip.
    let uncertain = facts.round_trip.as_secs_f64() / 2.0;
    if ahead.abs() <= MAX_SKEW + uncertain {
        return diagnostic(what, State::Well, format!("differs by {:.3} s from this machine's", ahead.abs()));
    }
    let direction = if ahead > 0.0 { "ahead of" } else { "behind" };
    let text = format!(
        "is {:.1} s {direction} this machine's: dates of entries and of leases disagree; run NTP on both",
        ahead.abs()
    );
    diagnostic(what, State::Note, text)
}

fn connections(facts: &Facts) -> Diagnostic {
    let what = "database connections";
    let (max, used, pool) = (facts.max_connections, facts.connections, facts.pool);
    let processes = usize::try_from(max).unwrap_or(usize::MAX) / pool.max(1);
    let text = format!("{used} of {max} in use; a process takes up to {pool}, so there is room for {processes}");
    let is_scarce = used.saturating_add(u32::try_from(pool).unwrap_or(u32::MAX)) > max;
    match is_scarce || processes < 2 {
        true => diagnostic(what, State::Note, format!("{text}: raise `max_connections`, or put PgBouncer in front")),
        false => diagnostic(what, State::Well, text),
    }
}

fn disk(facts: &Facts) -> Diagnostic {
    let (what, size) = ("database disk", bytes(facts.size));
    match facts.free {
        None => {
            let text = format!("the database has {size}; free space is not visible from here: watch it at the server");
            diagnostic(what, State::Well, text)
        }
        Some(free) if free < LOW_DISK => {
            let text = format!(
                "the database has {size}, and {} are free: make room, since a full disk ends all writes",
                bytes(free)
            );
            diagnostic(what, State::Note, text)
        }
        Some(free) => diagnostic(what, State::Well, format!("the database has {size}, and {} are free", bytes(free))),
    }
}
