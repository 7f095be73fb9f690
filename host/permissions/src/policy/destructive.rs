//! Recognition of commands that destroy data irrevocably: files, history, machines, shared resources.
//!
//! A safeguard against accidents, not against attackers: commands are parsed roughly like a shell does, and programs
//! named by variables, scripts and other interpreters are not followed.

use bub_types::text::clipped;

/// Commands that wrap another command, which is checked too.
const WRAPPERS: [&str; 16] = [
    "sudo", "doas", "env", "nohup", "time", "xargs", "exec", "command", "nice", "ionice", "setsid", "stdbuf",
    "timeout", "busybox", "then", "do",
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

/// The destructive part of the command, clipped; `None` if none is recognized.
pub fn destructive(command: &str) -> Option<String> {
    if command.len() > MAX_COMMAND {
        return Some(clipped(command, SHOWN));
    }
    within(command, MAX_DEPTH)
}

/// Maximum length of a command, in bytes: a longer one counts as destructive.
const MAX_COMMAND: usize = 64 << 10;

/// Maximum nesting of commands that run commands.
const MAX_DEPTH: usize = 4;

/// Characters of a command that a message shows.
const SHOWN: usize = 80;

fn within(command: &str, depth: usize) -> Option<String> {
    let lower = command.to_lowercase();
    if let Some(word) = WORDS.iter().find(|word| lower.contains(*word)) {
        return Some((*word).to_owned());
    }
    commands(command)
        .into_iter()
        .find(|words| is_destructive(words, depth))
        .map(|words| clipped(&words.join(" "), SHOWN))
}

/// Splits a shell line into simple commands, as lists of words. Quoted text is one word, and also a line of its own if
/// a shell is invoked to run it.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let (mut word, mut quote, mut begun) = (String::new(), None, false);
    let mut characters = line.chars().peekable();
    let end = |word: &mut String, begun: &mut bool, all: &mut Vec<Vec<String>>| {
        if std::mem::take(begun)
            && let Some(last) = all.last_mut()
        {
            last.push(std::mem::take(word));
        }
    };
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', None | Some('"')) => match characters.next() {
                // A line continuation.
                Some('\n') | None => {}
                Some(escaped) => {
                    word.push(escaped);
                    begun = true;
                }
            },
            // Command substitution also applies within double quotes.
            ('`', None | Some('"')) => {
                end(&mut word, &mut begun, &mut all);
                all.push(Vec::new());
                quote = None;
            }
            ('$', None | Some('"')) if characters.peek() == Some(&'(') => {
                characters.next();
                end(&mut word, &mut begun, &mut all);
                all.push(Vec::new());
                quote = None;
            }
            (quoted, Some(by)) if quoted == by => quote = None,
            (other, Some(_)) => word.push(other),
            ('\'' | '"', None) => (quote, begun) = (Some(character), true),
            (';' | '&' | '|' | '\n' | '(' | ')' | '{' | '}', None) => {
                end(&mut word, &mut begun, &mut all);
                all.push(Vec::new());
            }
            ('>' | '<', None) => {
                end(&mut word, &mut begun, &mut all);
                if let Some(last) = all.last_mut() {
                    last.push(character.to_string());
                }
            }
            (space, None) if space.is_whitespace() => end(&mut word, &mut begun, &mut all),
            (other, None) => {
                word.push(other);
                begun = true;
            }
        }
    }
    end(&mut word, &mut begun, &mut all);
    all.retain(|words| !words.is_empty());
    all
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
        program if ALWAYS.contains(&program) || program.starts_with("mkfs") => true,
        "sh" | "bash" | "zsh" | "dash" | "fish" | "eval" => {
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
