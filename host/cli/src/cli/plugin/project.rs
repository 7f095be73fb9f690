//! `bub-plugin.toml`: how the project of a plugin is built and tested.

use anyhow::{Context, Result, bail};
use bub_types::plugin_name::check_name;
use bub_types::text::one_line;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

/// The file that makes a directory the project of a plugin.
pub(super) const FILE: &str = "bub-plugin.toml";

/// The largest project file, in bytes.
const MAX_FILE: u64 = 64 << 10;

/// The folder of recorded calls, unless the file names another.
const FIXTURES: &str = "fixtures";

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    language: String,
    build: Commands,
    #[serde(default)]
    test: Commands,
    artifact: PathBuf,
    config: Option<PathBuf>,
    fixtures: Option<PathBuf>,
    #[serde(default)]
    needs: BTreeMap<String, String>,
}

/// One command, or several that run in order.
#[derive(Deserialize)]
#[serde(untagged)]
enum Commands {
    One(String),
    Several(Vec<String>),
}

impl Default for Commands {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl From<Commands> for Vec<String> {
    fn from(commands: Commands) -> Self {
        match commands {
            Commands::One(command) => vec![command],
            Commands::Several(commands) => commands,
        }
    }
}

/// The project of a plugin.
#[derive(Debug)]
pub(super) struct Project {
    /// Its directory.
    pub(super) dir: PathBuf,
    /// The plugin's name.
    pub(super) name: String,
    pub(super) language: String,
    /// The commands that make the artifact, run by a shell in the directory.
    pub(super) build: Vec<String>,
    /// The commands of the language's own tests.
    pub(super) test: Vec<String>,
    artifact: PathBuf,
    config: Option<PathBuf>,
    fixtures: PathBuf,
    /// How to get the programs that the commands need.
    needs: BTreeMap<String, String>,
}

impl Project {
    /// Reads the project file of that directory.
    ///
    /// # Errors
    ///
    /// There is none, or it is wrong.
    pub(super) fn read(dir: &Path) -> Result<Self> {
        let file = dir.join(FILE);
        let shown = one_line(&file.display().to_string());
        let opened = match std::fs::File::open(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!(
                    "there is no `{shown}`: this is not the project of a plugin; `bub-wasm plugin new NAME` makes one"
                )
            }
            opened => opened.with_context(|| format!("`{shown}`"))?,
        };
        let mut text = String::new();
        opened.take(MAX_FILE + 1).read_to_string(&mut text).with_context(|| format!("`{shown}`"))?;
        if text.len() as u64 > MAX_FILE {
            bail!("`{shown}` is larger than {} KiB", MAX_FILE >> 10);
        }
        let written: Written = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            anyhow::anyhow!("`{shown}`, line {line}: {}", one_line(error.message()))
        })?;
        written.check(dir).with_context(|| format!("`{shown}`"))
    }

    /// The component that `build` makes, relative to the directory unless cargo builds elsewhere.
    pub(super) fn relative_artifact(&self) -> PathBuf {
        // A target folder that the user has set for all projects.
        let elsewhere = || Some(PathBuf::from(std::env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty())?));
        match self.artifact.strip_prefix("target") {
            Ok(rest) if self.language == "rust" => {
                elsewhere().map_or_else(|| self.artifact.clone(), |dir| dir.join(rest))
            }
            _ => self.artifact.clone(),
        }
    }

    /// The component that `build` makes.
    pub(super) fn artifact(&self) -> PathBuf {
        self.dir.join(self.relative_artifact())
    }

    /// The file with an example of the plugin's configuration.
    pub(super) fn config(&self) -> Option<PathBuf> {
        Some(self.dir.join(self.config.as_ref()?))
    }

    /// The folder of recorded calls.
    pub(super) fn fixtures(&self) -> PathBuf {
        self.dir.join(&self.fixtures)
    }
}

impl Written {
    fn check(self, dir: &Path) -> Result<Project> {
        let Self { name, language, build, test, artifact, config, fixtures, needs } = self;
        check_name(&name).with_context(|| format!("`name` is `{}`", one_line(&name)))?;
        let (build, test): (Vec<String>, Vec<String>) = (build.into(), test.into());
        if build.is_empty() {
            bail!("`build` has no command");
        }
        for (key, command) in [("build", &build), ("test", &test)]
            .into_iter()
            .flat_map(|(key, all)| all.iter().map(move |one| (key, one)))
        {
            if command.trim().is_empty() || command.contains('\0') {
                bail!("`{key}` has an empty command, or one with a zero byte");
            }
        }
        let paths = [("artifact", Some(&artifact)), ("config", config.as_ref()), ("fixtures", fixtures.as_ref())];
        for (key, path) in paths.into_iter().filter_map(|(key, path)| Some((key, path?))) {
            let is_inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            if path.as_os_str().is_empty() || !is_inside {
                bail!(
                    "`{key}` is `{}`: it must be a path inside of the project",
                    one_line(&path.display().to_string())
                );
            }
        }
        let fixtures = fixtures.unwrap_or_else(|| FIXTURES.into());
        Ok(Project {
            dir: dir.to_owned(),
            name,
            language: one_line(&language),
            build,
            test,
            artifact,
            config,
            fixtures,
            needs,
        })
    }
}

/// One line for each program that a command needs and that is not in the PATH.
pub(super) fn missing_programs(project: &Project) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    for (key, commands) in [("build", &project.build), ("test", &project.test)] {
        for program in commands.iter().filter_map(|command| program(command)) {
            let place = if program.contains('/') { "is not there" } else { "is not in the PATH" };
            let line = |how: &str| format!("`{program}` {place}, and `{key}` of {FILE} needs it; to get it: {how}");
            let is_named = missing.iter().any(|line| line.starts_with(&format!("`{program}` ")));
            if !is_named && !is_there(program, &project.dir) {
                let how = project.needs.get(program).map_or_else(|| "install it".to_owned(), |how| one_line(how));
                missing.push(line(&how));
            }
        }
    }
    missing
}

/// The program that a command runs first; `None` where only a shell could tell.
fn program(command: &str) -> Option<&str> {
    let first = command.split_whitespace().find(|word| !is_assignment(word))?;
    let is_plain = first.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./+".contains(letter));
    is_plain.then_some(first)
}

/// Whether a word in front of a command sets a variable.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    })
}

fn is_there(program: &str, dir: &Path) -> bool {
    if program.contains('/') {
        return dir.join(program).exists();
    }
    let builtin = ["cd", "test", "true", "false", "echo", "export", "exec", "set", "exit", ".", ":"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    builtin.contains(&program) || std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}
