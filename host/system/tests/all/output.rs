//! The output of programs, and how it is read.

use super::{LONG, environment, program, start, until};
use bub_system::process::{Processes, Program, RING_BYTES};

#[tokio::test]
async fn both_outputs_come_in_the_order_of_their_writing() {
    let processes = Processes::new();
    let child = start(&processes, "for i in 1 2 3; do echo out $i; echo err $i >&2; done; exit 7");
    let done = child.wait(LONG).await;
    assert_eq!(done.output, "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
    assert_eq!((done.exit_code, done.next_offset, done.gone), (Some(7), 36, 0));
}

#[tokio::test]
async fn output_of_a_program_that_a_shell_left_running_still_comes() {
    let processes = Processes::new();
    let child = start(&processes, "(sleep 0.5; echo late) & echo hi");
    assert_eq!(child.wait(LONG).await.output, "hi\n");
    until(|| child.read(3, 100).output == "late\n").await;
}

#[tokio::test]
async fn a_character_is_whole_wherever_a_reading_ends() {
    let processes = Processes::new();
    let text = "aé€𝄞".repeat(50);
    let child = start(&processes, &format!("printf %s '{text}'"));
    child.wait(LONG).await;
    for max in [0, 1, 2, 3, 4, 5, 7, 64] {
        let mut read = String::new();
        let mut offset = 0;
        loop {
            let piece = child.read(offset, max);
            if piece.output.is_empty() {
                break;
            }
            assert!(piece.next_offset > offset && piece.next_offset - offset <= u64::from(max.max(4)));
            offset = piece.next_offset;
            read.push_str(&piece.output);
        }
        assert_eq!(read, text, "by {max}");
    }
    // `é` has the offsets 1 and 2: asked from its middle, it comes whole.
    assert!(child.read(2, 100).output.starts_with('é'));
}

#[tokio::test]
async fn a_character_written_in_two_parts_is_read_once_and_whole() {
    let processes = Processes::new();
    let child = start(&processes, r"printf 'a\xe2\x82'; sleep 1; printf '\xac'; sleep 100");
    until(|| child.read(0, 100).next_offset > 0).await;
    let first = child.read(0, 100);
    assert_eq!((first.output.as_str(), first.next_offset), ("a", 1));
    until(|| !child.read(1, 100).output.is_empty()).await;
    assert_eq!(child.read(1, 100).output, "€");
    child.kill().await.expect("it ends");
}

#[tokio::test]
async fn invalid_utf8_is_replaced_at_the_end_and_before() {
    let done = start(&Processes::new(), r"printf 'a\xffb\xe2\x82'").wait(LONG).await;
    assert_eq!((done.output.as_str(), done.next_offset), ("a\u{fffd}b\u{fffd}", 5));
}

#[tokio::test]
async fn of_much_output_the_end_is_kept_and_the_rest_is_named() {
    let processes = Processes::new();
    // 3 bytes a line, so that the ring's beginning falls into a character.
    let child = start(&processes, "yes é | head -n 1000000; echo end");
    let done = child.wait(LONG).await;
    assert_eq!((done.exit_code, done.next_offset), (Some(0), 3_000_004));
    assert!(done.gone > 0 && done.gone + done.output.len() as u64 == done.next_offset, "{} gone", done.gone);
    assert!(done.output.len() <= RING_BYTES && done.output.len() > RING_BYTES - 4);
    assert!(done.output.ends_with("é\nend\n") && !done.output.contains('\u{fffd}'));

    let (gone, part) = (done.gone, child.read(done.gone - 10, 6));
    assert_eq!((part.gone, part.next_offset), (10, gone + part.output.len() as u64));
    assert_eq!(child.read(u64::MAX, 10).next_offset, 3_000_004);
    assert!(done.text().starts_with(&format!("[{gone} earlier bytes of output are gone]\n")));
}

#[tokio::test]
async fn a_program_does_not_wait_for_readers() {
    let processes = Processes::new();
    let done = start(&processes, "head -c 20000000 /dev/zero >&2; echo written").wait(LONG).await;
    assert_eq!(done.exit_code, Some(0));
    assert!(done.output.ends_with("written\n"));
}

#[tokio::test]
async fn a_program_that_ended_is_kept_until_it_is_read_to_its_end() {
    let processes = Processes::new();
    let child = start(&processes, "echo hello");
    let id = child.id().to_owned();
    child.keep();
    drop(child);
    until(|| processes.find("s", &id).expect("it is kept").read(0, 4).exit_code.is_some()).await;
    let found = processes.find("s", &id).expect("it was not read to its end");
    assert_eq!(found.read(4, 100).output, "o\n");
    until(|| processes.find("s", &id).is_err()).await;
    assert_eq!(found.read(0, 100).output, "hello\n", "a handle that is held still reads");
}

#[tokio::test]
async fn too_many_ended_programs_cost_the_session_that_has_most_its_oldest() {
    let processes = Processes::new();
    let environment = environment();
    let mut ids = Vec::new();
    for number in 0..70 {
        let session = if number == 0 { "quiet" } else { "loud" };
        let child = processes.spawn(&Program { session, ..program("echo unread", &environment) }).expect("it starts");
        until(|| processes.find(session, child.id()).expect("it is kept").read(0, 0).exit_code.is_some()).await;
        ids.push((session, child.id().to_owned()));
    }
    until(|| processes.find("loud", &ids[5].1).is_err()).await;
    let kept: Vec<usize> = (0..70).filter(|number| processes.find(ids[*number].0, &ids[*number].1).is_ok()).collect();
    assert_eq!(kept, [vec![0], (7..70).collect()].concat());
}
