//! How the gateway begins and ends.

use super::{echo, heard, posting, serving, start};
use bub_tests::{Answer, Server};
use serde_json::json;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

#[test]
fn two_gateways_do_not_serve_one_home() {
    let home = posting("flags = [\"webhook\"]");
    let model = echo();
    let serve = start(&home, serving(&home, &model));
    let second = serving(&home, &model).finish();
    assert_eq!(second.code, Some(1), "{second}");
    second.mentions("another `bub-wasm serve` (process ");
    serve.end();
    start(&home, serving(&home, &model)).end();
}

#[test]
fn a_turn_that_runs_ends_before_the_program_does() {
    let home = posting("flags = [\"webhook\"]");
    let (go, gone) = mpsc::channel::<()>();
    let (begun, has_begun) = mpsc::channel::<()>();
    let (begun, gone) = (Mutex::new(begun), Mutex::new(gone));
    let model = Server::ruled(move |_| {
        let _ = begun.lock().unwrap().send(());
        let _ = gone.lock().unwrap().recv();
        Answer::text("late")
    });
    let serve = start(&home, serving(&home, &model));
    let said = std::thread::scope(|scope| {
        let said = scope.spawn(|| serve.post("/v1/turns", &json!({ "content": "hello", "session_id": "s" })));
        has_begun.recv_timeout(Duration::from_secs(60)).expect("the model is asked");
        serve.program().terminate();
        let too_late =
            || serve.ask("POST", "/v1/turns").json(&json!({ "content": ",tape.info", "session_id": "t" })).send();
        let begun = Instant::now();
        let refused = loop {
            let said = too_late();
            if said.status != 200 {
                break said;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "it still takes messages");
        };
        assert_eq!(refused.refused(503, "the program stops").header("retry-after"), Some("1"));
        go.send(()).unwrap();
        said.join().expect("it is answered")
    });
    assert_eq!(said["model_output"], "late");
    let ended = serve.gone();
    assert_eq!(ended.code, Some(0), "{ended}");
}

#[test]
fn a_turn_that_does_not_end_in_time_is_the_next_processs() {
    let home =
        posting("arrivals = [{ id = \"1\", chat = \"7\", content = \"hello\" }]\nwait = 60000\nflags = [\"polls\"]");
    home.configure("[serve]\ndrain_seconds = 0");
    let silent = Server::ruled(|_| Answer::Silence);
    let serve = start(&home, serving(&home, &silent));
    silent.wait_for(1);
    let ended = serve.end();
    assert_eq!(ended.code, Some(0), "{ended}");
    ended.mentions("turns were interrupted");
    let model = echo();
    let serve = start(&home, serving(&home, &model));
    serve.program().wait_for(r#""send":"you said: hello""#);
    serve.end();
    assert_eq!(heard(&home, "poster:7"), ["hello"]);
}

#[test]
fn serve_check_reports_whether_everything_is_in_place() {
    let home = posting("flags = [\"webhook\"]");
    home.bub(["serve", "--check"]).finish().says(
        "ready to serve at 127.0.0.1:8420\nno model is configured: `offline:demo` only repeats messages; \
         set `BUB_MODEL` or `model`\n",
    );
    home.configure("[serve]\nmax_turns = 0");
    home.bub(["serve", "--check"]).finish().refuses(&["serve.max_turns", "`0`"]);
}
