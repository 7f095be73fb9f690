//! Environments of programs.

use crate::environment;
use std::ffi::{OsStr, OsString};
use std::fmt;

/// Variables that every program gets: user, locale and tool paths, none of them secret. `*` matches any text.
pub const ALLOWED: &[&str] = &[
    // The user and the machine.
    "HOME",
    "HOSTNAME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TEMP",
    "TMP",
    "TMPDIR",
    "USER",
    "XDG_*_DIRS",
    "XDG_*_HOME",
    "XDG_RUNTIME_DIR",
    // Language, time and terminal.
    "CLICOLOR",
    "COLORTERM",
    "COLUMNS",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LINES",
    "NO_COLOR",
    "TERM",
    "TERMINFO",
    "TZ",
    // Editors and pagers.
    "EDITOR",
    "LESS",
    "MANPATH",
    "PAGER",
    "VISUAL",
    // Networks: certificates, and proxies without a password.
    "ALL_PROXY",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    // Package registries without a password.
    "CARGO_REGISTRIES_*_INDEX",
    "GOPROXY",
    "NPM_CONFIG_REGISTRY",
    "PIP_EXTRA_INDEX_URL",
    "PIP_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    // Compilers and libraries.
    "AR",
    "CC",
    "CFLAGS",
    "CPATH",
    "CPPFLAGS",
    "CXX",
    "CXXFLAGS",
    "LDFLAGS",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "MAKEFLAGS",
    "PKG_CONFIG_PATH",
    // Toolchains and version managers: where they are, and which version is chosen.
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CONDA_DEFAULT_ENV",
    "CONDA_EXE",
    "CONDA_PREFIX",
    "DENO_DIR",
    "DENO_INSTALL",
    "DOTNET_ROOT",
    "FNM_DIR",
    "FNM_MULTISHELL_PATH",
    "GEM_HOME",
    "GEM_PATH",
    "GOBIN",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "HOMEBREW_CELLAR",
    "HOMEBREW_PREFIX",
    "HOMEBREW_REPOSITORY",
    "JAVA_HOME",
    "M2_HOME",
    "MAVEN_HOME",
    "MISE_CONFIG_DIR",
    "MISE_DATA_DIR",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_SSL_CERT_FILE",
    "NODE_PATH",
    "NVM_BIN",
    "NVM_DIR",
    "NVM_INC",
    "OPAMROOT",
    "OPAM_SWITCH_PREFIX",
    "PIPX_HOME",
    "PNPM_HOME",
    "POETRY_HOME",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "PYTHONPATH",
    "RBENV_ROOT",
    "RBENV_VERSION",
    "RUSTFLAGS",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SDKMAN_DIR",
    "UV_CACHE_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

/// Prefix of the project's own variables.
const OWN_PREFIX: &str = "BUB_";

/// Secrets of at least this length are also searched for inside values (`postgres://me:SECRET@db`); shorter ones only
/// match whole values, since `test` is part of many paths.
const MIN_SECRET_INSIDE: usize = 8;

/// The complete environment of a program.
#[derive(Clone)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// The variables of this process's start that are [`ALLOWED`] or that `more` names.
    pub fn from_host(more: &[String]) -> Self {
        Self::new(environment::all()).only(more)
    }

    /// These variables without the project's own, which begin with `BUB_` in any case.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let variables = variables.into_iter().filter(|(name, _)| !matches(name, &format!("{OWN_PREFIX}*"))).collect();
        Self { variables }
    }

    /// Keeps the variables that are [`ALLOWED`] or that `more` names, ignoring case. `*` matches any text: `AWS_*`. An
    /// allowed variable that is a URL with a password must be named in `more`.
    #[must_use]
    pub fn only<N: AsRef<str>>(mut self, more: &[N]) -> Self {
        self.variables.retain(|(name, value)| {
            let is_allowed =
                || ALLOWED.iter().any(|pattern| matches(name, pattern)) && !environment::has_password(value);
            more.iter().any(|pattern| matches(name, pattern.as_ref())) || is_allowed()
        });
        self
    }

    /// Removes the variables whose value is one of these secrets, or contains one of at least 8 bytes.
    pub fn without_secrets<S: AsRef<str>>(mut self, secrets: &[S]) -> Self {
        self.variables.retain(|(_, value)| !secrets.iter().any(|secret| tells(value, secret.as_ref())));
        self
    }

    /// Without the variables of these names, ignoring case.
    #[must_use]
    pub fn without(mut self, names: &[&str]) -> Self {
        self.variables.retain(|(known, _)| !names.iter().any(|name| matches(known, name)));
        self
    }

    /// With these variables, whatever their names, in place of those of the same name.
    #[must_use]
    pub fn with(mut self, more: impl IntoIterator<Item = (String, OsString)>) -> Self {
        for (name, value) in more {
            let name = OsString::from(name);
            self.variables.retain(|(known, _)| *known != name);
            self.variables.push((name, value));
        }
        self
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }

    /// All names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

impl fmt::Debug for Environment {
    /// Shows names only: a value may be an unknown key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.iter().map(|(name, _)| name)).finish()
    }
}

/// Whether `pattern`, with at most one `*` for any text, matches `name`, ignoring case.
fn matches(name: &OsStr, pattern: &str) -> bool {
    let name = name.as_encoded_bytes().to_ascii_uppercase();
    let pattern = pattern.to_ascii_uppercase();
    match pattern.split_once('*') {
        None => name == pattern.as_bytes(),
        Some((start, end)) => {
            name.len() >= start.len() + end.len()
                && name.starts_with(start.as_bytes())
                && name.ends_with(end.as_bytes())
        }
    }
}

/// Whether `value` contains `secret`.
fn tells(value: &OsStr, secret: &str) -> bool {
    let (value, secret) = (value.as_encoded_bytes(), secret.trim().as_bytes());
    if secret.len() >= MIN_SECRET_INSIDE {
        contains(value, secret)
    } else {
        !secret.is_empty() && value.trim_ascii() == secret
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    word.is_empty() || text.windows(word.len()).any(|window| window == word)
}
