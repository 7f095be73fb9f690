//! What of a user's home programs need, and what no program of a sandbox should be told of.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What programs may read of the home by default: toolchains and settings of git, none of them a secret.
///
/// `~/.cargo` is not listed as a whole, because `credentials.toml` is in it; nor are `~/.npmrc` and `~/.config/pip`, which
/// may have tokens.
pub const READ: &[&str] = &[
    "~/.asdf",
    "~/.bun/bin",
    "~/.cargo/bin",
    "~/.cargo/config",
    "~/.cargo/config.toml",
    "~/.cargo/env",
    "~/.cargo/git",
    "~/.cargo/registry",
    "~/.config/git/config",
    "~/.config/git/ignore",
    "~/.conda",
    "~/.deno/bin",
    "~/.dotnet",
    "~/.ghcup",
    "~/.gitconfig",
    "~/.julia",
    "~/.local/bin",
    "~/.local/lib",
    "~/.local/share/fnm",
    "~/.local/share/mise",
    "~/.local/share/pipx",
    "~/.local/share/pnpm",
    "~/.local/share/uv",
    "~/.m2/repository",
    "~/.nix-profile",
    "~/.nvm",
    "~/.opam",
    "~/.pyenv",
    "~/.rbenv",
    "~/.rustup",
    "~/.rvm",
    "~/.sdkman",
    "~/.volta",
    "~/anaconda3",
    "~/bin",
    "~/go/bin",
    "~/go/pkg/mod",
    "~/miniconda3",
];

/// Files of a home that hold secrets or run later. They are out of reach even if the workspace is the home.
pub(crate) const SECRET: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/google-chrome",
    ".config/chromium",
    ".mozilla",
    ".thunderbird",
    ".kube",
    ".docker",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".config/git/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".local/share/keyrings",
    ".password-store",
    ".vault-token",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".codex",
    ".claude",
    ".claude.json",
    ".gemini",
];

/// Files of a home that a login or a shell obeys. They stay as they are even if the workspace is the home.
pub(crate) const OBEYED: &[&str] = &[
    ".profile",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".inputrc",
    ".gitconfig",
    ".config",
    ".local/bin",
    ".local/share/applications",
    ".xinitrc",
    ".xprofile",
    ".pam_environment",
    ".vimrc",
    ".cargo",
    ".rustup",
    "bin",
];

/// Variables that point to sockets of agents, desktops and daemons. Confined programs do not get them.
pub const SOCKET_VARIABLES: &[&str] = &[
    "CONTAINER_HOST",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_HOST",
    "GNOME_KEYRING_CONTROL",
    "GPG_AGENT_INFO",
    "KRB5CCNAME",
    "NOTIFY_SOCKET",
    "PODMAN_HOST",
    "PULSE_SERVER",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "TMUX",
    "TMUX_TMPDIR",
    "TMPDIR",
    "TEMP",
    "TMP",
    "VSCODE_IPC_HOOK_CLI",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// Directories of `PATH` that lie in the home, below it: a user puts programs there on purpose. The home itself and what
/// holds secrets is left out.
pub(crate) fn of_path(path: Option<&OsStr>, home: &Path, hide: &[PathBuf]) -> Vec<PathBuf> {
    let folders = path.map(|path| std::env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
    let is_fit = |folder: &PathBuf| {
        let inside = folder.strip_prefix(home).is_ok_and(|rest| rest.components().count() > 0);
        let is_plain = !folder.components().any(|part| part == std::path::Component::ParentDir);
        let is_secret = SECRET.iter().map(|secret| home.join(secret)).any(|secret| touches(folder, &secret));
        inside && is_plain && !is_secret && !hide.iter().any(|hidden| touches(folder, hidden))
    };
    folders.into_iter().filter(is_fit).collect()
}

/// Whether one of the paths contains the other.
fn touches(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
