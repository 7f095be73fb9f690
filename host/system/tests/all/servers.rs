//! Servers that are kept by name: their lines, their ends, and the text that calls leave for each other.

use super::{LONG, environment};
use bub_system::process::{Error, Processes, Server, ServerProgram, ServerSpec, Servers};
use std::path::Path;
use std::time::{Duration, Instant};

/// Opens the shell script as a server of that name.
async fn open(servers: &Servers, processes: &Processes, name: &str, script: &str) -> Result<Server, Error> {
    let environment = environment();
    let arguments = ["-c".to_owned(), script.to_owned()];
    let program =
        ServerProgram { command: "sh", arguments: &arguments, directory: Path::new("/"), environment: &environment };
    servers.open(processes, &ServerSpec { name, version: script, program: Some(program) }).await
}

#[tokio::test]
async fn each_handle_reads_every_line_that_is_written_after_it_was_opened() {
    let (servers, processes) = (Servers::default(), Processes::new());
    let mut first = open(&servers, &processes, "cat", "cat").await.expect("it starts");
    first.write_line("one", LONG).await.expect("it reads");
    assert_eq!(first.read_line(LONG).await.expect("it writes").as_deref(), Some("one"));
    let mut second = open(&servers, &processes, "cat", "cat").await.expect("it runs");
    second.write_line("two", LONG).await.expect("it reads");
    for handle in [&mut first, &mut second] {
        assert_eq!(handle.read_line(LONG).await.expect("it writes").as_deref(), Some("two"));
    }
    assert_eq!(second.read_line(Duration::from_millis(20)).await.expect("nothing is wrong"), None);
    assert!(second.write_line("a\nb", LONG).await.is_err(), "one line at a time");
    processes.end_all().await;
}

#[tokio::test]
async fn two_that_read_at_once_both_get_the_line() {
    let (servers, processes) = (Servers::default(), Processes::new());
    let mut first = open(&servers, &processes, "cat", "cat").await.expect("it starts");
    let mut second = open(&servers, &processes, "cat", "cat").await.expect("it runs");
    let mut third = open(&servers, &processes, "cat", "cat").await.expect("it runs");
    let write = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        third.write_line("hello", LONG).await
    };
    // One that gives up leaves the line to the others.
    let cut = async { first.read_line(Duration::from_millis(10)).await };
    let (cut, read, written) = tokio::join!(cut, second.read_line(LONG), write);
    assert!(written.is_ok() && cut.expect("nothing is wrong").is_none());
    assert_eq!(read.expect("it writes").as_deref(), Some("hello"));
    assert_eq!(first.read_line(LONG).await.expect("it writes").as_deref(), Some("hello"));
    processes.end_all().await;
}

#[tokio::test]
async fn a_program_that_nobody_reads_is_stopped_by_its_pipe_and_a_line_without_end_ends_it() {
    let (servers, processes) = (Servers::default(), Processes::new());
    let mut loud = open(&servers, &processes, "loud", "while :; do echo x; done").await.expect("it starts");
    for _ in 0..100_000 {
        assert_eq!(loud.read_line(LONG).await.expect("it writes").as_deref(), Some("x"));
    }
    let mut endless = open(&servers, &processes, "endless", "tr '\\0' x < /dev/zero").await.expect("it starts");
    let error = endless.read_line(LONG).await.expect_err("the line never ends");
    assert!(matches!(&error, Error::Flooded(why) if why.contains("more than 4 MiB")), "{error}");
    processes.end_all().await;
}

#[tokio::test]
async fn a_handle_that_falls_behind_is_told_how_many_lines_it_has_lost() {
    let (servers, processes) = (Servers::default(), Processes::new());
    let script = "head -c 20000000 /dev/zero | tr '\\0' '\\n'; cat";
    let mut quick = open(&servers, &processes, "flood", script).await.expect("it starts");
    let mut slow = open(&servers, &processes, "flood", script).await.expect("it runs");
    for _ in 0..20_000 {
        quick.read_line(LONG).await.expect("it writes");
    }
    let error = slow.read_line(LONG).await.expect_err("lines are gone");
    assert!(matches!(&error, Error::Flooded(why) if why.contains("lines are lost")), "{error}");
    assert!(slow.read_line(LONG).await.expect("the next one is there").is_some());
    processes.end_all().await;
}

#[tokio::test]
async fn one_call_prepares_a_server_while_others_wait() {
    let (servers, processes) = (Servers::default(), Processes::new());
    let mut first = open(&servers, &processes, "cat", "cat").await.expect("it starts");
    let mut second = open(&servers, &processes, "cat", "cat").await.expect("it runs");
    assert_eq!(first.prepare(LONG).await.expect("it is the first"), None);
    let late = second.prepare(Duration::from_millis(20)).await.expect_err("it has to wait");
    assert!(matches!(late, Error::Busy(_)), "{late}");
    drop(first);
    assert_eq!(second.prepare(LONG).await.expect("the first one gave up"), None);
    second.set_prepared("ready").expect("it is short");
    let mut third = open(&servers, &processes, "cat", "cat").await.expect("it runs");
    assert_eq!(third.prepare(LONG).await.expect("it is prepared").as_deref(), Some("ready"));
    assert!(third.set_prepared(&"x".repeat(300 << 10)).is_err(), "too long");
    third.reset();
    let mut anew = open(&servers, &processes, "cat", "cat").await.expect("it starts again");
    assert_eq!(anew.prepare(LONG).await.expect("it is another one"), None);
    processes.end_all().await;
}

#[tokio::test]
async fn an_end_is_told_with_the_code_and_the_last_words_and_pauses_grow() {
    let (servers, processes) = (Servers::default(), Processes::new());
    let begun = Instant::now();
    for _ in 0..3 {
        let mut server = open(&servers, &processes, "ends", "echo why >&2; exit 4").await.expect("it starts");
        let error = server.read_line(LONG).await.expect_err("it ends");
        assert_eq!(error.to_string(), "the server `ends` ended with code 4; it wrote: why");
    }
    assert!(begun.elapsed() >= Duration::from_millis(1_500), "half a second and one");
    // Two seconds are waited for, and four are not.
    drop(open(&servers, &processes, "ends", "echo why >&2; exit 4").await.expect("it starts"));
    tokio::time::sleep(Duration::from_millis(300)).await;
    let busy = open(&servers, &processes, "ends", "echo why >&2; exit 4").await.expect_err("not yet");
    assert!(matches!(&busy, Error::Busy(why) if why.contains("has ended 4 times")), "{busy}");
    // Another program under the name has a history of its own.
    drop(open(&servers, &processes, "ends", "cat").await.expect("it starts"));
    let missing = ServerProgram {
        command: "no-such-program-of-the-test",
        arguments: &[],
        directory: Path::new("/"),
        environment: &environment(),
    };
    let spec = ServerSpec { name: "missing", version: "", program: Some(missing) };
    let error = servers.open(&processes, &spec).await.expect_err("there is none");
    assert!(matches!(&error, Error::NotFound(why) if why.contains("no-such-program-of-the-test")), "{error}");
    processes.end_all().await;
}

#[tokio::test]
async fn a_server_that_is_configured_no_more_ends_and_an_address_only_keeps_its_text() {
    let (servers, processes) = (Servers::default(), Processes::new());
    let mut program = open(&servers, &processes, "cat", "cat").await.expect("it starts");
    let spec = ServerSpec { name: "address", version: "1", program: None };
    let mut address = servers.open(&processes, &spec).await.expect("it needs no start");
    assert_eq!(address.prepare(LONG).await.expect("it is the first"), None);
    address.set_prepared("session").expect("it is short");
    assert!(address.read_line(LONG).await.is_err() && address.write_line("a", LONG).await.is_err());
    servers.retain(|name| name == "address");
    let error = program.read_line(LONG).await.expect_err("it ends");
    assert!(matches!(error, Error::Ended(_)), "{error}");
    let mut again = servers.open(&processes, &spec).await.expect("it is still there");
    assert_eq!(again.prepare(LONG).await.expect("it is prepared").as_deref(), Some("session"));
    let other = ServerSpec { version: "2", ..spec };
    let mut other = servers.open(&processes, &other).await.expect("it is another one");
    assert_eq!(other.prepare(LONG).await.expect("it is another one"), None);
    processes.end_all().await;
}
