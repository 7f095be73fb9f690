//! Attachments that are rejected: one line each, before the model is called.

use super::{PNG, home_with_picture, put, say};
use bub_tests::{Answer, Server};
use std::fs;

/// The attachment, and the expected message.
#[track_caller]
fn is_refused(attached: &[&str], why: &str) {
    let home = home_with_picture();
    put(&home, "program", b"\x7fELF\x02\x01\x01\0\0\0\0\0");
    put(&home, "empty.png", b"");
    put(&home, "noise", &[0, 1, 2, 3, 0xfe, 0xff, 0, 9]);
    let mut large = PNG.to_vec();
    large.resize(20_000_000, 7);
    put(&home, "large.png", &large);
    large.push(7);
    put(&home, "larger.png", &large);
    fs::create_dir(home.workspace().join("dir")).expect("the workspace can be written");
    let server = Server::new([Answer::text("never")]);
    let finished = say(&home, &server, "look", attached).fails(&format!("error: {why}\n"));
    assert_eq!(finished.stderr.lines().count(), 1, "{finished}");
    assert!(server.requests().is_empty(), "no model is asked\n{finished}");
}

#[test]
fn a_file_that_is_nothing_to_look_at_or_listen_to_is_refused() {
    for name in ["program", "empty.png", "noise"] {
        is_refused(&[name], &format!("`{name}` cannot be attached: it is no image, sound, video or document"));
    }
    is_refused(&["dot.png", "dir"], "`dir` cannot be attached: it is no file");
    is_refused(&["none.png"], "`none.png` cannot be attached: no such file or directory");
}

#[test]
fn files_that_are_too_large_alone_or_together_are_refused_with_the_limit() {
    let limit = "cannot be attached: the files of a message come to at most 20 MB together";
    is_refused(&["larger.png"], &format!("`larger.png` {limit}"));
    is_refused(&["large.png", "dot.png"], &format!("`dot.png` {limit}"));
    is_refused(&["dot.png"; 17], "a message takes 16 attachments, not 17");
}

#[test]
fn addresses_that_no_server_would_take_are_refused() {
    let only_https = "cannot be attached: an address begins with `https://`, anything else has to be a file";
    for address in ["http://example.com/a.png", "ftp://example.com/a.png", "data:image/png;base64,AAAA"] {
        is_refused(&[address], &format!("`{address}` {only_https}"));
    }
    is_refused(
        &["https://example.com/a.mp3"],
        "`https://example.com/a.mp3` cannot be attached: models take sound as data, so download it and attach the file",
    );
    is_refused(
        &["https://example.com/a"],
        "what `https://example.com/a` is cannot be told: its path ends with none of png, jpg, jpeg, gif, webp, mp4, \
         webm, mov, mpeg, pdf; download it and attach the file",
    );
}

#[test]
fn a_command_takes_no_attachments() {
    let home = home_with_picture();
    let finished = home.run([",help", "--attach", "dot.png"]).finish();
    finished.fails("error: a command takes no attachments: say it without the comma, or leave them out\n");
}

/// A plugin has 64 MiB for its input and its own data.
#[test]
fn a_model_that_is_a_plugin_refuses_too_large_media_with_the_limit() {
    let home = home_with_picture();
    let mut large = PNG.to_vec();
    large.resize(7_000_000, 7);
    put(&home, "large.png", &large);
    large.truncate(5_900_000);
    put(&home, "fits.png", &large);
    let finished = home.run(["ECHO:seen", "--attach", "large.png"]).finish();
    finished.fails("the media come to 9.3 MB in base64, and plugin `offline` takes 8.0 MB: attach less");
    // The second picture leaves no room for the first.
    for text in ["ECHO:one", "ECHO:two"] {
        let finished = home.run([text, "--attach", "fits.png"]).finish();
        assert_eq!((finished.code, finished.stdout.lines().nth(1)), (Some(0), text.get(5..)), "{finished}");
    }
}
