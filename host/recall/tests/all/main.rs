//! How well questions find what was said, on pairs of the project's own (`tests/corpus/retrieval`): by words alone in six
//! languages, and in English with a model of sentences where `just embeddings` has installed one.

use bub_model::{Client, Settings};
use bub_recall::{Baseline, QueryVector, Recall, RecallQuery, Source, Workspace, probes};
use bub_tape::{Draft, FileStore, JournalSettings, Journals, Tapes, tape_name, workspace_tape_name};
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/retrieval");

const LANGUAGES: [&str; 7] = ["en", "fresh", "zh", "de", "es", "fr", "ru"];

/// How near a memory must be, unless configured otherwise.
const MIN: f64 = 0.6;

fn lines(name: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(Path::new(CORPUS).join(format!("{name}.tsv"))).expect("the corpus is there");
    let pair = |line: &str| line.split_once('\t').map(|(a, b)| (a.to_owned(), b.to_owned()));
    text.lines().map(|line| pair(line).unwrap_or_else(|| panic!("{name}: `{line}` is no pair"))).collect()
}

/// An index in which all facts of a language were said, each in a turn of its own.
struct Said {
    _dir: tempfile::TempDir,
    workspace: Arc<Workspace>,
    tapes: Tapes,
    tape: String,
    shared: String,
}

impl Said {
    async fn new(facts: &[(String, String)]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let path = Path::new("/the/workspace");
        let store = FileStore::open(dir.path().join("tapes")).expect("it can be made");
        let journals = Journals::new(dir.path().join("tapes"), JournalSettings::default());
        let tapes = Tapes::new(Arc::new(store), Arc::new(journals));
        let tape = tapes.open(&tape_name(path, "cli:other")).expect("a good name");
        let message = |(fact, _): &(String, String)| {
            let payload = serde_json::json!({ "role": "user", "content": fact }).to_string();
            Draft::new("message", &payload, "{}").expect("it is JSON")
        };
        tape.append(facts.iter().map(message).collect()).await.expect("it can be written");
        let recall = Recall::new(dir.path().join("index"));
        let workspace = recall.workspace(path).expect("it can be made");
        let (tape, shared) = (tape_name(path, "cli:local"), workspace_tape_name(path));
        workspace.catch_up(&tapes, &tape, &shared).await.expect("the tapes can be read");
        Self { _dir: dir, workspace, tapes, tape, shared }
    }

    async fn find(&self, question: &str, meaning: Option<QueryVector>) -> Vec<String> {
        let wanted = RecallQuery {
            question: question.to_owned(),
            sources: vec![Source::History],
            own: self.tape.clone(),
            shared: Some(self.shared.clone()),
            all: true,
            window: u64::MAX,
            sent: Vec::new(),
            min_score: MIN,
        };
        let found = self.workspace.search(&wanted, meaning).await.expect("the index can be read");
        let found = self.workspace.verify(&self.tapes, found, 3).await;
        found.into_iter().map(|hit| hit.text).collect()
    }
}

/// Of how many, how many.
#[derive(Default, Clone, Copy)]
struct Count(usize, usize);

impl Count {
    fn add(&mut self, is_one: bool) {
        self.0 += 1;
        self.1 += usize::from(is_one);
    }

    fn part(self) -> f64 {
        if self.0 == 0 { 0.0 } else { self.1 as f64 / self.0 as f64 }
    }

    fn shown(self) -> String {
        if self.0 == 0 { String::new() } else { format!("{} of {} ({:.0} %)", self.1, self.0, 100.0 * self.part()) }
    }
}

#[derive(Default, Clone, Copy)]
struct Figures {
    seen: Count,
    unseen: Count,
    unrelated: Count,
}

impl Figures {
    fn all(self) -> f64 {
        Count(self.seen.0 + self.unseen.0, self.seen.1 + self.unseen.1).part()
    }
}

async fn measure(language: &str, model: Option<&Model>) -> Figures {
    let pairs = lines(language);
    let said = Said::new(&pairs).await;
    let baseline = match model {
        Some(model) => Some(model.teach(&said.workspace, &pairs).await),
        None => None,
    };
    let mut figures = Figures::default();
    for (at, (fact, question)) in pairs.iter().enumerate() {
        let meaning = match model {
            Some(model) => Some(model.meaning(question, baseline.expect("it was measured")).await),
            None => None,
        };
        let found = said.find(question, meaning).await;
        let count = if at % 2 == 0 && language != "fresh" { &mut figures.seen } else { &mut figures.unseen };
        // A fact of several sentences may be found by one of them.
        count.add(found.iter().any(|found| fact.contains(found.as_str()) || found.contains(fact.as_str())));
    }
    let of = if language == "fresh" { "en" } else { language };
    for (_, question) in lines("unrelated").iter().filter(|(language, _)| language == of) {
        let meaning = match model {
            Some(model) => Some(model.meaning(question, baseline.expect("it was measured")).await),
            None => None,
        };
        figures.unrelated.add(!said.find(question, meaning).await.is_empty());
    }
    figures
}

fn print(title: &str, rows: &[(&str, Figures)]) {
    let mut text = format!(
        "\n{title}\n| pairs | among the first three, seen | unseen | unrelated questions that retrieve anything |\n| --- | --- | --- | --- |\n"
    );
    for (name, figures) in rows {
        let Figures { seen, unseen, unrelated } = figures;
        text += &format!("| {name} | {} | {} | {} |\n", seen.shown(), unseen.shown(), unrelated.shown());
    }
    // Not by a macro: the test runner keeps what those print to itself when a test ends well.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn keyword_search_finds_most_questions_in_six_languages() {
    let mut rows = Vec::new();
    for language in LANGUAGES {
        rows.push((language, measure(language, None).await));
    }
    print("words alone", &rows);
    for (language, figures) in &rows {
        assert!(figures.all() >= 16.0 / 26.0, "{language}: {:.2}", figures.all());
        assert!(figures.unrelated.part() <= 0.1, "{language}: {:.2} unrelated", figures.unrelated.part());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sentence_model_finds_nearly_all_answers_to_english_questions() {
    let Some(model) = Model::start() else { return };
    let mut rows = Vec::new();
    for language in ["en", "fresh"] {
        rows.push((language, measure(language, Some(&model)).await));
    }
    print("with all-MiniLM-L6-v2", &rows);
    for (language, figures) in &rows {
        assert!(figures.all() >= 0.85, "{language}: {:.2}", figures.all());
        assert!(figures.unrelated.part() <= 0.14, "{language}: {:.2} unrelated", figures.unrelated.part());
    }
}

/// A server of embeddings: that of `BUB_TEST_EMBEDDINGS`, up to and with `/v1`, or one that is started.
struct Model {
    client: Client,
    _server: Option<Server>,
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const MODEL: &str = "openai:all-MiniLM-L6-v2";

impl Model {
    fn start() -> Option<Self> {
        let (base, server) = match env::var("BUB_TEST_EMBEDDINGS") {
            Ok(base) => (base, None),
            Err(_) => {
                let python = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../toolchains/embeddings/bin/python");
                if !python.is_file() {
                    let mut err = std::io::stderr();
                    let _ = writeln!(
                        err,
                        "\nnot measured: no model of sentences is installed; `just embeddings` does that"
                    );
                    return None;
                }
                let script = PathBuf::from(CORPUS).join("../../embeddings_server.py");
                let mut child = Command::new(python)
                    .arg(script)
                    .env("PYTHONDONTWRITEBYTECODE", "1")
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .spawn()
                    .expect("it starts");
                let mut base = String::new();
                BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut base).expect("it says where");
                (base.trim().to_owned(), Some(Server(child)))
            }
        };
        let mut settings = Settings::new(MODEL);
        settings.api_base = Some(base);
        Some(Self { client: Client::new(settings).expect("good settings"), _server: server })
    }

    async fn embed(&self, texts: &[String]) -> Vec<Vec<f32>> {
        let mut vectors = Vec::new();
        for texts in texts.chunks(64) {
            let embedded = self.client.embed(MODEL, texts, Duration::from_secs(60)).await.expect("it answers");
            vectors.extend(embedded.vectors);
        }
        vectors
    }

    /// Measures the model, and has it look at all that was said.
    async fn teach(&self, workspace: &Workspace, facts: &[(String, String)]) -> Baseline {
        let (questions, statements) = probes();
        let (questions, statements) = (self.embed(&questions).await, self.embed(&statements).await);
        let baseline = workspace.measure_baseline(MODEL, &questions, &statements).await.expect("it can be written");
        let texts = workspace.texts_without_vector(MODEL, facts.len() * 4).await.expect("it can be read");
        let vectors = self.embed(&texts).await;
        workspace.store_vectors(MODEL, texts.into_iter().zip(vectors).collect()).await.expect("it can be written");
        baseline.expect("it tells texts apart")
    }

    async fn meaning(&self, question: &str, baseline: Baseline) -> QueryVector {
        let vector = self.embed(&[question.to_owned()]).await.remove(0);
        QueryVector { model: MODEL.to_owned(), vector, baseline }
    }
}
