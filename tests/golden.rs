//! The recorded runs of the original, and the comparison of a run of ours with one of them.

use crate::{Answer, Home, Run, Server, difference, normal, tape};
pub use bub_test_support::golden::cases;

use bub_test_support::golden::GOLDEN;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// A recorded case: commands, the model's answers, the output and the resulting tapes.
pub struct Case {
    name: &'static str,
    dir: PathBuf,
    /// Requests that were made behind an anchor, with its name.
    behind_anchor: Vec<(usize, &'static str)>,
    /// Variables that what was printed depends on.
    variables: Vec<(&'static str, String)>,
}

/// One command of a case.
struct Command {
    arguments: Vec<String>,
    exit: i32,
    /// How many requests had been made after it.
    requests: usize,
}

impl Case {
    /// The case in the folder of that name.
    pub fn new(name: &'static str) -> Self {
        Self { name, dir: PathBuf::from(GOLDEN).join(name), behind_anchor: Vec::new(), variables: Vec::new() }
    }

    /// Request `number` was made when the latest anchor was this one.
    pub fn behind_anchor(mut self, number: usize, anchor: &'static str) -> Self {
        self.behind_anchor.push((number, anchor));
        self
    }

    /// The commands have that variable, as those of the recording had one alike.
    pub fn env(mut self, name: &'static str, value: String) -> Self {
        self.variables.push((name, value));
        self
    }

    /// The workspace in which it was recorded.
    pub fn workspace(&self) -> String {
        format!("/golden/{}/ws", self.name)
    }

    /// The answers of the model, in order.
    pub fn answers(&self) -> Vec<Answer> {
        let numbered = (1..).map(|number| self.dir.join(format!("http/{number:03}.response.txt")));
        numbered.map_while(|path| fs::read_to_string(path).ok()).map(|text| Answer::recorded(&text)).collect()
    }

    /// The recorded requests to the model.
    pub fn request(&self, number: usize) -> Value {
        let path = self.dir.join(format!("http/{number:03}.request.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let request: Value = serde_json::from_str(&text).expect("a recorded request is JSON");
        request["body"].clone()
    }

    /// The directory with the tapes as they were after command `number`.
    pub fn tapes_dir(&self, number: usize) -> PathBuf {
        self.dir.join(format!("tapes_after_{number:02}"))
    }

    fn stdout(&self, number: usize) -> String {
        fs::read_to_string(self.dir.join(format!("{number:02}.stdout"))).expect("the output was recorded")
    }

    fn readme(&self) -> String {
        fs::read_to_string(self.dir.join("README.md")).expect("a case has a README.md")
    }

    /// The rows of the README's table, `| 1 | `bub 'run' 'hi'` | 0 | 001..001 |`.
    fn commands(&self) -> Vec<Command> {
        let mut before = 0;
        let row = |line: &str| {
            let (_, row) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | `bub ")?;
            let (command, rest) = row.rsplit_once("` | ")?;
            let (exit, requests) = rest.split_once(" | ")?;
            // `none`: no further ones.
            before = requests.rsplit("..").next().and_then(|number| number.parse().ok()).unwrap_or(before);
            Some(Command { arguments: quoted(command), exit: exit.parse().ok()?, requests: before })
        };
        let commands: Vec<Command> = self.readme().lines().filter_map(row).collect();
        assert!(!commands.is_empty(), "no command in the README.md of `{}`", self.name);
        commands
    }

    /// The line `Environment: BUB_MODEL=openai:fake-model, BUB_API_KEY=sk-fake, ...`; the address is the server's.
    fn environment<'home>(&self, run: Run<'home>, server: &Server) -> Run<'home> {
        let readme = self.readme();
        let line = readme.lines().find_map(|line| line.strip_prefix("Environment: ")).expect("it says its environment");
        let variables = line.split(", BUB_").map(|variable| variable.trim_start_matches("BUB_"));
        variables.fold(run, |run, variable| {
            let (name, value) = variable.split_once('=').expect("a variable has a value");
            let base = server.base();
            run.env(&format!("BUB_{name}"), if name == "API_BASE" { &base } else { value })
        })
    }

    /// Runs the same commands in `home` with the same answers of the model, and compares the results.
    #[track_caller]
    pub fn is_repeated_in(&self, home: &Home) -> Server {
        home.without_memory();
        let server = Server::new(self.answers());
        let (workspace, recorded) = (home.workspace(), self.workspace());
        let workspaces = [workspace.to_str().expect("the path is UTF-8"), &recorded];
        let mut done = 0;
        for (number, command) in (1..).zip(self.commands()) {
            let run = self.environment(home.bub(command.arguments.iter().map(String::as_str)), &server);
            let run = self.variables.iter().fold(run, |run, (name, value)| run.env(name, value));
            let finished = run.finish();
            let what = format!("command {number} of `{}`", self.name);
            assert_eq!(finished.code, Some(command.exit), "{what}\n{finished}");
            let printed = normal::text(&finished.stdout, &workspaces);
            assert_eq!(printed, normal::text(&self.stdout(number), &workspaces), "the output of {what}\n{finished}");
            let mut ours = tape::of_home(home);
            ours.values_mut().for_each(difference::account_is_written_down);
            ours.values_mut().for_each(difference::failed_command_is_kept);
            ours.values_mut().for_each(|tape| difference::handoff_has_summary(tape));
            let theirs = self.expected_tapes(number, command.exit != 0, &ours);
            assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "the tapes after {what}");
            for (session, theirs) in theirs {
                let mut ours = ours[&session].clone();
                difference::plugin_is_named(&mut ours);
                let theirs = normal::tape(&theirs, &workspaces);
                same(&format!("the tape after {what}"), &theirs, &normal::tape(&ours, &workspaces));
            }
            let requests = server.requests();
            assert_eq!(requests.len(), command.requests, "requests after {what}\n{finished}");
            for (at, request) in requests.iter().enumerate().skip(done) {
                self.request_is_repeated(at + 1, &request.json(), &workspaces);
            }
            done = requests.len();
        }
        for request in server.requests() {
            assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/chat/completions"));
            assert_eq!(request.header("authorization"), Some("Bearer sk-fake"));
        }
        server
    }

    /// Compares one request with the recorded one of that number.
    #[track_caller]
    pub fn request_is_repeated(&self, number: usize, ours: &Value, workspaces: &[&str]) {
        let mut theirs = self.request(number);
        if let Some((_, anchor)) = self.behind_anchor.iter().find(|(request, _)| *request == number) {
            difference::view_begins_with_anchor(&mut theirs, &self.anchor(anchor));
        }
        let mut ours = ours.clone();
        difference::told_handoff_has_summary(&mut ours);
        let lines = |text: String| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let theirs = lines(normal::request(&theirs, &[&self.workspace()]));
        same(&format!("request {number} of `{}`", self.name), &theirs, &lines(normal::request(&ours, workspaces)));
    }

    /// The newest anchor of that name on the tapes that the case left behind.
    fn anchor(&self, name: &str) -> Value {
        let tapes = tape::all(&self.tapes_dir(self.commands().len()));
        let anchors = tapes.values().flatten().rev();
        let anchor = anchors.into_iter().find(|entry| entry["kind"] == "anchor" && entry["payload"]["name"] == name);
        anchor.unwrap_or_else(|| panic!("no anchor `{name}` in `{}`", self.name)).clone()
    }

    /// The recorded tapes with what differs on purpose. The meta of the two entries that a failed turn has here and not
    /// there is ours.
    fn expected_tapes(
        &self,
        number: usize,
        failed: bool,
        ours: &BTreeMap<String, Vec<Value>>,
    ) -> BTreeMap<String, Vec<Value>> {
        let mut tapes = tape::by_session(tape::all(&self.tapes_dir(number)));
        for (session, tape) in &mut tapes {
            difference::system_prompt_is_written_once(tape);
            if !failed {
                continue;
            }
            let recorded = tape.len();
            difference::failed_turn_is_kept(tape);
            for (theirs, ours) in tape.iter_mut().zip(ours.get(session).into_iter().flatten()).skip(recorded) {
                theirs["meta"] = ours["meta"].clone();
            }
            difference::plugin_is_named(tape);
        }
        tapes
    }
}

/// Two lists of lines are the same; else the first line that differs is shown, with those around it.
#[track_caller]
pub fn same(what: &str, expected: &[String], actual: &[String]) {
    if expected == actual {
        return;
    }
    let at = expected.iter().zip(actual).take_while(|(expected, actual)| expected == actual).count();
    let shown = |lines: &[String]| lines.iter().skip(at).take(3).map(|line| format!("  {line}\n")).collect::<String>();
    panic!(
        "{what} differs at line {} (expected {} lines, got {})\nexpected:\n{}got:\n{}",
        at + 1,
        expected.len(),
        actual.len(),
        shown(expected),
        shown(actual),
    );
}

/// Words in single or double quotes, with a space between them; a line's end is written as Python writes it.
fn quoted(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(quote) = rest.chars().next() {
        let (word, behind) = rest[1..].split_once(quote).unwrap_or((&rest[1..], ""));
        words.push(word.replace("\\n", "\n"));
        rest = behind.trim_start();
    }
    words
}
