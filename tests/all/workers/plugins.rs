//! Plugins that are added on one worker and serve on all.

use super::two;
use crate::plugin_add::{does, file, plugin, sha256};
use crate::serve::echo;
use bub_test_support::postgres::Postgres;
use bub_tests::component::with_section;
use bub_tests::{Home, Serve, Server, programs};
use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};

/// Two homes without models, whose plugins hold what they are given: a turn repeats its message.
fn quiet(config: &str) -> Option<([Home; 2], &'static Postgres, String)> {
    let (homes, postgres, address) = two(config)?;
    Some((homes.map(|home| home.bare().strict()), postgres, address))
}

fn upper() -> Vec<u8> {
    fs::read(programs::PROMPT_UPPER).expect("it was built")
}

fn serve(home: &Home) -> Serve<'_> {
    Serve::start(home.bub(["serve", "--listen", "127.0.0.1:0"]).watched(), &home.bub_home())
}

/// The same with a model, since `serve` repeats no message without one.
fn serve_with<'home>(home: &'home Home, model: &Server) -> Serve<'home> {
    let started = home.bub(["serve", "--listen", "127.0.0.1:0"]).watched().model(model);
    Serve::start(started, &home.bub_home())
}

/// The answer to that message, as text of the JSON.
fn said(serve: &Serve<'_>, content: &str) -> String {
    serve.post("/v1/turns", &json!({ "content": content })).to_string()
}

/// Repeats the turn until its answer contains the text.
#[track_caller]
fn says_at_last(serve: &Serve<'_>, content: &str, text: &str) {
    let start = Instant::now();
    loop {
        let said = said(serve, content);
        if said.contains(text) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it still says {said}\n{}", serve.program().told());
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Adds `upper` to a home with the grant of its hook.
#[track_caller]
fn add_upper(home: &Home, bytes: &[u8]) -> String {
    let path = file(home, "upper.wasm", bytes);
    does(home, ["add", path.to_str().unwrap(), "--grant", "hook:build-prompt"])
}

#[track_caller]
fn run(home: &Home, message: &str) -> bub_tests::Finished {
    let finished = home.run([message]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    finished
}

#[test]
fn a_plugin_that_is_added_on_one_worker_serves_on_a_running_one_and_follows_its_grants() {
    let Some(([a, b], postgres, address)) = two("") else { return };
    let ([a, b], model) = ([a.strict(), b.strict()], echo());
    let served = serve_with(&b, &model);
    says_at_last(&served, "hello", "hello");
    let added = add_upper(&a, &upper());
    assert!(added.contains("plugin `upper` is stored for all workers, version 1\n"), "{added}");
    served.program().wait_for("plugin `upper` is taken over from");
    says_at_last(&served, "hello", "HELLO");
    let digest = sha256(&upper());
    let workers = postgres.sql(&address, "SELECT convert_from(plugins, 'UTF8') FROM worker");
    assert!(workers.starts_with('{'), "{workers}");
    does(&a, ["revoke", "upper"]);
    says_at_last(&served, "one", "one");
    does(&a, ["grant", "upper"]);
    says_at_last(&served, "two", "TWO");
    does(&a, ["remove", "upper"]);
    served.program().wait_for("plugin `upper` is gone");
    says_at_last(&served, "three", "three");
    assert!(!b.bub_home().join("plugins/upper.wasm").exists());
    // The other way: what B restores, A has at its next start.
    let restored = does(&b, ["rollback", "upper"]);
    assert!(restored.contains("stored for all workers"), "{restored}");
    a.run(["four"]).model(&model).finish().says("[cli:local]\nyou said: FOUR\n");
    assert_eq!(postgres.sql(&address, "SELECT digest FROM plugin WHERE name = 'upper'"), digest);
    assert_eq!(served.end().code, Some(0));
    assert_eq!(postgres.sql(&address, "SELECT count(*) FROM worker"), "0");
}

#[test]
fn local_plugins_stay_where_they_are() {
    let Some(([a, b], postgres, address)) = quiet("plugin_store = \"local\"") else { return };
    let added = add_upper(&a, &upper());
    assert!(!added.contains("all workers"), "{added}");
    assert!(run(&a, "hello").stdout.contains("HELLO"));
    assert!(run(&b, "hello").stdout.contains("hello"));
    assert_eq!(postgres.sql(&address, "SELECT count(*) FROM plugin"), "0");
    plugin(&a, ["share", "upper"]).fails("plugins of this home are its own");
    let files = crate::home();
    files.configure("plugin_store = \"shared\"");
    files.run(["hi"]).finish().fails("plugins are shared through PostgreSQL");
}

#[test]
fn settings_follow_with_their_comments_kept_and_secrets_stay() {
    let Some(([a, b], postgres, address)) = quiet("") else { return };
    let own = |home: &Home, key: &str, retries: u32| {
        home.configure(&format!("[plugins.upper.config]\napi_key = \"{key}\"\nretries = {retries}\n"));
    };
    own(&a, "of-a", 3);
    own(&b, "of-b", 1);
    let path = b.bub_home().join("config.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("# a comment of the owner's\n{text}")).unwrap();
    let added = add_upper(&a, &upper());
    assert!(
        added.contains("`config.api_key` of `[plugins.upper]` may be a secret and stays on this machine"),
        "{added}"
    );
    assert!(run(&b, "hello").stdout.contains("HELLO"));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("# a comment of the owner's\n"), "{text}");
    let table: toml::Table = text.parse().unwrap();
    let plugin = &table["plugins"]["upper"];
    assert_eq!(
        (plugin["config"]["api_key"].as_str(), plugin["config"]["retries"].as_integer()),
        (Some("of-b"), Some(3))
    );
    let everything = postgres.sql(&address, "SELECT string_agg(convert_from(settings, 'UTF8'), ' ') FROM plugin");
    assert!(everything.contains("retries") && !everything.contains("of-a"), "{everything}");
    // By hand, and stored when that is asked for.
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("[plugins.upper]", "[plugins.upper]\nenabled = false")).unwrap();
    does(&b, ["share", "upper"]);
    assert!(run(&a, "hello").stdout.contains("hello"));
}

#[test]
fn trust_in_bytes_of_a_workspace_follows() {
    let Some(([a, b], ..)) = quiet("") else { return };
    let path = file(&a, "upper.wasm", &upper());
    does(&a, ["trust", path.to_str().unwrap()]);
    run(&b, "hello");
    let digest = sha256(&upper());
    assert!(does(&b, ["trust", "--list"]).contains(&digest));
    does(&a, ["trust", "--revoke", &digest]);
    run(&b, "hello");
    assert_eq!(does(&b, ["trust", "--list"]), "");
}

#[test]
fn damaged_bytes_and_hostile_rows_are_refused_with_a_line_each_and_turns_go_on() {
    let Some(([a, b], postgres, address)) = quiet("") else { return };
    add_upper(&a, &upper());
    postgres.sql(&address, "UPDATE plugin_file SET bytes = '\\x0061736d'");
    let put = |name: &str, digest: &str, settings: &str| {
        let statement = format!(
            "SELECT put_plugin_1('plugin', '{name}', {digest}, convert_to('{settings}', 'UTF8'), 'evil', NULL)"
        );
        postgres.sql(&address, &statement);
    };
    let any = format!("'{}'", sha256(b"any"));
    put("../../escaped", &any, "");
    put("builtin", &any, "enabled = true");
    put("unknown", "NULL", "no_such_key = 1");
    put("broken", "NULL", "= [");
    put("nothere", &any, "");
    let before = fs::read_to_string(b.bub_home().join("config.toml")).unwrap();
    let finished = run(&b, "hello");
    assert!(finished.stdout.contains("hello"), "{finished}");
    for reason in [
        "plugin `upper`, version 1 of",
        "its file in the database is damaged",
        "plugin `../../escaped`",
        "the name is taken by a plugin of this program",
        "its settings are not understood: unknown field `no_such_key`",
        "plugin `broken`",
        "its file is not in the database; `bub-wasm plugin share nothere` on `evil` stores it",
    ] {
        assert!(finished.stderr.contains(reason), "{reason}: {finished}");
    }
    assert_eq!(fs::read_to_string(b.bub_home().join("config.toml")).unwrap(), before);
    let files: Vec<_> = fs::read_dir(b.bub_home().join("plugins")).unwrap().flatten().collect();
    assert!(files.iter().all(|file| !file.file_name().to_string_lossy().ends_with(".wasm")), "{files:?}");
    assert!(!b.bub_home().join("escaped.wasm").exists());
    // Said once for a while, and mended by the one that has the bytes.
    let again = run(&b, "hello");
    assert!(!again.stderr.contains("damaged"), "{again}");
    does(&a, ["share", "upper"]);
    assert!(run(&b, "hello").stdout.contains("HELLO"));
}

#[test]
fn the_last_of_two_changes_wins_and_both_say_so() {
    let Some(([a, b], postgres, address)) = quiet("") else { return };
    add_upper(&a, &upper());
    run(&b, "hello");
    // B knows version 1; its write does not know version 2, which the statement stands for.
    let served = serve(&a);
    postgres.sql(&address, "UPDATE plugin SET base = 'unknown', stamp = 'new', version = nextval('plugin_version')");
    served.program().wait_for("version 1, which was set here, is replaced by version 2");
    assert_eq!(served.end().code, Some(0));
}

#[test]
fn a_home_that_cannot_be_written_says_so_and_serves_on() {
    let Some(([a, b], ..)) = two("") else { return };
    let ([a, b], model) = ([a.strict(), b.strict()], echo());
    fs::remove_dir_all(b.bub_home().join("plugins")).unwrap();
    fs::write(b.bub_home().join("plugins"), "no directory").unwrap();
    let served = serve_with(&b, &model);
    add_upper(&a, &upper());
    served.program().wait_for("plugins of other workers are not taken over: `");
    says_at_last(&served, "hello", "hello");
    assert_eq!(served.end().code, Some(0));
}

/// The hooks behind the model are asked of the version that the turn began with, and it still holds their grants.
#[test]
fn a_turn_in_flight_ends_with_the_version_that_it_began_with() {
    let Some(([a, b], ..)) = quiet("") else { return };
    let scripted = fs::read(programs::SCRIPTED).expect("it was built");
    for home in [&a, &b] {
        home.configure("[plugins.p.config]\nname = \"p\"\n[plugins.p.config.answers]\nrun-model = { wait = 6_000 }");
    }
    let add = |bytes: &[u8]| {
        let path = file(&a, "p.wasm", bytes);
        does(&a, ["add", path.to_str().unwrap(), "--grant", "hook:run-model", "--grant", "hook:save-state"]);
    };
    add(&scripted);
    let served = serve(&b);
    std::thread::scope(|scope| {
        let turn = scope.spawn(|| said(&served, "hello"));
        served.program().wait_for("\"hook\":\"run-model\"");
        add(&with_section(&scripted, "version", b"2"));
        served.program().wait_for("plugin `p` serves in a new version");
        assert!(!served.program().has_said("\"hook\":\"save-state\""), "the turn was over too soon to show anything");
        turn.join().expect("the turn ends");
    });
    let finished = served.end();
    assert_eq!(finished.asked("save-state"), ["p"], "{finished}");
    assert!(!finished.stderr.contains("denied"), "{finished}");
}

#[test]
fn a_worker_that_requires_signatures_takes_over_no_plugin_that_it_does_not_know() {
    let Some(([a, b], _, _)) = quiet("") else { return };
    b.configure("[trust]\nrequire = true");
    add_upper(&a, &upper());
    let finished = run(&b, "hello");
    assert!(finished.stdout.contains("hello"), "{finished}");
    assert!(finished.stderr.contains("it needs a signature, by `[trust]` of config.toml"), "{finished}");
    assert!(!b.bub_home().join("plugins/upper.wasm").exists());
    assert!(run(&a, "hello").stdout.contains("HELLO"));
}
