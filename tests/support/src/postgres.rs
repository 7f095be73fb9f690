//! PostgreSQL servers for tests, in a scratch directory and on a socket of their own.
//!
//! PostgreSQL refuses to run as root; then the server runs as the user `postgres` of the package. Where it is not installed,
//! the tests say so and pass.

mod standby;

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

pub use standby::{STANDBY, Standby};

/// A server. It ends, and its directory is removed, when this is dropped or the test's process ends in any way.
pub struct Postgres {
    dir: PathBuf,
    programs: PathBuf,
    user: Option<(u32, u32)>,
    port: String,
    supervisor: Child,
}

/// Starts the server, and ends it when the standard input ends: when the test's process does.
const SUPERVISE: &str = r#"
"$1/postgres" -D "$2/data" -k "$2" "${@:3}" >>"$2/log" 2>&1 </dev/null &
server=$!
while read -r word; do
    case $word in
        kill)    kill -KILL $server; { wait $server; } 2>/dev/null ;;
        stop)    kill -QUIT $server; wait $server ;;
        start)   "$1/postgres" -D "$2/data" -k "$2" "${@:3}" >>"$2/log" 2>&1 </dev/null &
                 server=$! ;;
        restart) kill -QUIT $server; wait $server
                 "$1/postgres" -D "$2/data" -k "$2" "${@:3}" >>"$2/log" 2>&1 </dev/null &
                 server=$! ;;
    esac
done
kill -QUIT $server 2>/dev/null; wait $server; rm -rf "$2"
"#;

impl Postgres {
    /// The server that all tests of this process share; `None` if PostgreSQL is not installed.
    pub fn shared() -> Option<&'static Self> {
        static SERVER: OnceLock<Option<Postgres>> = OnceLock::new();
        SERVER.get_or_init(|| Self::start(&[])).as_ref()
    }

    /// A server of its own with further settings, as `-c` takes them; `None` if PostgreSQL is not installed.
    pub fn start(settings: &[&str]) -> Option<Self> {
        Self::start_in(settings, |_| {})
    }

    /// The same, where `prepare` adds files to the directory before the server starts.
    pub fn start_in(settings: &[&str], prepare: impl FnOnce(&Path)) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let Some(programs) = programs() else {
            eprintln!("skipped: PostgreSQL is not installed (the package `postgresql`)");
            return None;
        };
        let user = match is_root() {
            true => Some(user_of_package()?),
            false => None,
        };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("bub-pg-{}-{number}", std::process::id()));
        fs::create_dir(&dir).expect("the directory can be made");
        prepare(&dir);
        if let Some((user, group)) = user {
            let files = fs::read_dir(&dir).expect("it is a directory").map(|entry| entry.expect("it is listed").path());
            files.chain([dir.clone()]).for_each(|path| chown(path, Some(user), Some(group)).expect("root may do that"));
        }
        let data = dir.join("data");
        let mut initdb = command(&programs.join("initdb"), user, &dir);
        initdb.args(["-U", "bub", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"]).arg(&data);
        let made = initdb.output().expect("initdb starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut supervisor = command(Path::new("bash"), user, &dir);
        supervisor.args(["-c", SUPERVISE, "postgres"]).args([&programs, &dir]).stdin(Stdio::piped());
        for setting in ["fsync=off", "listen_addresses=", "max_connections=400"].iter().chain(settings) {
            supervisor.args(["-c", setting]);
        }
        let supervisor = supervisor.stdout(Stdio::null()).spawn().expect("the server starts");
        let port = settings.iter().find_map(|setting| setting.strip_prefix("port=")).unwrap_or("5432").to_owned();
        let server = Self { dir, programs, user, port, supervisor };
        server.wait();
        Some(server)
    }

    /// Makes a database and returns its address.
    pub fn database(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("tapes{}", COUNT.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.address(&name)
    }

    /// The address of a database, which need not exist.
    pub fn address(&self, name: &str) -> String {
        format!("postgres:///{name}?host={}&port={}&user=bub", self.dir.display(), self.port)
    }

    /// The directory of the socket and of files for the server.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The user and the group as which the server runs, if that is not those of the tests.
    pub fn user(&self) -> Option<(u32, u32)> {
        self.user
    }

    /// Runs a statement in a database, by its name or its address, and returns what `psql` prints without decoration.
    pub fn sql(&self, database: &str, statement: &str) -> String {
        let mut psql = self.psql(database);
        let ran = psql.args(["-c", statement]).output().expect("psql starts");
        assert!(ran.status.success(), "{statement}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).trim().to_owned()
    }

    /// Ends the server at once, as a crash does.
    pub fn stop(&mut self) {
        self.end("stop");
        // It refuses connections before it has ended.
        while self.dir.join("data/postmaster.pid").exists() {
            sleep(Duration::from_millis(5));
        }
    }

    /// Kills the server, as the end of its machine does. Its processes end by themselves soon after.
    pub fn kill(&mut self) {
        self.end("kill");
    }

    fn end(&mut self, word: &str) {
        self.tell(word);
        for _ in 0..600 {
            if !self.psql("postgres").args(["-c", "SELECT 1"]).output().expect("psql starts").status.success() {
                return;
            }
            sleep(Duration::from_millis(50));
        }
        panic!("PostgreSQL did not stop: {}", self.log());
    }

    /// Starts it again after [`Postgres::stop`].
    pub fn start_again(&mut self) {
        self.tell("start");
        self.wait();
    }

    /// A program of PostgreSQL's such as `pg_dump`, as the user who may run it.
    pub fn program(&self, name: &str) -> Command {
        command(&self.programs.join(name), self.user, &self.dir)
    }

    fn tell(&mut self, word: &str) {
        use std::io::Write;
        let input = self.supervisor.stdin.as_mut().expect("it is piped");
        writeln!(input, "{word}").expect("the supervisor reads");
    }

    /// Ends the server at once, as a crash does, and starts it again.
    pub fn restart(&mut self) {
        let before = self.sql("postgres", "SELECT pg_postmaster_start_time()");
        self.tell("restart");
        for _ in 0..600 {
            let ran = self.psql("postgres").args(["-c", "SELECT pg_postmaster_start_time()"]).output();
            let ran = ran.expect("psql starts");
            if ran.status.success() && String::from_utf8_lossy(&ran.stdout).trim() != before {
                return;
            }
            sleep(Duration::from_millis(50));
        }
        panic!("PostgreSQL did not start again: {}", self.log());
    }

    /// The log of the server.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    fn psql(&self, database: &str) -> Command {
        // As the user of the tests: to start a program as another one copies the tables of all memory of this process.
        let mut psql = command(&self.programs.join("psql"), None, &self.dir);
        let address = if database.contains("://") { database.to_owned() } else { self.address(database) };
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &address]);
        psql
    }

    fn wait(&self) {
        for _ in 0..600 {
            let ran = self.psql("postgres").args(["-c", "SELECT 1"]).output().expect("psql starts");
            if ran.status.success() {
                return;
            }
            sleep(Duration::from_millis(50));
        }
        panic!("PostgreSQL did not start: {}", self.log());
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }
}

/// A program of PostgreSQL's, as the user who may run it.
fn command(program: &Path, user: Option<(u32, u32)>, dir: &Path) -> Command {
    let mut command = Command::new(program);
    // Root's own directory is closed to others.
    command.current_dir(dir).env_remove("PGHOST").env_remove("PGPORT").env_remove("PGPASSWORD").env("HOME", dir);
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command
}

/// Debian's directories by version, the newest first, then those of the search path.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().filter_map(Result::ok);
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort();
    let search = std::env::var_os("PATH").unwrap_or_default();
    let dirs = versions.into_iter().rev().map(|(_, dir)| dir).chain(std::env::split_paths(&search));
    dirs.into_iter().find(|dir| ["initdb", "postgres", "psql"].iter().all(|program| dir.join(program).is_file()))
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// The ids of the user `postgres`.
fn user_of_package() -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.starts_with("postgres:"));
    let Some(line) = line else {
        eprintln!("skipped: PostgreSQL refuses root, and there is no user `postgres`");
        return None;
    };
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
