//! Standbys of a server, for tests of failovers.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::Postgres;

/// The name of a standby in `pg_stat_replication` and `synchronous_standby_names`.
pub const STANDBY: &str = "other";

/// The port of a standby, in the directory of its primary's socket.
const PORT: &str = "5433";

/// A standby that streams from a server. It ends when this is dropped, which has to be before its primary.
pub struct Standby {
    server: Child,
    /// The address of the database `postgres`, for `psql` of the primary.
    address: String,
}

impl Standby {
    /// Copies a server and follows it. Returns when the standby has replayed what the server had written.
    pub fn start(primary: &Postgres) -> Self {
        let data = primary.dir().join("standby");
        let from = format!("host={} port=5432 user=bub application_name={STANDBY}", primary.dir().display());
        let mut copy = primary.program("pg_basebackup");
        let copied = copy.args(["-R", "-N", "-c", "fast", "-d", &from, "-D"]).arg(&data).output();
        let copied = copied.expect("pg_basebackup starts");
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        let log = File::create(primary.dir().join("standby.log")).expect("the log can be made");
        let mut server = primary.program("postgres");
        server.arg("-D").arg(&data).arg("-k").arg(primary.dir());
        let port = format!("port={PORT}");
        for setting in [&port, "listen_addresses=", "max_connections=400", "fsync=off"] {
            server.args(["-c", setting]);
        }
        let errors = log.try_clone().expect("it is open");
        // A process group of its own: a signal for the test's one is not meant for it.
        let server = server.stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0).spawn();
        let address = primary.address("postgres").replace("port=5432", &port);
        let standby = Self { server: server.expect("the standby starts"), address };
        let written = primary.sql("postgres", "SELECT pg_current_wal_flush_lsn()");
        let has_followed =
            format!("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND replay_lsn >= '{written}'");
        wait("the standby follows", || primary.sql("postgres", &has_followed) == "1");
        standby
    }

    /// The address of a database of the primary, at whichever of the two servers takes writes.
    pub fn either(address: &str) -> String {
        let (name, of) = address.trim_start_matches("postgres:///").split_once('?').expect("it has parameters");
        let dir = of.split('&').find_map(|pair| pair.strip_prefix("host=")).expect("it names a socket");
        // The driver does not know several hosts as a parameter.
        let host = dir.replace('/', "%2F");
        format!("postgres://bub@{host}:5432,{host}:{PORT}/{name}?target_session_attrs=read-write")
    }

    /// The address of a database of the primary, at the standby.
    pub fn address(&self, address: &str) -> String {
        address.replace("port=5432", &format!("port={PORT}"))
    }

    /// From now on each commit of the primary waits for the standby.
    pub fn make_synchronous(&self, primary: &Postgres) {
        primary.sql("postgres", &format!("ALTER SYSTEM SET synchronous_standby_names = '{STANDBY}'"));
        primary.sql("postgres", "SELECT pg_reload_conf()");
        wait("the standby is synchronous", || {
            primary.sql("postgres", "SELECT sync_state FROM pg_stat_replication") == "sync"
        });
    }

    /// From now on the standby gets nothing more, as if the network between the two were cut.
    pub fn cut_off(&self, primary: &Postgres) {
        primary.sql(&self.address, "ALTER SYSTEM SET primary_conninfo = ''");
        primary.sql(&self.address, "SELECT pg_reload_conf()");
        wait("the standby is cut off", || primary.sql("postgres", "SELECT count(*) FROM pg_stat_replication") == "0");
    }

    /// Makes the standby take writes. `primary` runs no more, and has the programs.
    pub fn promote(&self, primary: &Postgres) {
        assert_eq!(primary.sql(&self.address, "SELECT pg_promote(true, 60)"), "t", "the standby is promoted");
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        // Its own processes end when it does.
        let _ = Command::new("kill").args(["-QUIT", &self.server.id().to_string()]).status();
        let _ = self.server.wait();
    }
}

#[track_caller]
fn wait(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("not within 30 seconds: {what}");
}
