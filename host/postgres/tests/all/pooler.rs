//! PgBouncer between the program and PostgreSQL.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bub_postgres::{Database, PostgresStore, Settings};
use bub_store_tests::{NAME, contents, message};
use bub_tape::Store;
use bub_test_support::postgres::Postgres;
use tempfile::TempDir;

use super::refusal;

/// A pooler before the server that all tests share. Ends when this is dropped.
pub(super) struct Pooler {
    dir: TempDir,
    process: Child,
    /// Whether prepared statements work with a connection a transaction.
    pub(super) keeps_statements: bool,
}

impl Pooler {
    /// `None`: it is not installed.
    pub(super) fn start(settings: &str) -> Option<Self> {
        let server = Postgres::shared()?;
        let Ok(version) = Command::new("pgbouncer").arg("--version").output() else {
            eprintln!("skipped: PgBouncer is not installed (the package `pgbouncer`)");
            return None;
        };
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        let minor = version.trim_start_matches("PgBouncer 1.").split('.').next().and_then(|minor| minor.parse().ok());
        let dir = tempfile::tempdir().unwrap();
        let (at, of) = (dir.path().display(), server.dir().display());
        fs::write(dir.path().join("users"), "\"bub\" \"\"\n").unwrap();
        let config = format!(
            "[databases]\n* = host={of}\n[pgbouncer]\nunix_socket_dir = {at}\nlisten_addr =\nlisten_port = 5432\n\
             auth_type = trust\nauth_file = {at}/users\nlogfile = {at}/log\n{settings}\n"
        );
        fs::write(dir.path().join("ini"), config).unwrap();
        let mut command = Command::new("pgbouncer");
        command.arg(dir.path().join("ini")).stdout(Stdio::null()).stderr(Stdio::null());
        // It refuses root, as PostgreSQL does.
        if let Some((user, group)) = server.user() {
            for path in [dir.path().to_owned(), dir.path().join("users"), dir.path().join("ini")] {
                std::os::unix::fs::chown(path, Some(user), Some(group)).unwrap();
            }
            command.uid(user).gid(group);
        }
        let process = command.spawn().unwrap();
        let pooler = Self { dir, process, keeps_statements: minor.is_some_and(|minor: u32| minor >= 21) };
        while !pooler.socket().exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(pooler)
    }

    fn socket(&self) -> std::path::PathBuf {
        self.dir.path().join(".s.PGSQL.5432")
    }

    /// The address of that database by way of the pooler.
    pub(super) fn address(&self, address: &str) -> String {
        let name = address.split(['/', '?']).nth(3).unwrap();
        let dir: &Path = self.dir.path();
        format!("postgres:///{name}?host={}&user=bub", dir.display())
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_by_session_serves_the_program() {
    let Some(pooler) = Pooler::start("pool_mode = session\nignore_startup_parameters = options") else { return };
    let address = pooler.address(&Postgres::shared().unwrap().database());
    write_from_many(&address).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_by_transaction_serves_the_program_if_it_keeps_prepared_statements_and_is_named_otherwise() {
    let settings = "pool_mode = transaction\nignore_startup_parameters = options\ndefault_pool_size = 2";
    let Some(mut pooler) = Pooler::start(settings) else { return };
    let address = pooler.address(&Postgres::shared().unwrap().database());
    if pooler.keeps_statements {
        let settings = settings.to_owned() + "\nmax_prepared_statements = 200";
        pooler = Pooler::start(&settings).unwrap();
        let address = pooler.address(&Postgres::shared().unwrap().database());
        write_from_many(&address).await.unwrap();
    } else {
        let refused = write_from_many(&address).await.unwrap_err();
        assert!(refused.contains("the pooler in front of the database loses prepared statements: "), "{refused}");
        assert_eq!(refused.lines().count(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_refuses_options_is_named_and_one_that_drops_the_isolation_too() {
    let Some(pooler) = Pooler::start("pool_mode = session") else { return };
    let server = Postgres::shared().unwrap();
    let direct = server.database();
    let refused = refusal(&pooler.address(&direct)).await;
    assert!(refused.ends_with("give PgBouncer `ignore_startup_parameters = options`"), "{refused}");
    let pooler = Pooler::start("pool_mode = session\nignore_startup_parameters = options").unwrap();
    let name = direct.split(['/', '?']).nth(3).unwrap();
    server.sql("postgres", &format!("ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'"));
    let refused = refusal(&pooler.address(&direct)).await;
    assert!(
        refused.contains("`ALTER ROLE` its user `SET default_transaction_isolation = 'read committed'`"),
        "{refused}"
    );
}

/// Six writers with connections of their own append to one tape.
async fn write_from_many(address: &str) -> Result<(), String> {
    let writers: Vec<_> = (0..6)
        .map(|writer| {
            let address = address.to_owned();
            tokio::spawn(async move {
                let database = Database::connect(Settings::parse(&address).unwrap()).await?;
                let store = PostgresStore::new(database);
                for count in 0..10 {
                    store.append(NAME, vec![message("user", &format!("{writer}.{count}"))], None).await?;
                    store.reset(&format!("aaaa__{writer}"), true).await?;
                    store.tail(NAME, None, 3).await?;
                }
                store.read(NAME, 0, 100).await
            })
        })
        .collect();
    let mut longest = Vec::new();
    for writer in writers {
        let read = writer.await.unwrap().map_err(|error| error.to_string())?;
        longest = if read.len() > longest.len() { read } else { longest };
    }
    assert_eq!(contents(&longest).len(), 60);
    Ok(())
}
