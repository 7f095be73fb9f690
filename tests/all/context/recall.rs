//! Memory and earlier conversations in requests of the context builder, through whole turns.

use super::said;
use crate::home;
use bub_tests::{Answer, Finished, Home, Request, Server};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A home with the context builder, and a window that shows one exchange.
fn builder() -> Home {
    let home = home();
    home.configure("selector = \"context-builder\"");
    home.configure(
        "[plugins.context-builder.config]\nsliding_window_size = 1\nenable_summary = false\nlanguage = \"en\"\nenable_instruction_pinning = false",
    );
    home
}

/// A model that says the same to everything, and makes vectors of texts by what they are about.
fn server() -> Server {
    Server::ruled(|request| match request.path.ends_with("/embeddings") {
        true => vectors(request),
        false => Answer::text("Very well."),
    })
}

/// Near each other are texts about eating, whatever their words; all others point in directions of their own.
fn vectors(request: &Request) -> Answer {
    let input = request.json()["input"].clone();
    let vector = |text: &str| -> Vec<f64> {
        let mut vector = vec![0.0; 16];
        let is_food = ["peanuts", "lunch"].iter().any(|word| text.contains(word));
        let own = text.bytes().fold(7_usize, |sum, byte| (sum * 31 + usize::from(byte)) % 1_000_003);
        vector[if is_food { 0 } else { 1 + own % 15 }] = 1.0;
        vector[1 + (own / 15) % 15] += 0.2;
        vector
    };
    let texts = input.as_array().cloned().unwrap_or_default();
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| json!({ "index": at, "embedding": vector(text.as_str().unwrap_or_default()) }))
        .collect();
    let body = json!({ "data": data, "usage": { "prompt_tokens": 5, "total_tokens": 5 } });
    Answer::Whole(200, "application/json", body.to_string())
}

/// The memories in the last request to the model.
fn told(server: &Server) -> String {
    let asked = server.requests();
    let last = asked.iter().rfind(|request| request.path.ends_with("/chat/completions")).expect("the model was asked");
    let memories =
        said(last).into_iter().filter(|(role, text)| role == "system" && text.starts_with("[Related memories]"));
    memories.map(|(_, text)| text).collect::<Vec<_>>().join("\n")
}

fn says(home: &Home, server: &Server, session: &str, text: &str) -> Finished {
    home.run([text, "--session-id", session]).model(server).finish().says("[cli:local]\nVery well.\n")
}

fn index(home: &Home) -> PathBuf {
    let files = fs::read_dir(home.bub_home().join("index")).expect("there is an index").flatten();
    files
        .map(|file| file.path())
        .find(|path| path.extension().is_some_and(|end| end == "sqlite"))
        .expect("there is a file")
}

#[test]
fn messages_of_another_session_of_the_workspace_are_found() {
    let (home, server) = (builder(), server());
    says(&home, &server, "cli:monday", "I prefer dark mode in every editor.");
    says(&home, &server, "cli:tuesday", "do I like dark mode?");
    assert!(told(&server).contains("- I prefer dark mode in every editor. (similarity: 0."), "{}", told(&server));
    let mode = |path: &PathBuf| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let file = index(&home);
    assert_eq!((mode(&file), mode(&file.parent().expect("a directory").to_owned())), (0o600, 0o700));
}

#[test]
fn saved_memory_is_found_unless_the_system_prompt_contains_it() {
    let (home, server) = (builder(), server());
    home.run([",memory.save \"I am allergic to peanuts.\"", "--session-id", "cli:monday"]).finish();
    says(&home, &server, "cli:tuesday", "am I allergic to peanuts?");
    assert_eq!(told(&server), "", "the system prompt holds it");
    home.configure("[plugins.memory]\nenabled = false");
    says(&home, &server, "cli:wednesday", "am I allergic to peanuts?");
    assert!(told(&server).contains("- I am allergic to peanuts. (similarity: 0."), "{}", told(&server));
}

#[test]
fn an_unrelated_question_finds_nothing() {
    let (home, server) = (builder(), server());
    says(&home, &server, "cli:monday", "I prefer dark mode in every editor.");
    says(&home, &server, "cli:tuesday", "what is the capital of Mongolia?");
    assert_eq!(told(&server), "");
}

#[test]
fn peers_and_anonymous_senders_find_nothing_of_other_sessions() {
    let (home, server) = (builder(), server());
    home.configure("[channels.telegram]\npeers = [\"friend\"]");
    says(&home, &server, "cli:monday", "I prefer dark mode in every editor.");
    for sender in ["friend", "stranger"] {
        let asks = ["do I like dark mode?", "--channel", "telegram", "--chat-id", sender, "--sender-id", sender];
        home.run(asks).model(&server).finish();
        assert_eq!(told(&server), "", "{sender}");
    }
}

#[test]
fn text_of_a_tainted_turn_is_not_found_in_a_clean_one() {
    let (home, server) = (builder(), server());
    let stranger =
        ["I prefer dark mode in every editor.", "--channel", "telegram", "--chat-id", "9", "--sender-id", "x"];
    home.run(stranger).model(&server).finish();
    says(&home, &server, "cli:tuesday", "do I like dark mode?");
    assert_eq!(told(&server), "");
}

#[test]
fn forgotten_text_is_removed_from_the_index() {
    let (home, server) = (builder(), server());
    says(&home, &server, "cli:monday", "I prefer dark mode in every editor.");
    says(&home, &server, "cli:tuesday", "do I like dark mode?");
    assert!(told(&server).contains("dark mode in every editor"));
    home.run([",memory.forget query=\"dark mode\"", "--session-id", "cli:monday"]).finish();
    let bytes = fs::read(index(&home)).expect("it can be read");
    let text = String::from_utf8_lossy(&bytes).to_lowercase();
    assert!(!text.contains("dark mode"), "the index holds what was forgotten");
}

#[test]
fn a_damaged_or_outdated_index_is_rebuilt() {
    let (home, server) = (builder(), server());
    says(&home, &server, "cli:monday", "I prefer dark mode in every editor.");
    says(&home, &server, "cli:tuesday", "do I like dark mode?");
    let file = index(&home);
    fs::write(&file, b"this is no database at all, and longer than a header of one is, to be sure of that")
        .expect("it can be written");
    says(&home, &server, "cli:wednesday", "do I like dark mode?").mentions("is made anew");
    assert!(told(&server).contains("dark mode in every editor"), "{}", told(&server));
    fs::remove_dir_all(home.bub_home().join("index")).expect("it can be deleted at any time");
    says(&home, &server, "cli:thursday", "do I like dark mode?");
    assert!(told(&server).contains("dark mode in every editor"), "{}", told(&server));
}

#[test]
fn an_embedding_model_finds_texts_without_common_words_and_its_usage_is_logged() {
    let (home, server) = (builder(), server());
    home.configure("embedding_model = \"openai:small\"\nembedding_scale = { median = 0.05, spread = 0.07 }");
    says(&home, &server, "cli:monday", "Peanuts, I mean peanuts make me ill.");
    says(&home, &server, "cli:tuesday", "what should I avoid at lunch?");
    assert!(told(&server).contains("peanuts make me ill"), "{}", told(&server));
    let asked = server.requests().into_iter().filter(|request| request.path.ends_with("/embeddings")).count();
    says(&home, &server, "cli:tuesday", "what should I avoid at lunch?");
    let again = server.requests().into_iter().filter(|request| request.path.ends_with("/embeddings"));
    let texts: usize = again.skip(asked).map(|request| request.json()["input"].as_array().map_or(0, Vec::len)).sum();
    assert!(texts <= 3, "embeddings are kept: {texts}");
    let usage = home.bub(["usage", "--json"]).finish();
    assert!(usage.stdout.contains("openai:small"), "{usage}");
}

#[test]
fn a_failing_embedding_model_leaves_keyword_search_and_one_log_line() {
    let home = builder();
    home.configure("embedding_model = \"openai:small\"");
    let server = Server::ruled(|request| match request.path.ends_with("/embeddings") {
        true => Answer::refusal("no vectors today"),
        false => Answer::text("Very well."),
    });
    says(&home, &server, "cli:monday", "I prefer dark mode in every editor.");
    let finished = says(&home, &server, "cli:tuesday", "do I like dark mode?");
    assert!(told(&server).contains("dark mode in every editor"), "{}", told(&server));
    assert_eq!(finished.stderr.matches("words alone are compared").count(), 1, "{finished}");
    finished.mentions("no vectors today");
}

#[test]
fn an_embedding_model_that_never_answers_fails_no_turn() {
    let home = builder();
    home.configure("embedding_model = \"openai:small\"\nembedding_scale = { median = 0.05, spread = 0.07 }");
    let server = Server::ruled(|request| match request.path.ends_with("/embeddings") {
        true => Answer::Silence,
        false => Answer::text("Very well."),
    });
    says(&home, &server, "cli:monday", "I prefer dark mode in every editor.");
    says(&home, &server, "cli:tuesday", "do I like dark mode?");
    assert!(told(&server).contains("dark mode in every editor"), "{}", told(&server));
}

#[test]
fn an_embedding_model_is_configured_as_models_are() {
    let home = home();
    home.configure("embedding_model = \"small\"");
    home.run(["hello"]).finish().fails("`embedding_model` of config.toml");
}
