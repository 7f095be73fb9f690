//! What is known of programs: which run others, and what a prefix of theirs permits.

/// Programs that run a program which their arguments name.
pub(super) const WRAPPERS: [&str; 27] = [
    "sudo", "doas", "su", "env", "nohup", "time", "xargs", "exec", "command", "builtin", "nice", "ionice", "setsid",
    "stdbuf", "timeout", "busybox", "toybox", "parallel", "watch", "find", "fd", "strace", "chroot", "unshare",
    "nsenter", "flock", "script",
];

/// Programs whose arguments are commands of a shell.
pub(super) const SHELLS: [&str; 12] =
    ["sh", "bash", "zsh", "dash", "ash", "ksh", "mksh", "fish", "csh", "tcsh", "eval", "trap"];

/// Further programs that run whatever they are told, or change what later commands of the line mean.
const OPEN: [&str; 62] = [
    "python",
    "python2",
    "python3",
    "pypy",
    "pypy3",
    "ipython",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "osascript",
    "R",
    "Rscript",
    "julia",
    "ghci",
    "irb",
    "awk",
    "gawk",
    "mawk",
    "sed",
    "ed",
    "vi",
    "vim",
    "nvim",
    "emacs",
    "nano",
    "gdb",
    "lldb",
    "ssh",
    "scp",
    "rsync",
    "tar",
    "npx",
    "bunx",
    "pipx",
    "uvx",
    "source",
    ".",
    "alias",
    "unalias",
    "shopt",
    "set",
    "export",
    "declare",
    "typeset",
    "readonly",
    "local",
    "enable",
    "hash",
    "let",
    "printf",
    "test",
    "[",
    "read",
    "unset",
    "mapfile",
];

/// Further ones of the shell.
const BUILTINS: [&str; 10] =
    ["readarray", "wait", "compgen", "complete", "bind", "fc", "history", "pushd", "popd", "getopts"];

/// Words after a program that let it run what follows.
const OPEN_VERBS: [(&str, &[&str]); 12] = [
    ("docker", &["run", "exec"]),
    ("podman", &["run", "exec"]),
    ("kubectl", &["exec", "run"]),
    ("uv", &["run", "tool"]),
    ("poetry", &["run"]),
    ("bundle", &["exec"]),
    ("npm", &["exec", "x"]),
    ("pnpm", &["exec", "dlx"]),
    ("yarn", &["exec", "dlx"]),
    ("go", &["run"]),
    ("git", &["config", "bisect", "rebase", "submodule", "filter-branch", "difftool", "mergetool"]),
    ("cargo", &["script", "install", "config"]),
];

/// Options that let a program run another, or write any file, by the program.
const OPEN_OPTIONS: [(&str, &[&str]); 2] = [
    (
        "git",
        &[
            "-c",
            "--config",
            "--config-env",
            "--exec-path",
            "--upload-pack",
            "--receive-pack",
            "--exec",
            "-x",
            "-u",
            "--ext-diff",
            "--textconv",
            "-O",
            "--open-files-in-pager",
            "--output",
            "--git-dir",
            "--work-tree",
            "-C",
        ],
    ),
    ("cargo", &["--config", "-Z"]),
];

/// Programs whose first argument is a command of theirs.
pub(super) const SUBCOMMANDS: [&str; 22] = [
    "git",
    "cargo",
    "npm",
    "pnpm",
    "yarn",
    "go",
    "docker",
    "podman",
    "kubectl",
    "helm",
    "gh",
    "apt",
    "brew",
    "pip",
    "pip3",
    "uv",
    "poetry",
    "rustup",
    "systemctl",
    "terraform",
    "bub-wasm",
    "just",
];

/// Programs that only show something, whatever their arguments are.
pub(super) const SHOWING: [&str; 29] = [
    "ls",
    "cat",
    "head",
    "tail",
    "wc",
    "grep",
    "egrep",
    "fgrep",
    "echo",
    "pwd",
    "stat",
    "file",
    "du",
    "df",
    "which",
    "whoami",
    "uname",
    "id",
    "cut",
    "tr",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "cmp",
    "true",
    "false",
    "nl",
    "sha256sum",
];

/// A program's name without its path.
pub(super) fn name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// Whether a prefix of these words would permit any program: only the exact command may be allowed.
pub(super) fn is_open(words: &[String]) -> bool {
    let [program, arguments @ ..] = words else { return true };
    let program = name(program);
    // `python3.12` is `python`.
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_in = |list: &[&str]| list.contains(&program) || list.contains(&plain);
    is_in(&WRAPPERS)
        || is_in(&SHELLS)
        || is_in(&OPEN)
        || is_in(&BUILTINS)
        || super::super::destructive::is_always(program)
        || OPEN_VERBS.iter().any(|(known, verbs)| {
            *known == program && arguments.iter().any(|argument| verbs.contains(&argument.as_str()))
        })
}

/// Whether a further argument of that program may make it run another.
pub(super) fn opens(program: &str, argument: &str) -> bool {
    OPEN_OPTIONS.iter().filter(|(known, _)| *known == name(program)).any(|(_, options)| {
        options.iter().any(|option| match option.strip_prefix("--") {
            // Long options may be shortened, and have their value behind an equals sign.
            Some(long) => argument.strip_prefix("--").is_some_and(|given| {
                let given = given.split('=').next().unwrap_or_default();
                given.len() >= 2 && long.starts_with(given)
            }),
            None => argument.starts_with(option) && !argument.starts_with("--"),
        })
    })
}
