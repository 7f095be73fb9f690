//! Channels that plugins bring: how the host handles their answers. `plugin check` shows it without a gateway.

mod fuzz;

use crate::home;
use crate::hostile::{LITTLE_FUEL, NO_FUEL};
use crate::plugin_add::plugin;
use bub_tests::{Home, programs};
use serde_json::{Value, json};

/// A home with the channel of the tests, configured by a line of TOML each.
fn posting(config: &str) -> Home {
    let home = home().strict();
    home.plugin("poster", programs::POSTER);
    home.configure(&format!("[plugins.poster.config]\n{config}"));
    home
}

/// The output of `plugin check --json`.
#[track_caller]
fn checked(home: &Home, name: &str) -> Value {
    let finished = plugin(home, ["check", name, "--json"]);
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}\n{finished}"))
}

/// The message that the host makes of that arrival.
#[track_caller]
fn taken(arrival: &str) -> Value {
    let told = checked(&posting(&format!("flags = [\"polls\"]\narrivals = [{arrival}]")), "poster");
    assert_eq!(told["broken"], json!([]), "{told:#}");
    let arrivals = told["channel"]["arrivals"].as_array().expect("a list");
    assert_eq!(arrivals.len(), 1, "{told:#}");
    arrivals[0].clone()
}

/// Why the host rejects a channel that is configured like this.
#[track_caller]
fn breaks(config: &str) -> String {
    let told = checked(&posting(config), "poster");
    assert_eq!(told["broken"].as_array().map(Vec::len), Some(1), "{told:#}");
    told["broken"][0]["what"].as_str().expect("a text").to_owned()
}

#[test]
pub(crate) fn poster_keeps_to_its_contract() {
    let told =
        checked(&posting("handle = \"7\"\narrivals = [{ id = \"1\", chat = \"c\", content = \"hi\" }]"), "poster");
    assert_eq!((&told["broken"], &told["not_asked"]), (&json!([]), &json!([])), "{told:#}");
    let channel = &told["channel"];
    for flag in ["polls", "webhook", "edits", "dedupes", "needs_debounce"] {
        assert_eq!(channel[flag], true, "{told:#}");
    }
    assert_eq!((&channel["name"], &channel["waits_seconds"]), (&json!("poster"), &json!(0.1)), "{told:#}");
    // One by the first poll, and one with each of three requests.
    assert_eq!(channel["arrivals"].as_array().map(Vec::len), Some(4), "{told:#}");
    let asked: Vec<&str> =
        told["hooks"].as_array().expect("a list").iter().filter_map(|hook| hook["hook"].as_str()).collect();
    assert_eq!(asked, ["channel", "poll", "receive", "send", "update"], "{told:#}");
}

#[test]
fn the_host_overrides_fields_that_it_controls() {
    let taken = taken(
        r#"{ id = "1", session = "cli:local", channel = "cli", chat = "c", sender = "s", kind = "command", output = "http",
             content = ",id", context = { channel = '"$cli"', sender_id = '"owner"', chat_id = '"x"', mood = '"good"' } }"#,
    );
    assert_eq!(taken["session"], "poster:c");
    assert_eq!(taken["channel"], "poster");
    assert_eq!(taken["kind"], "Normal");
    let context =
        json!([["sender_id", "\"s\""], ["channel", "\"$poster\""], ["chat_id", "\"c\""], ["mood", "\"good\""]]);
    assert_eq!(taken["context"], context);
}

#[test]
fn the_channels_configuration_determines_which_messages_are_commands() {
    // A trial has no configuration of channels: no channel decides which messages are commands.
    assert_eq!(taken(r#"{ chat = "c", content = ",help", kind = "command" }"#)["kind"], "Normal");
}

#[test]
fn two_chats_never_have_one_session() {
    let session = |chat: &str| taken(&format!("{{ chat = '{chat}', content = 'hi' }}"))["session"].clone();
    assert_eq!(session("a:b"), "poster:a%3Ab");
    assert_eq!(session("a%3Ab"), "poster:a%253Ab");
    assert_eq!(session("temp/x"), "poster:temp/x");
    assert_eq!(session(""), "poster:default");
}

#[test]
fn attachments_are_classified_by_their_data() {
    let png = "data:application/x-evil;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let media = |url: &str| {
        taken(&format!("{{ content = 'look', media = [['document', 'application/x-evil', 'a.exe', '{url}']] }}"))
    };
    assert_eq!(
        media(png)["media"],
        json!([{ "mime_type": "image/png", "filename": "a.exe", "provenance": "Written" }])
    );
    assert_eq!(media("https://x.test/a.exe")["media"][0]["mime_type"], "application/x-evil");
    for (url, why) in [
        ("data:image/png;base64,AAECAwQF", "it is no image, sound, video or document"),
        ("data:image/png;base64,***", "its data is no base64"),
        ("file:///etc/passwd", "it is neither data nor an `https` address"),
        ("http://x.test/a", "it is neither data nor an `https` address"),
    ] {
        let taken = media(url);
        assert_eq!(taken["content"], format!("look\n[a.exe was left out: {why}]"));
        assert_eq!(taken["media"], json!([]));
    }
}

#[test]
fn a_message_that_is_too_long_is_truncated_with_a_notice() {
    let long = "ü".repeat(700 << 10);
    let home = posting(&format!("flags = [\"polls\"]\narrivals = [{{ content = \"{long}\" }}]"));
    let told = checked(&home, "poster");
    let content = told["channel"]["arrivals"][0]["content"].as_str().expect("a text");
    assert!(content.ends_with("ü\n[cut off here: the message has 1433600 bytes]"), "{} bytes", content.len());
    assert!(content.len() < (1 << 20) + 100);
}

#[test]
fn values_that_a_channel_creates_are_validated() {
    for (config, why) in [
        ("flags = [\"polls\"]\ncursor = \"{\"", "its cursor is no JSON"),
        (
            "flags = [\"polls\"]\narrivals = [{ content = \"x\" }]\ntimes = 257",
            "257 messages came at once; at most 256 are taken",
        ),
        ("flags = [\"webhook\"]\nstatus = 99", "`99` is no status of an answer"),
        ("flags = [\"webhook\"]\nstatus = 101", "`101` is no status of an answer"),
        ("flags = [\"webhook\"]\nheaders = { \"a b\" = \"c\" }", "a header of its answer is none"),
        (
            "flags = [\"webhook\"]\nheaders = { \"allow\" = \"a\\r\\nset-cookie: b\" }",
            "the header `allow` of its answer has no value",
        ),
    ] {
        let what = breaks(config);
        assert!(what.starts_with(&format!("broke the contract: {why}")), "{config}: {what}");
    }
}

#[test]
fn a_message_that_breaks_a_rule_is_refused_by_name_and_the_others_arrive() {
    let long = "x".repeat(1 << 20);
    let bad = [
        (
            format!("{{ id = '{long}', chat = 'c' }}"),
            format!("message `{}` of chat `c` is refused: its id is longer than 256 bytes, or no line", &long[..64]),
        ),
        (
            "{ id = \"a\\u0000b\", chat = 'c' }".to_owned(),
            "message `a\\0b` of chat `c` is refused: its id is longer than 256 bytes, or no line".to_owned(),
        ),
        (
            "{ id = '1', chat = \"a\\nb\" }".to_owned(),
            "message `1` of chat `a\\nb` is refused: its chat id is longer than 256 bytes, or no line".to_owned(),
        ),
        (
            format!("{{ chat = 'c', sender = '{long}' }}"),
            "a message of chat `c` is refused: its sender is longer than 256 bytes, or no line".to_owned(),
        ),
        (
            "{ id = '2', chat = 'c', context = { mood = 'good' } }".to_owned(),
            "message `2` of chat `c` is refused: its context `mood` is no JSON".to_owned(),
        ),
        (
            format!("{{ id = '3', chat = 'c', context = {{ mood = '\"{}\"' }} }}", "x".repeat(65 << 10)),
            "message `3` of chat `c` is refused: its context has more than 64 keys or 65536 bytes".to_owned(),
        ),
        (
            format!("{{ id = '4', chat = 'c', passages = [{}] }}", "['quoted', 'Eve', 'x'],".repeat(65)),
            "message `4` of chat `c` is refused: it has more than 64 passages".to_owned(),
        ),
    ];
    for flags in ["polls", "webhook"] {
        for (arrival, why) in &bad {
            let config = format!(
                "flags = [{flags:?}]\narrivals = [{{ id = 'before', content = 'x' }}, {arrival}, {{ id = 'temp/x', content = 'x' }}]"
            );
            let told = checked(&posting(&config), "poster");
            let broken: Vec<&str> =
                told["broken"].as_array().expect("a list").iter().filter_map(|found| found["what"].as_str()).collect();
            assert!(broken.len() == 1 && broken[0].starts_with(why.as_str()), "{flags}: {why}: {told:#}");
            let ids: Vec<&str> = told["channel"]["arrivals"]
                .as_array()
                .expect("a list")
                .iter()
                .filter_map(|arrival| arrival["id"].as_str())
                .collect();
            assert!(!ids.is_empty() && ids.chunks(2).all(|ids| ids == ["before", "temp/x"]), "{flags}: {ids:?}");
        }
    }
}

#[test]
fn a_command_contains_only_the_senders_own_text() {
    let home = posting(
        "flags = [\"polls\"]\narrivals = [{ content = '', passages = [['forwarded', 'Eve', ',help']] }, { content = 'x', passages = [['quoted', \"E\\nve\", ',help']], media = [['document', 'x/y', 'a.exe', 'file:///x', 'quoted']] }]",
    );
    let told = checked(&home, "poster");
    let arrivals = &told["channel"]["arrivals"];
    assert_eq!((&arrivals[0]["kind"], &arrivals[0]["content"]), (&json!("Normal"), &json!("")), "{told:#}");
    let line = "[a.exe was left out: it is neither data nor an `https` address]";
    let expected = json!([
        { "provenance": "Quoted", "author": "E ve", "text": ",help" },
        { "provenance": "Quoted", "author": null, "text": line },
    ]);
    assert_eq!((&arrivals[1]["passages"], &arrivals[1]["content"]), (&expected, &json!("x")), "{told:#}");
}

#[test]
fn an_answer_to_a_webhook_does_nothing_to_the_server_that_it_comes_from() {
    let headers = "{ \"Content-Type\" = \"text/html\", \"Set-Cookie\" = \"a=b\", \"Access-Control-Allow-Origin\" = \"*\", \"Location\" = \"/v1\" }";
    let told = checked(&posting(&format!("flags = [\"webhook\"]\nstatus = 201\nheaders = {headers}")), "poster");
    let answer = &told["channel"]["webhooks"][0];
    assert_eq!(answer["status"], 201);
    let expected = [
        "content-type: text/html",
        "x-content-type-options: nosniff",
        "content-security-policy: sandbox; default-src 'none'",
    ];
    assert_eq!(answer["headers"], json!(expected));
}

#[test]
fn a_channel_has_a_unique_name() {
    for (name, why) in [
        ("cli", "the channel `cli` of plugin `poster` is not there: that is one of the program's own"),
        ("http", "the channel `http` of plugin `poster` is not there: that is one of the program's own"),
        ("Poster", "the channel `Poster` of plugin `poster` is not there: its name is not at most 64 small letters"),
        ("a:b", "its name is not at most 64 small letters"),
        ("temp/x", "its name is not at most 64 small letters"),
        ("", "its name is not at most 64 small letters"),
        ("telegram", "the channel `telegram` of plugin `poster` is not there: plugin `telegram` has one of that name"),
    ] {
        let home = posting(&format!("channel = \"{name}\""));
        let finished = home.bub(["plugin", "check", "poster", "--json"]).finish();
        let told: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        assert_eq!(told["channel"], Value::Null, "{told:#}");
        let noted = told["notes"].to_string();
        assert!(noted.contains(why), "{name}: {noted}");
    }
}

#[test]
fn the_kind_of_a_channels_error_determines_whether_it_is_retried() {
    for (kind, then) in [("temporary", "tried again later"), ("not-found", "given up"), ("unknown", "given up")] {
        let config = format!(
            "fails = {{ send = {{ kind = \"{kind}\", message = \"no luck\", details = {{ retry_after = 3 }} }} }}"
        );
        let told = checked(&posting(&config), "poster");
        let notes = told["notes"].as_array().expect("a list");
        let note = notes.iter().find(|note| note["what"].as_str().is_some_and(|what| what.contains("no luck")));
        let note = note.unwrap_or_else(|| panic!("{told:#}"));
        assert!(
            note["where"].as_str().is_some_and(|place| place.starts_with("hook `send`, a message to be sent")),
            "{note}"
        );
        assert!(note["fix"].as_str().is_some_and(|fix| fix.ends_with(then)), "{note}");
    }
}

#[test]
fn a_channel_that_never_comes_back_is_ended_by_its_own_limits() {
    for (place, hook) in
        [("channel", "channel"), ("poll", "poll"), ("receive", "receive"), ("send", "send"), ("update", "update")]
    {
        let home = home().strict();
        home.plugin("endless", programs::ENDLESS);
        home.configure(&format!(
            "[plugins.endless.limits]\n{LITTLE_FUEL}\n[plugins.endless.config]\nwhere = \"{place}\""
        ));
        let told = checked(&home, "endless");
        let broken = told["broken"].as_array().expect("a list");
        let is_it = |found: &Value| {
            found["where"].as_str().is_some_and(|place| place.starts_with(&format!("hook `{hook}`")))
                && found["what"].as_str().is_some_and(|what| what.contains(NO_FUEL))
        };
        assert!(broken.len() == 1 && is_it(&broken[0]), "{place}: {told:#}");
    }
}

#[test]
fn hooks_names_the_channels() {
    let home = home();
    let shown = home.bub(["hooks"]).finish();
    assert!(shown.stdout.contains("channel               broadcast    telegram\n"), "{shown}");
}
