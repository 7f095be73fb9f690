//! `bash`, `bash.output` and `bash.kill`.

use super::{call, error, in_turn, together, with};
use serde_json::{Value, json};
use std::fs;

/// The command lines of all processes that hold this word.
fn running(word: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("there are processes").flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).filter(|line| line.contains(word)).collect()
}

#[test]
fn commands_answer_as_recorded() {
    let home = with("shell", &["process"]);
    let bash = |cmd: &str| ("bash", json!({ "cmd": cmd }));
    let commands = [
        "echo hello world",
        "false",
        "ls /nonexistent",
        "  pwd",
        "echo x; echo y >&2",
        "echo out; exit 3",
        "kill -9 $$",
    ];
    let results = together(&home, &commands.map(bash));
    assert_eq!(results[0], "hello world");
    assert_eq!(error(&results[1]), ("tool", "command exited with code 1\noutput:\n(no output)"));
    let (_, message) = error(&results[2]);
    assert!(
        message.starts_with("command exited with code 2\noutput:\nls: cannot access '/nonexistent': "),
        "{message}"
    );
    assert_eq!(results[3], home.workspace().display().to_string());
    assert_eq!(results[4], "x\ny");
    assert_eq!(error(&results[5]), ("tool", "command exited with code 3\noutput:\nout"));
    assert_eq!(error(&results[6]), ("tool", "command exited with code -9\noutput:\n(no output)"));
}

#[test]
fn a_command_starts_in_the_given_directory() {
    let home = with("shell", &["process"]);
    fs::create_dir(home.workspace().join("d")).expect("it can be made");
    let pwd = |cwd: Value| ("bash", json!({ "cmd": "pwd", "cwd": cwd }));
    let results = together(&home, &[pwd(json!("d")), pwd(json!("/")), pwd(json!(null)), pwd(json!("missing"))]);
    assert_eq!(results[0], home.workspace().join("d").display().to_string());
    assert_eq!((&results[1], &results[2]), (&json!("/"), &json!(home.workspace().display().to_string())));
    assert_eq!(error(&results[3]).0, "not_found");
}

/// Looked for by another command of the same turn: with the turn everything ends anyway.
#[test]
fn a_deadline_ends_the_pipeline_and_leaves_no_process() {
    let home = with("shell", &["process"]);
    let results = in_turn(
        &home,
        vec![
            call("bash", json!({ "cmd": "sleep 61.0417 | cat", "timeout_seconds": 1 })),
            call("bash", json!({ "cmd": "echo begun; sleep 61.0418 & sleep 61.0419", "timeout_seconds": 1 })),
            call("bash", json!({ "cmd": "grep -las '61[.]041' /proc/[0-9]*/cmdline; true" })),
        ],
    );
    assert_eq!(results[0], "command timed out after 1 seconds and was terminated");
    assert_eq!(results[1], "command timed out after 1 seconds and was terminated\noutput:\nbegun");
    assert_eq!(results[2], "(no output)");
}

#[test]
fn a_background_process_is_not_waited_for_and_ends_with_the_turn() {
    let home = with("shell", &["process"]);
    let results = together(&home, &[("bash", json!({ "cmd": "sleep 61.0427 & echo hi", "timeout_seconds": 50 }))]);
    assert_eq!(results[0], "hi");
    assert_eq!(running("61.0427"), Vec::<String>::new());
}

/// Shorter than what is spilled, and longer than what is read at once.
#[test]
fn characters_are_whole_wherever_the_output_is_cut() {
    let home = with("shell", &["process"]);
    let cmd = "printf a; yes äöü€𝄞 | head -n 3200 | tr -d '\\n'";
    let results = together(&home, &[("bash", json!({ "cmd": cmd }))]);
    assert_eq!(results[0].as_str(), Some(format!("a{}", "äöü€𝄞".repeat(3200)).as_str()));
}

#[test]
fn discarded_output_is_reported() {
    let home = with("shell", &["process"]);
    let cmd = "yes 12345678 | head -c 5000000; echo; echo last";
    let results = together(&home, &[("bash", json!({ "cmd": cmd }))]);
    let text = results[0].as_str().expect("it is text");
    // It may be spilled: then the model reads its beginning and its end.
    assert!(text.len() < 1_100_000 && text.ends_with("\nlast"), "{} bytes", text.len());
    let gone = text.lines().find(|line| line.ends_with("earlier bytes of output are gone]"));
    assert!(gone.is_some_and(|line| line.starts_with("[39")), "{gone:?}");
}

/// The most memory that a turn takes whose model calls `bash` with that command, and how much it leaves beside the tape.
fn peak(cmd: &str) -> (u64, u64) {
    let home = with("shell", &["process"]);
    let finished = home.run([format!("TOOL:bash {}", json!({ "cmd": cmd })).as_str()]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(finished.peak > 0, "it was not looked at");
    let files = fs::read_dir(home.tapes_dir()).expect("there are tapes").flatten();
    let files = files.filter(|file| file.file_name().to_string_lossy().contains("__spill"));
    (finished.peak, files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum())
}

/// Text, characters that JSON escapes in six bytes, and bytes that are not text.
#[test]
fn fifty_megabytes_of_output_take_no_more_memory_than_the_kept_part() {
    // The first one may have to compile the guests.
    peak("echo hi");
    let (little, nothing) = peak("echo hi");
    assert_eq!(nothing, 0);
    for (cmd, kept) in [
        ("head -c 50000000 /dev/zero | tr '\\0' x", 1 << 20),
        ("head -c 50000000 /dev/zero", 6 << 20),
        ("head -c 50000000 /dev/zero | tr '\\0' '\\377'", 3 << 20),
    ] {
        let (much, spilled) = peak(cmd);
        assert!(spilled >= kept, "{cmd}: {spilled} bytes are kept");
        let room = spilled + (20 << 20);
        assert!(much < little + room, "{cmd}: {} MiB, and {} MiB without it", much >> 20, little >> 20);
    }
}

#[test]
fn the_model_key_is_not_in_the_environment() {
    let home = with("shell", &["process"]);
    let results = together(&home, &[("bash", json!({ "cmd": "env" }))]);
    let text = results[0].as_str().expect("it is text");
    assert!(text.contains("PATH=") && !text.contains("sk-fake") && !text.contains("BUB_"), "{text}");
}

/// The id in what `bash` answered when it left a command running.
fn started(results: &[Value]) -> String {
    let answer = results[0].as_str().unwrap_or_default();
    answer.strip_prefix("started: ").unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[test]
fn a_command_in_the_background_is_read_in_parts_and_ended() {
    let home = with("shell", &["process"]);
    let results = in_turn(
        &home,
        vec![
            call("bash", json!({ "cmd": "echo one; echo two; sleep 61.0437", "background": true })),
            // So that both lines have come.
            call("bash", json!({ "cmd": "sleep 1" })),
            Box::new(|done| ("bash_output".into(), json!({ "shell_id": started(done), "limit": 4 }))),
            Box::new(|done| ("bash_output".into(), json!({ "shell_id": started(done), "offset": 4 }))),
            Box::new(|done| ("bash_kill".into(), json!({ "shell_id": started(done) }))),
            Box::new(|done| ("bash_output".into(), json!({ "shell_id": started(done) }))),
            Box::new(|done| ("bash_output".into(), json!({ "shell_id": started(done) }))),
            Box::new(|done| ("bash_kill".into(), json!({ "shell_id": started(done) }))),
        ],
    );
    let id = started(&results);
    assert_eq!((id.len(), id.starts_with("bash-")), (13, true), "{id}");
    assert_eq!(results[2], format!("id: {id}\nstatus: running\nnext_offset: 4\noutput:\none"));
    assert_eq!(results[3], format!("id: {id}\nstatus: running\nnext_offset: 8\noutput:\ntwo"));
    assert_eq!(results[4], format!("id: {id}\nstatus: exited with code -15\nwas terminated"));
    assert_eq!(results[5], format!("id: {id}\nstatus: exited with code -15\nnext_offset: 8\noutput:\none\ntwo"));
    for forgotten in &results[6..] {
        let (kind, message) = error(forgotten);
        assert!(kind == "not_found" && message.contains(&id) && message.contains("read to the end"), "{message}");
    }
    assert_eq!(running("61.0437"), Vec::<String>::new());
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let home = with("shell", &["process"]);
    let results = together(
        &home,
        &[
            ("bash", json!({ "cmd": " " })),
            ("bash", json!({ "cmd": "echo", "timeout_seconds": 0 })),
            ("bash", json!({ "cmd": "echo", "timeout_seconds": -1 })),
            ("bash", json!({ "cmd": "echo", "timeout_seconds": 99999999 })),
            ("bash", json!({ "command": "echo" })),
            ("bash", json!({ "cmd": "echo \u{0} x" })),
            ("bash_output", json!({})),
        ],
    );
    for (result, named) in results.iter().zip(["cmd", "between", "-1", "between", "cmd", "", "shell_id"]) {
        let (kind, message) = error(result);
        assert!(kind == "invalid_input" && message.contains(named), "{message}");
    }
    let unknown = together(&home, &[("bash_output", json!({ "shell_id": "bash-zz" }))]);
    assert_eq!(error(&unknown[0]).0, "not_found");
}
