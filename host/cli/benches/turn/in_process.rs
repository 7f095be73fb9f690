//! Turns and hooks inside one process, as in `serve`.

use crate::figure::{Samples, line, time};
use crate::host::{home, host, message, said};
use crate::parts::wants;
use bub_model::{Secret, Settings};
use bub_runtime::hooks;
use bub_runtime::host::Host;
use bub_runtime::turn::CallScope;
use bub_tests::{Answer, Server, programs};
use std::iter;
use std::sync::Arc;
use std::time::Duration;

/// Steps of a long turn.
const STEPS: usize = 30;

pub async fn figures() {
    if wants("hook") {
        hook_call().await;
    }
    if wants("grant") {
        granted_call().await;
    }
    if wants("stub") {
        empty_turn().await;
    }
    if wants("agent") {
        agent_turn().await;
    }
    if wants("steps") {
        conversation().await;
    }
}

/// Creates a store and an instance of the builtin guest, copies an envelope in and an id out, and drops them.
async fn hook_call() {
    let home = home();
    let host = host(&home, Settings::new("offline:demo")).await;
    let calls = CallScope::new(&host);
    let message = message("bench");
    let samples = Samples::take(500, 5_000, async |_| {
        let answer = hooks::resolve_session(&calls, &message).await.expect("it answers");
        assert_eq!(answer.as_deref(), Some("bench"));
    })
    .await;
    samples.print("hook call on a fresh instance", Some(Duration::from_micros(25)));
}

/// The cost of a permission check: the time of a gated host call, less that of an ungated one.
async fn granted_call() {
    let rounds = 20_000;
    let mut each = Vec::new();
    for is_gated in [false, true] {
        let home = home();
        home.configure(&format!("[plugins.counter]\ngrants = [\"secret:bench\"]\n[plugins.counter.config]\nrounds = {rounds}\ngated = {is_gated}"));
        home.plugin("counter", programs::COUNTER);
        home.grant_hooks();
        let host = host(&home, Settings::new("offline:demo")).await;
        each.push(Samples::take(5, 50, async |_| turn(&host, "bench", "0").await).await.median() / rounds);
    }
    let dearer = each[1].saturating_sub(each[0]);
    print_derived("what a grant adds to a call of the host", dearer, Duration::from_micros(1));
}

/// The stages of a turn through the builtin guest, with a model hook that echoes the message. Nothing is written to the
/// tape.
async fn empty_turn() {
    let home = home();
    home.plugin("echo", programs::ECHO);
    home.grant_hooks();
    let host = host(&home, Settings::new("offline:demo")).await;
    let samples = Samples::take(100, 2_000, async |_| turn(&host, "bench", "[echo] hi").await).await;
    samples.print("turn with a stub model", Some(Duration::from_millis(1)));
}

/// The first turn of a session: the agent loop, one request on a kept-alive connection, a new tape. The cost of the
/// request is measured with a bare client and subtracted. That client sends without pauses, so waking an idle server
/// counts as the host's cost.
async fn agent_turn() {
    let (warm_up, count) = (50, 500);
    let home = home();
    let server = Server::new(iter::repeat_n(Answer::text("hello"), 2 * (warm_up + count)));
    let mut settings = Settings::new("openai:fake-model");
    settings.api_key = Some(Secret::new("sk-fake"));
    settings.api_base = Some(server.base());
    let host = host(&home, settings).await;
    let whole = Samples::take(warm_up, count, async |run| {
        turn(&host, &format!("bench:{run}"), "hello").await;
    })
    .await;

    let bodies = vec![server.requests().pop().expect("the turns have asked").body];
    let bare = bare(&server, &bodies, warm_up, count).await;

    whole.print("agent turn, model on loopback", None);
    bare.print("  the same request by itself", None);
    print_derived(
        "  the difference: the host's own",
        whole.median().saturating_sub(bare.median()),
        Duration::from_micros(1_500),
    );
}

/// A turn of 30 steps, with three concurrent tool calls in all but the last; in total, and less the bare requests. It
/// includes the tools' guests.
async fn conversation() {
    let (warm_up, count) = (5, 40);
    let home = home();
    std::fs::write(home.workspace().join("notes.txt"), "a line\n".repeat(50)).expect("a file");
    let call = |(index, (name, arguments)): (usize, &(&str, serde_json::Value))| {
        let function = serde_json::json!({ "name": name, "arguments": arguments.to_string() });
        serde_json::json!({ "index": index, "id": format!("call_{index}"), "type": "function", "function": function })
    };
    let tools = [
        ("fs_read", serde_json::json!({ "path": "notes.txt" })),
        ("tape_info", serde_json::json!({})),
        ("tape_anchors", serde_json::json!({})),
    ];
    let calls: Vec<_> = tools.iter().enumerate().map(call).collect();
    let steps = || (1..STEPS).map(|_| Answer::tool_calls(&calls)).chain([Answer::text("hello")]);
    let server = Server::new((0..2 * (warm_up + count)).flat_map(|_| steps()));
    let mut settings = Settings::new("openai:fake-model");
    settings.api_key = Some(Secret::new("sk-fake"));
    settings.api_base = Some(server.base());
    let host = host(&home, settings).await;
    let whole = Samples::take(warm_up, count, async |run| turn(&host, &format!("bench:{run}"), "hello").await).await;
    let requests = server.requests();
    let bodies: Vec<_> = requests[requests.len() - STEPS..].iter().map(|request| request.body.clone()).collect();
    let bare = bare(&server, &bodies, warm_up, count).await;
    whole.print("turn of 30 steps, three tools in each", None);
    bare.print("  the same requests by themselves", None);
    let own = whole.median().saturating_sub(bare.median()) / STEPS as u32;
    print_derived("  the difference, a step: the host's own", own, Duration::from_micros(500));
}

/// Sequential requests on one connection, by a bare client.
async fn bare(server: &Server, bodies: &[String], warm_up: usize, count: usize) -> Samples {
    let client = bub_tls::client().tls_certs_only([]).build().expect("a client");
    let url = format!("{}/chat/completions", server.base());
    Samples::take(warm_up, count, async |_| {
        let (client, url, bodies) = (client.clone(), url.clone(), bodies.to_vec());
        // In a task, like the turn.
        let task = tokio::spawn(async move {
            for body in bodies {
                let request = client.post(&url).header("content-type", "application/json");
                let answer = request.body(body).send().await.expect("it is answered");
                let text = answer.text().await.expect("it is answered to the end");
                assert!(text.ends_with("[DONE]\n\n"), "{text}");
            }
        });
        task.await.expect("all are asked");
    })
    .await
}

/// Runs one turn and checks its answer.
pub(super) async fn turn(host: &Arc<Host>, session: &str, expected: &str) {
    assert_eq!(said(host, session).await, expected);
}

/// A line for a derived duration.
pub(super) fn print_derived(name: &str, value: Duration, target: Duration) {
    line(name, &time(value), "", Some((time(target), value <= target)));
}
