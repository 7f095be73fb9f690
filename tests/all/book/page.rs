//! Reads a page: its commands with what they print, the files that it writes, the answers of the model.

use bub_tests::Answer;

/// A page in the order in which it is run.
pub(super) struct Page {
    /// Its path, as failures name it.
    pub(super) path: String,
    pub(super) steps: Vec<Step>,
    /// The answers of the model, in order.
    pub(super) answers: Vec<Script>,
}

/// One thing that a page does.
pub(super) enum Step {
    /// From here on a model is configured.
    Model,
    File {
        path: String,
        text: String,
    },
    Run(Command),
}

/// A command, and its output on the page.
pub(super) struct Command {
    pub(super) line: usize,
    pub(super) script: String,
    pub(super) expected: Vec<String>,
}

/// One scripted answer of the model.
pub(super) enum Script {
    Text(String),
    ToolCall { name: String, arguments: String },
}

impl Script {
    pub(super) fn answer(&self) -> Answer {
        match self {
            Self::Text(text) => Answer::text(text),
            Self::ToolCall { name, arguments } => Answer::tool_call(name, arguments),
        }
    }
}

/// The directives in comments before a block.
#[derive(Default)]
struct Pending {
    line: usize,
    answers: Vec<Script>,
    file: Option<String>,
    reason: bool,
    /// The comment says why a block of shell commands is not run.
    no_run: bool,
}

impl Pending {
    fn take_comment(&mut self, line: usize, comment: &str) {
        self.line = line;
        let comment = comment.trim();
        if let Some(text) = comment.strip_prefix("model:") {
            self.answers.push(Script::Text(text.trim().to_owned()));
        } else if let Some(call) = comment.strip_prefix("tool-call:") {
            let (name, arguments) = call.trim().split_once(' ').unwrap_or((call.trim(), "{}"));
            self.answers.push(Script::ToolCall { name: name.to_owned(), arguments: arguments.trim().to_owned() });
        } else if let Some(path) = comment.strip_prefix("file:") {
            self.file = Some(path.trim().to_owned());
        } else {
            self.reason = true;
            self.no_run = comment.strip_prefix("no-run:").is_some_and(|reason| !reason.trim().is_empty());
        }
    }

    /// Text follows in place of a block.
    fn end(self) -> Result<(), String> {
        let is_used = self.answers.is_empty() && self.file.is_none();
        is_used.then_some(()).ok_or_else(|| format!("{}: no block follows this comment", self.line))
    }
}

/// Shells whose blocks would show commands that are not run.
const SHELLS: [&str; 4] = ["sh", "bash", "shell", "zsh"];

impl Page {
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, String> {
        let mut page = Self { path: path.to_owned(), steps: Vec::new(), answers: Vec::new() };
        page.read(text).map_err(|what| format!("{path}:{what}"))?;
        Ok(page)
    }

    fn read(&mut self, text: &str) -> Result<(), String> {
        let mut lines = text.lines().zip(1..);
        let mut pending = Pending::default();
        while let Some((line, number)) = lines.next() {
            let trimmed = line.trim();
            if let Some(fence) = fence_of(trimmed) {
                let indent = line.len() - line.trim_start().len();
                let mut content = Vec::new();
                loop {
                    let (line, _) = lines.next().ok_or_else(|| format!("{number}: the block does not end"))?;
                    if line.trim() == fence {
                        break;
                    }
                    content.push(line.get(indent..).unwrap_or(line.trim_start()));
                }
                self.block(trimmed.trim_start_matches('`').trim(), &content, number, std::mem::take(&mut pending))?;
            } else if let Some(start) = trimmed.strip_prefix("<!--") {
                let mut comment = start.to_owned();
                while !comment.contains("-->") {
                    let (line, _) = lines.next().ok_or_else(|| format!("{number}: the comment does not end"))?;
                    comment = comment + "\n" + line;
                }
                pending.take_comment(number, comment.split("-->").next().unwrap_or_default());
            } else if !trimmed.is_empty() {
                std::mem::take(&mut pending).end()?;
            }
        }
        pending.end()
    }

    fn block(&mut self, info: &str, content: &[&str], number: usize, pending: Pending) -> Result<(), String> {
        let mut words = info.split([',', ' ']).filter(|word| !word.is_empty());
        let language = words.next().unwrap_or_default();
        if SHELLS.contains(&language) && pending.file.is_none() && !pending.no_run {
            let marks = "mark it `console`, or write `<!-- no-run: REASON -->` before it";
            return Err(format!("{number}: a `{language}` block would not be run: {marks}"));
        }
        if !pending.answers.is_empty() && self.answers.is_empty() {
            self.steps.push(Step::Model);
        }
        self.answers.extend(pending.answers);
        if let Some(path) = pending.file {
            let text = content.iter().map(|line| format!("{line}\n")).collect();
            self.steps.push(Step::File { path, text });
        } else if language == "console" && words.any(|word| word == "no-run") {
            let missing = "a `console,no-run` block needs an HTML comment before it that says why it is not run";
            return pending.reason.then_some(()).ok_or_else(|| format!("{number}: {missing}"));
        } else if language == "console" {
            self.steps.extend(commands(content, number + 1)?.into_iter().map(Step::Run));
        }
        Ok(())
    }
}

/// The backticks that end the block which begins with this line.
fn fence_of(line: &str) -> Option<&str> {
    let ticks = line.len() - line.trim_start_matches('`').len();
    (ticks >= 3).then(|| &line[..ticks])
}

fn commands(content: &[&str], first: usize) -> Result<Vec<Command>, String> {
    let mut commands: Vec<Command> = Vec::new();
    let mut goes_on = false;
    for (line, number) in content.iter().zip(first..) {
        let script = line.strip_prefix("$ ");
        if let (true, Some(command)) = (goes_on, commands.last_mut()) {
            command.script = format!("{}\n{line}", command.script);
            goes_on = line.ends_with('\\');
        } else if let Some(script) = script {
            commands.push(Command { line: number, script: script.to_owned(), expected: Vec::new() });
            goes_on = script.ends_with('\\');
        } else if let Some(command) = commands.last_mut() {
            command.expected.push(line.trim_end().to_owned());
        } else {
            return Err(format!("{number}: a `console` block begins with a line `$ COMMAND`"));
        }
    }
    for command in &mut commands {
        while command.expected.last().is_some_and(String::is_empty) {
            command.expected.pop();
        }
    }
    Ok(commands)
}
