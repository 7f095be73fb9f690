//! Files that a program executes or obeys later. Changing one is more than changing data, so no permission to write
//! covers it.
//!
//! A path is matched by its components, at any depth of the workspace, ignoring case, and with everything below it;
//! both as the call names it and as it resolves, with links followed.

mod place;

pub use place::{named, resolve};

use serde::Deserialize;
use std::path::{Component, Path};

/// Built-in patterns, by the program that runs the file. `*` matches any part of one component.
///
/// Package scripts (`package.json`, `Makefile`, `build.rs`) are not included, because agents write them all the time.
/// `policy.runs_later` of config.toml can add them and other files.
pub const PATTERNS: &[(&str, &[&str])] = &[
    ("git", &[".git", "git~1", ".gitconfig", ".config/git", ".githooks", "githooks", "git-hooks"]),
    (
        // Of bare repositories, and of `core.hooksPath`.
        "git's hooks",
        &[
            "hooks/pre-*",
            "hooks/post-*",
            "hooks/*-msg",
            "hooks/update",
            "hooks/push-to-checkout",
            "hooks/proc-receive",
            "hooks/reference-transaction",
            "hooks/fsmonitor-watchman",
            "hooks/sendemail-validate",
            ".husky",
            ".huskyrc*",
            ".lefthook*",
            "lefthook*.y*ml",
            "lefthook.toml",
            ".pre-commit-config.y*ml",
            ".overcommit.yml",
        ],
    ),
    ("directory environments", &[".envrc", ".direnv", ".mise.toml", "mise.toml", ".autoenv*", "devenv.nix"]),
    (
        "shells",
        &[
            ".profile",
            ".bashrc",
            ".bash_*",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".kshrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".logout",
            ".inputrc",
            "fish/config.fish",
            "fish/conf.d",
            "fish/functions",
        ],
    ),
    (
        "the session of a user",
        &[
            ".xinitrc",
            ".xprofile",
            ".xsession*",
            ".pam_environment",
            ".config/autostart",
            ".config/systemd",
            ".config/environment.d",
            "LaunchAgents",
            ".ssh",
            ".gnupg",
            ".tmux.conf",
            ".screenrc",
        ],
    ),
    (
        "editors",
        &[
            ".vscode",
            "*.code-workspace",
            ".idea",
            ".fleet",
            ".zed",
            ".nova",
            ".vs",
            "*.sublime-project",
            ".devcontainer",
            ".devcontainer.json",
            ".vim",
            ".vimrc",
            ".exrc",
            ".nvimrc",
            ".nvim.lua",
            ".config/nvim",
            ".emacs",
            ".emacs.d",
            ".dir-locals*.el",
        ],
    ),
    ("agents", &[".claude", ".cursor", ".codex", ".gemini", ".windsurf", ".aider.conf.yml", ".mcp.json", ".bub"]),
    (
        "continuous integration",
        &[
            ".github/workflows",
            ".github/actions",
            ".gitea/workflows",
            ".forgejo/workflows",
            ".gitlab-ci.y*ml",
            ".gitlab/ci",
            ".circleci",
            ".travis.yml",
            ".woodpecker*",
            ".drone.y*ml",
            ".buildkite",
            ".cirrus.y*ml",
            "azure-pipelines*.y*ml",
            "bitbucket-pipelines.yml",
            "Jenkinsfile",
        ],
    ),
    (
        "settings of tools that name programs",
        &[
            ".gdbinit",
            ".lldbinit",
            ".pdbrc",
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".yarn",
            ".pnpmfile.cjs",
            ".cargo/config",
            ".cargo/config.toml",
            ".irbrc",
            ".pryrc",
            ".Rprofile",
        ],
    ),
];

/// Maximum length of a pattern, in bytes.
const MAX_PATTERN: usize = 256;

/// Maximum number of configured patterns.
const MAX_OWN: usize = 256;

/// `policy.runs_later` of config.toml: patterns in addition to [`PATTERNS`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct RunsLater(Vec<Vec<String>>);

impl TryFrom<Vec<String>> for RunsLater {
    type Error = String;

    fn try_from(patterns: Vec<String>) -> Result<Self, String> {
        if patterns.len() > MAX_OWN {
            return Err(format!("`policy.runs_later` has {} patterns; at most {MAX_OWN} are taken", patterns.len()));
        }
        patterns.iter().map(|pattern| parse(pattern)).collect::<Result<_, _>>().map(Self)
    }
}

impl RunsLater {
    /// The patterns in lower case, as they are compared.
    pub fn patterns(&self) -> Vec<String> {
        self.0.iter().map(|parts| parts.join("/")).collect()
    }

    /// Whether a file of that path runs later. The path is relative to the workspace, or absolute outside of it.
    pub fn holds(&self, path: &Path) -> bool {
        let path: Vec<String> = path
            .components()
            .filter_map(|part| match part {
                Component::Normal(part) => Some(folded(&part.to_string_lossy())),
                _ => None,
            })
            .collect();
        let own = self.0.iter().any(|pattern| stands_in(pattern, &path));
        own || PATTERNS.iter().flat_map(|(_, patterns)| *patterns).any(|pattern| {
            let pattern: Vec<String> = pattern.split('/').map(folded).collect();
            stands_in(&pattern, &path)
        })
    }
}

/// The components of a pattern.
fn parse(pattern: &str) -> Result<Vec<String>, String> {
    let wrong = |reason: &str| Err(format!("`{pattern}` of `policy.runs_later` {reason}"));
    if pattern.len() > MAX_PATTERN {
        return wrong(&format!("is longer than {MAX_PATTERN} bytes"));
    }
    if pattern.starts_with('/') || pattern.contains('\\') {
        return wrong("is not a path inside a workspace: write it with `/`, without a leading one");
    }
    let parts: Vec<String> = pattern.trim_end_matches('/').split('/').map(folded).collect();
    if parts.iter().any(|part| part.is_empty() || part.chars().all(|c| c == '*')) {
        return wrong("would match every file: name at least a part of each directory and file");
    }
    Ok(parts)
}

/// Whether the pattern matches the path or a directory above it.
fn stands_in(pattern: &[String], path: &[String]) -> bool {
    path.windows(pattern.len()).any(|parts| parts.iter().zip(pattern).all(|(part, pattern)| fits(pattern, part)))
}

/// Normalizes a component as file systems do: some ignore case, some trailing dots and spaces, some a stream name after
/// a colon, and some invisible characters.
fn folded(part: &str) -> String {
    let is_seen = |c: &char| !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let part: String = part.chars().filter(is_seen).flat_map(char::to_lowercase).collect();
    let named = part.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    if named.is_empty() { part } else { named.to_owned() }
}

/// Whether the pattern matches the component.
fn fits(pattern: &str, part: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == part };
    let Some(mut left) = part.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match left.find(piece) {
            Some(at) => left = left.get(at + piece.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    left.ends_with(last)
}
