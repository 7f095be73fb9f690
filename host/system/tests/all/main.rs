//! Programs on behalf of plugins: their environment, their output, and that all of them end.

mod draft;
mod output;
mod servers;

use bub_system::process::{Child, Environment, Error, MAX_RUNNING, MAX_RUNNING_OF_SESSION, Output, Processes, Program};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_program_has_nothing_to_read_and_starts_in_its_directory() {
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path().canonicalize().expect("it is there");
    let processes = Processes::new();
    let environment = environment();
    let program = Program { directory: &directory, ..program("pwd; cat; echo read $?", &environment) };
    let done = processes.spawn(&program).expect("it starts").wait(LONG).await;
    assert_eq!(done.output, format!("{}\nread 0\n", directory.display()));
}

#[tokio::test]
async fn a_shell_that_a_signal_ended_has_its_number_below_zero() {
    let done = start(&Processes::new(), "kill -9 $$").wait(LONG).await;
    assert_eq!(done.exit_code, Some(-9));
}

#[tokio::test]
async fn a_deadline_ends_a_pipeline_with_all_its_members() {
    let processes = Processes::new();
    let child = start(&processes, "echo $$; sleep 100 | cat");
    let group = leader(&child).await;
    let late = child.wait(Duration::from_millis(300)).await;
    assert_eq!(late.exit_code, None);
    assert_eq!(members(group), 3, "the shell, sleep and cat");

    let begun = Instant::now();
    child.kill().await.expect("it ends");
    assert!(begun.elapsed() < Duration::from_secs(2), "it took {:?}", begun.elapsed());
    assert_eq!(members(group), 0);
    assert_eq!(child.read(0, 0).exit_code, Some(-15));
    child.kill().await.expect("an ended process can be ended again");
}

#[tokio::test]
async fn a_background_process_of_a_shell_is_not_waited_for_and_ends_by_kill() {
    let processes = Processes::new();
    let child = start(&processes, "echo $$; sleep 100 & echo hi");
    let begun = Instant::now();
    let done = child.wait(LONG).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
    assert_eq!(done.exit_code, Some(0));
    assert!(done.output.ends_with("\nhi\n"), "{done:?}");

    let group = leader(&child).await;
    assert_eq!(members(group), 1, "sleep");
    child.kill().await.expect("it ends");
    assert_eq!(members(group), 0);
}

#[tokio::test]
async fn a_process_that_left_the_group_with_the_pipe_does_not_delay_the_end() {
    let processes = Processes::new();
    let child = start(&processes, "setsid sleep 3 & echo hi");
    let begun = Instant::now();
    let done = child.wait(LONG).await;
    assert!(begun.elapsed() < Duration::from_secs(2), "it took {:?}", begun.elapsed());
    assert_eq!((done.exit_code, done.output.as_str()), (Some(0), "hi\n"));
    child.kill().await.expect("no process is left");
    assert!(begun.elapsed() < Duration::from_secs(2), "it took {:?}", begun.elapsed());
}

#[tokio::test]
async fn a_program_that_ignores_sigterm_is_killed_even_if_the_caller_is_cancelled() {
    let processes = Processes::new();
    let child = start(&processes, "trap '' TERM; echo $$; while :; do sleep 1; done");
    let group = leader(&child).await;
    let begun = Instant::now();
    let left = tokio::time::timeout(Duration::from_millis(100), child.kill()).await;
    assert!(left.is_err(), "three seconds are given");
    let done = child.wait(LONG).await;
    assert!(begun.elapsed() >= Duration::from_secs(2), "it took {:?}", begun.elapsed());
    assert_eq!(done.exit_code, Some(-9));
    until(|| members(group) == 0).await;
}

#[tokio::test]
async fn a_stopped_program_ends_at_once() {
    let processes = Processes::new();
    let child = start(&processes, "echo $$; kill -STOP $$");
    leader(&child).await;
    let begun = Instant::now();
    child.kill().await.expect("it ends");
    assert!(begun.elapsed() < Duration::from_secs(2), "it took {:?}", begun.elapsed());
}

#[tokio::test]
async fn a_program_gets_only_variables_that_are_allowed_or_named() {
    let variables = [
        ("PATH", std::env::var("PATH").expect("there is a path")),
        ("BUB_API_KEY", "one".into()),
        ("bub_home", "two".into()),
        ("OPENAI_API_KEY", "three".into()),
        ("DATABASE_URL", "postgres://me:four@db".into()),
        ("PGPASSWORD", "five".into()),
        ("GH_PAT", "six".into()),
        ("HTTPS_PROXY", "http://me:seven@proxy".into()),
        ("HTTP_PROXY", "http://proxy:3128".into()),
        ("LC_ALL", "C".into()),
        ("XDG_CACHE_HOME", "/cache".into()),
        ("AWS_REGION", "s3cret".into()),
        ("AWS_PROFILE", "postgres://me:long-secret@db".into()),
        ("AWS_GREETING", "hello s3cret".into()),
        ("EMPTY", String::new()),
    ];
    let environment = Environment::new(variables.map(|(name, value)| (OsString::from(name), OsString::from(value))))
        .only(&["aws_*", "EMPTY"])
        .without_secrets(&["s3cret", "long-secret\n", ""]);
    let done = Processes::new().spawn(&program("env", &environment)).expect("it starts").wait(LONG).await;
    let mut names: Vec<&str> = done.output.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    // Variables that the shell itself sets.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    names.sort();
    // A short secret is looked for as a whole value only.
    assert_eq!(names, ["AWS_GREETING", "EMPTY", "HTTP_PROXY", "LC_ALL", "PATH", "XDG_CACHE_HOME"]);
    assert!(!format!("{environment:?}").contains("hello"), "values are not shown");
}

#[tokio::test]
async fn sh_runs_the_command_where_bash_is_missing() {
    let directory = tempfile::tempdir().expect("a directory");
    std::os::unix::fs::symlink("/bin/sh", directory.path().join("sh")).expect("a link");
    let path = (OsString::from("PATH"), directory.path().into());
    let processes = Processes::new();
    let environment = Environment::new([path]);
    let done = processes.spawn(&program("echo $0", &environment)).expect("it starts").wait(LONG).await;
    assert_eq!(done.output, "sh\n");

    let empty = Environment::new([("PATH".into(), "/nowhere".into())]);
    let error = processes.spawn(&program("echo", &empty)).expect_err("there is no shell");
    assert!(error.to_string().starts_with("start `bash` or `sh`: no such file"), "{error}");
}

#[tokio::test]
async fn an_invalid_program_is_rejected() {
    let processes = Processes::new();
    let environment = environment();
    let error = processes.spawn(&program("echo a\0b", &environment)).expect_err("a zero byte");
    assert!(matches!(error, Error::InvalidInput(_)), "{error}");
    let long = format!("echo {}", "a".repeat(1 << 22));
    let error = processes.spawn(&program(&long, &environment)).expect_err("too long");
    assert_eq!(error.to_string(), "a command of 4194309 bytes is too long");
    let nowhere = Program { directory: Path::new("/nowhere"), ..program("echo", &environment) };
    let error = processes.spawn(&nowhere).expect_err("no directory");
    assert!(matches!(error, Error::NotFound(_)), "{error}");
    assert_eq!(error.to_string(), "`/nowhere` is no directory");
}

#[tokio::test]
async fn a_session_finds_its_own_programs_only() {
    let processes = Processes::new();
    let child = start(&processes, "echo $$; sleep 100");
    let id = child.id().to_owned();
    assert!(id.len() == 13 && id.starts_with("bash-"), "{id}");
    assert_eq!(processes.find("s", &id).expect("its own").id(), id);
    for (session, id) in [("t", id.as_str()), ("s", "bash-0"), ("s", "")] {
        let error = processes.find(session, id).expect_err("not its own");
        assert!(matches!(error, Error::NotFound(_)), "{error}");
    }
    processes.end_all().await;
}

#[tokio::test]
async fn a_turn_ends_its_programs_unless_they_were_kept_and_a_session_ends_those_too() {
    let processes = Processes::new();
    let environment = environment();
    let start = |turn| {
        let program = Program { turn, ..program("echo $$; sleep 100 | cat", &environment) };
        processes.spawn(&program).expect("it starts")
    };
    let (mine, kept, other) = (start("one"), start("one"), start("two"));
    kept.keep();
    let groups = [leader(&mine).await, leader(&kept).await, leader(&other).await];
    until(|| groups.map(members) == [3, 3, 3]).await;

    processes.end_turn("one").await;
    assert_eq!(groups.map(members), [0, 3, 3]);
    assert!(processes.find("s", mine.id()).is_err() && processes.find("s", kept.id()).is_ok());

    processes.end_session("t").await;
    assert_eq!(groups.map(members), [0, 3, 3]);
    processes.end_session("s").await;
    assert_eq!(groups.map(members), [0, 0, 0]);
    assert!(processes.find("s", kept.id()).is_err());
}

#[tokio::test]
async fn a_turn_ends_programs_that_its_shells_left_running() {
    let processes = Processes::new();
    let child = start(&processes, "echo $$; sleep 100 >/dev/null 2>&1 &");
    let group = leader(&child).await;
    assert_eq!(child.wait(LONG).await.exit_code, Some(0));
    assert_eq!(members(group), 1);
    processes.end_turn("turn").await;
    assert_eq!(members(group), 0);
}

#[tokio::test]
async fn more_programs_than_the_limits_allow_are_refused_until_one_ends() {
    let processes = Processes::new();
    let environment = environment();
    let start = |session| processes.spawn(&Program { session, ..program("sleep 100 & wait", &environment) });
    let mut first = None;
    for session in ["a", "b", "c", "d"] {
        for _ in 0..MAX_RUNNING_OF_SESSION {
            first.get_or_insert(start(session).expect("there is room"));
        }
    }
    let error = start("a").expect_err("the session is full");
    assert_eq!(error.to_string(), "8 programs of this session run already; end one of them first");
    let error = start("e").expect_err("the host is full");
    assert!(
        matches!(&error, Error::Busy(message) if message.contains(&format!("{MAX_RUNNING} programs run"))),
        "{error}"
    );

    first.expect("it was started").kill().await.expect("it ends");
    start("e").expect("there is room again");
    processes.end_all().await;
    start("a").expect("nothing runs");
}

#[tokio::test]
async fn programs_die_with_the_processes_that_were_dropped() {
    let processes = Processes::new();
    let child = start(&processes, "echo $$; trap '' TERM; sleep 100 | cat");
    child.keep();
    let group = leader(&child).await;
    drop(processes);
    until(|| members(group) == 0).await;
    assert_eq!(child.wait(LONG).await.exit_code, Some(-9));
}

#[test]
fn programs_die_with_their_runtime() {
    let processes = Processes::new();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let group = runtime.block_on(async {
        let child = start(&processes, "echo $$; sleep 100 | cat");
        leader(&child).await
    });
    drop(runtime);
    let begun = Instant::now();
    // The shell itself may stay a zombie until this program ends: no task is left to wait for it.
    while members(group) > 1 {
        assert!(begun.elapsed() < LONG, "the group lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[tokio::test]
async fn no_zombie_stays() {
    let processes = Processes::new();
    let environment = environment();
    let mut groups = Vec::new();
    for command in ["echo $$", "echo $$; sleep 100 | cat", "echo $$; sleep 0.2 &", "echo $$; (sleep 0.2; true) | cat"] {
        let child = processes.spawn(&program(command, &environment)).expect("it starts");
        groups.push(leader(&child).await);
    }
    processes.end_all().await;
    until(|| groups.iter().all(|group| members(*group) == 0)).await;
}

fn environment() -> Environment {
    Environment::from_host(&[])
}

fn program<'a>(command: &'a str, environment: &'a Environment) -> Program<'a> {
    Program { session: "s", turn: "turn", command, directory: Path::new("/"), environment, wrapper: &[] }
}

fn start(processes: &Processes, command: &str) -> Child {
    processes.spawn(&program(command, &environment())).expect("it starts")
}

/// The id of the group of a program that says it in its first line.
async fn leader(child: &Child) -> u32 {
    let line = |output: Output| output.output.split_once('\n').map(|(line, _)| line.to_owned());
    until(|| line(child.read(0, 64)).is_some()).await;
    line(child.read(0, 64)).and_then(|line| line.parse().ok()).expect("it is a number")
}

async fn until(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "it did not happen within {LONG:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// How many processes the group has: those that are alive, and those that are zombies because of this process. An
/// orphan is reaped by the process that inherits it.
fn members(group: u32) -> usize {
    let processes = fs::read_dir("/proc").expect("it is a directory").flatten();
    let stats = processes.filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    stats.filter(|stat| is_member(stat, group).unwrap_or(false)).count()
}

/// Reads `1 (any name) S 0 7 ...`: id, name, state, parent, group.
fn is_member(stat: &str, group: u32) -> Option<bool> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let (state, parent, of) = (fields.next()?, fields.next()?, fields.next()?);
    Some(of == group.to_string() && (state != "Z" || parent == std::process::id().to_string()))
}
