//! Recognition of commands that destroy data irrevocably: files, history, machines, shared resources.
//!
//! A safeguard against accidents, not against attackers: programs named by variables, scripts and other interpreters are
//! not followed.

use super::shell::{Command, MAX_LINE, Script};
use bub_types::text::clipped;

/// Shells, whose arguments are commands.
const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "fish", "eval"];

/// Commands that wrap another command, which is checked too.
const WRAPPERS: [&str; 13] = [
    "sudo", "doas", "env", "nohup", "xargs", "exec", "command", "nice", "ionice", "setsid", "stdbuf", "timeout",
    "busybox",
];

/// Programs that are always destructive.
const ALWAYS: [&str; 19] = [
    "rm",
    "shred",
    "unlink",
    "truncate",
    "dd",
    "wipefs",
    "fdisk",
    "parted",
    "sgdisk",
    "blkdiscard",
    "mkswap",
    "shutdown",
    "reboot",
    "poweroff",
    "halt",
    "killall",
    "pkill",
    "userdel",
    "groupdel",
];

/// Words that are destructive anywhere: for databases, and code passed to interpreters.
const WORDS: [&str; 9] = [
    "drop table",
    "drop database",
    "drop schema",
    "truncate table",
    "delete from",
    "rmtree(",
    "rmsync(",
    "os.remove(",
    "os.unlink(",
];

/// Whether the program destroys something whatever its arguments are.
pub(super) fn is_always(program: &str) -> bool {
    ALWAYS.contains(&program) || program.starts_with("mkfs")
}

/// The destructive part of the command, clipped; `None` if none is recognized. A command of more than
/// [`MAX_LINE`] bytes counts as destructive.
pub fn destructive(command: &str) -> Option<String> {
    if command.len() > MAX_LINE {
        return Some(clipped(command, SHOWN));
    }
    within(command, MAX_DEPTH)
}

/// Maximum nesting of commands that run commands.
const MAX_DEPTH: usize = 4;

/// Characters of a command that a message shows.
const SHOWN: usize = 80;

fn within(command: &str, depth: usize) -> Option<String> {
    let lower = command.to_lowercase();
    if let Some(word) = WORDS.iter().find(|word| lower.contains(*word)) {
        return Some((*word).to_owned());
    }
    let mut script = Script::parse(command);
    let inputs = std::mem::take(&mut script.inputs);
    let commands = commands(script);
    // What a shell reads from a here document are commands.
    let is_shell = |words: &Vec<String>| words.iter().any(|word| SHELLS.contains(&program(word)));
    let inner = match depth > 0 && commands.iter().any(is_shell) {
        true => inputs.iter().find_map(|input| within(input, depth - 1)),
        false => None,
    };
    let found = commands.into_iter().find(|words| is_destructive(words, depth));
    found.map(|words| clipped(&words.join(" "), SHOWN)).or(inner)
}

/// The simple commands of a shell line, as lists of words, with the files that they write behind `>`.
fn commands(script: Script) -> Vec<Vec<String>> {
    let words = |command: Command| {
        let writes = command.writes.into_iter().flat_map(|file| [">".to_owned(), file.text]);
        command.words.into_iter().map(|word| word.text).chain(writes).collect()
    };
    script.commands.into_iter().map(words).collect()
}

fn is_destructive(words: &[String], depth: usize) -> bool {
    if to_a_device(words) {
        return true;
    }
    let Some(at) = words.iter().position(|word| !is_assignment(word)) else { return false };
    let program = program(&words[at]);
    let arguments: Vec<&str> = words[at + 1..].iter().map(String::as_str).collect();
    if WRAPPERS.contains(&program) {
        // The wrapped command follows the wrapper's options and their values: each word may begin it.
        let starts = (at + 1..words.len()).filter(|from| !WRAPPERS.contains(&self::program(&words[*from])));
        return starts.into_iter().any(|from| is_destructive(&words[from..], depth));
    }
    let has = |wanted: &[&str]| arguments.iter().any(|argument| wanted.contains(argument));
    let flag = |letter: char, long: &str| {
        arguments.iter().any(|argument| match argument.strip_prefix("--") {
            Some(name) => name == long || name.starts_with(&format!("{long}=")),
            None => argument.strip_prefix('-').is_some_and(|letters| letters.contains(letter)),
        })
    };
    let verbs: Vec<&str> = arguments.iter().filter(|argument| !argument.starts_with('-')).copied().collect();
    let begins = |wanted: &[&str]| verbs.len() >= wanted.len() && verbs.iter().zip(wanted).all(|(is, want)| is == want);
    match program {
        program if is_always(program) => true,
        program if SHELLS.contains(&program) => {
            depth > 0 && arguments.iter().any(|inner| within(inner, depth - 1).is_some())
        }
        "find" => {
            has(&["-delete"]) || (depth > 0 && follows(&arguments, &["-exec", "-execdir", "-ok", "-okdir"], depth - 1))
        }
        "kill" => true,
        "chmod" | "chown" | "chgrp" => flag('R', "recursive"),
        "crontab" => flag('r', "remove"),
        "rsync" => arguments.iter().any(|argument| argument.starts_with("--delete")),
        "systemctl" | "service" => has(&["stop", "disable", "mask", "kill"]),
        "git" => git(&arguments),
        "docker" | "podman" => has(&["rm", "rmi", "prune", "kill"]) || (has(&["down"]) && flag('v', "volumes")),
        "kubectl" | "oc" => has(&["delete", "drain", "replace"]),
        "terraform" | "tofu" | "pulumi" => has(&["destroy", "apply", "up"]),
        "helm" => has(&["uninstall", "delete", "rollback"]),
        "npm" | "pnpm" | "yarn" | "cargo" | "gem" => begins(&["publish"]) || has(&["unpublish", "yank", "push"]),
        "twine" => begins(&["upload"]),
        "gh" => has(&["delete", "archive"]),
        "aws" | "gsutil" | "az" | "gcloud" | "s3cmd" => {
            arguments.iter().any(|word| ["rm", "rb", "delete", "del"].contains(word) || word.starts_with("delete-"))
        }
        "apt" | "apt-get" | "dnf" | "yum" | "pacman" | "brew" | "pip" | "pip3" => {
            has(&["remove", "purge", "autoremove", "uninstall", "-R", "-Rs", "-Rns"])
        }
        _ => false,
    }
}

/// Whether the command after one of these markers is destructive.
fn follows(arguments: &[&str], markers: &[&str], depth: usize) -> bool {
    let runs = |(at, _): (usize, &&str)| {
        let inner: Vec<String> = arguments[at + 1..].iter().map(|word| (*word).to_owned()).collect();
        is_destructive(&inner, depth)
    };
    arguments.iter().enumerate().filter(|(_, argument)| markers.contains(argument)).take(MAX_DEPTH).any(runs)
}

fn git(arguments: &[&str]) -> bool {
    // Skip git's own options, some with values, before the subcommand.
    let mut rest = arguments;
    while let [option, tail @ ..] = rest
        && option.starts_with('-')
    {
        rest = if ["-C", "-c", "--git-dir", "--work-tree"].contains(option) {
            tail.get(1..).unwrap_or_default()
        } else {
            tail
        };
    }
    let [verb, options @ ..] = rest else { return false };
    let has = |wanted: &[&str]| options.iter().any(|option| wanted.contains(option));
    let flag = |letter: char, long: &str| {
        let is = |option: &&&str| match option.strip_prefix("--") {
            Some(name) => name.starts_with(long),
            None => option.strip_prefix('-').is_some_and(|letters| letters.contains(letter)),
        };
        options.iter().any(|option| is(&option))
    };
    match *verb {
        "push" => {
            flag('f', "force")
                || flag('d', "delete")
                || has(&["--mirror", "--prune"])
                || options.iter().any(|option| option.starts_with(['+', ':']))
        }
        "reset" => has(&["--hard", "--merge"]),
        "clean" => !flag('n', "dry-run"),
        "checkout" | "switch" => flag('f', "force") || has(&["--", ".", "--discard-changes"]),
        "restore" => !has(&["--staged", "-S"]) || flag('W', "worktree"),
        "branch" | "tag" => has(&["-D", "-d", "--delete"]),
        "stash" => has(&["drop", "clear"]),
        "reflog" => has(&["expire", "delete"]),
        "gc" => options.iter().any(|option| option.starts_with("--prune")),
        "worktree" => has(&["remove", "prune"]),
        "update-ref" => flag('d', "delete"),
        "filter-branch" | "filter-repo" | "rm" => true,
        _ => false,
    }
}

/// A program's name without its path.
fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// A `NAME=value` prefix of a command.
fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

/// Whether the command writes to a device.
fn to_a_device(words: &[String]) -> bool {
    let is_device = |path: &String| {
        let harmless = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];
        path.starts_with("/dev/") && !path.starts_with("/dev/fd/") && !harmless.contains(&path.as_str())
    };
    words.windows(2).any(|pair| pair[0] == ">" && is_device(&pair[1]))
}
