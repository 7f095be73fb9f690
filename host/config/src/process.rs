//! `[process]`: programs that plugins start.

use super::registries::Registry;
use anyhow::{Result, anyhow, bail, ensure};
use bub_egress::HostRule;
use bub_permissions::policy::NetworkMode;
use bub_permissions::policy::commands::CommandRules;
use bub_sandbox::{Limits, Setting};
use bub_types::suggest;
use bub_types::text::escaped;
use serde::{Deserialize, Deserializer};
use std::path::{Component, Path, PathBuf};

/// The largest file and the most memory that can be set, in mebibytes.
const MAX_MIB: u64 = 1 << 40;

/// Paths that can be listed.
const MAX_PATHS: usize = 128;

/// `[process]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Process {
    /// Variables that programs get in addition to [`bub_system::process::ALLOWED`]: names, or prefixes such as `AWS_*`.
    pub env: Vec<String>,
    /// Rules for the commands of tools that run programs.
    pub rules: CommandRules,
    /// What holds programs in a sandbox.
    #[serde(deserialize_with = "setting")]
    pub sandbox: Setting,
    /// Whether no program runs outside of a sandbox, also if there is none.
    pub strict: bool,
    /// Files and directories that programs in a sandbox may read, in addition to [`bub_sandbox::DEFAULT_READ`]: absolute,
    /// or `~/PATH`.
    pub read: Vec<String>,
    /// The same that they may write.
    pub write: Vec<String>,
    /// What programs in a sandbox may use.
    pub limits: ProcessLimits,
    /// What sandboxed programs of the owner's clean turns reach at most.
    pub network: NetworkMode,
    /// Hosts that they reach without being asked about: `example.com`, `*.example.com`, `127.0.0.1:8080`.
    pub allow_hosts: Vec<String>,
    /// Hosts that they never reach, and about which no question is asked.
    pub deny_hosts: Vec<String>,
    /// Package managers whose configured registries are among the allowed hosts; none: all.
    registries: Option<Vec<Registry>>,
}

/// `[process.limits]`; 0: no limit.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProcessLimits {
    /// Processes and threads.
    pub processes: u64,
    /// Memory in mebibytes.
    pub memory_mib: u64,
    /// The largest file, in mebibytes.
    pub file_mib: u64,
    /// CPU seconds of each process.
    pub cpu_seconds: u64,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        let Limits { processes, memory, file, cpu_seconds } = Limits::default();
        Self { processes, memory_mib: memory >> 20, file_mib: file >> 20, cpu_seconds }
    }
}

impl ProcessLimits {
    /// In bytes.
    pub fn limits(&self) -> Limits {
        let Self { processes, memory_mib, file_mib, cpu_seconds } = self.clone();
        Limits { processes, memory: memory_mib << 20, file: file_mib << 20, cpu_seconds }
    }
}

impl Process {
    /// The rules for hosts that programs reach: those that are written, and those of the registries as they are configured
    /// now.
    pub fn allowed_hosts(&self) -> Vec<HostRule> {
        let variables = bub_system::environment::all();
        let registries = self.registries().iter().flat_map(|registry| registry.hosts(variables.clone()));
        parsed(&self.allow_hosts).chain(registries).collect()
    }

    /// The package managers whose configured registries are among the allowed hosts.
    pub fn registries(&self) -> &[Registry] {
        self.registries.as_deref().unwrap_or(&Registry::ALL)
    }

    /// The rules for hosts that they never reach.
    pub fn denied_hosts(&self) -> Vec<HostRule> {
        parsed(&self.deny_hosts).collect()
    }

    pub(super) fn check(&self) -> Result<()> {
        for (key, rules) in [("allow_hosts", &self.allow_hosts), ("deny_hosts", &self.deny_hosts)] {
            for rule in rules {
                HostRule::parse(rule).map_err(|error| anyhow!("`process.{key}` of config.toml: {error}"))?;
            }
        }
        for name in &self.env {
            let plain = name.strip_suffix('*').unwrap_or(name);
            let is_name = !plain.is_empty() && plain.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            ensure!(
                is_name,
                "`process.env` of config.toml: `{}` is not the name of a variable, as in `DATABASE_URL` or `AWS_*`",
                name.escape_debug()
            );
            let is_own = name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("BUB_"));
            ensure!(
                !is_own,
                "`process.env` of config.toml: `{name}` is a variable of bub-wasm, which programs never get"
            );
        }
        for (key, paths) in [("read", &self.read), ("write", &self.write)] {
            ensure!(paths.len() <= MAX_PATHS, "`process.{key}` of config.toml has more than {MAX_PATHS} paths");
            paths.iter().try_for_each(|path| check_path(key, path))?;
        }
        for (key, value) in [("memory_mib", self.limits.memory_mib), ("file_mib", self.limits.file_mib)] {
            ensure!(value <= MAX_MIB, "`process.limits.{key}` of config.toml is `{value}`; at most {MAX_MIB} is taken");
        }
        Ok(())
    }

    /// The paths of `read` and `write` with the home of the user in place of `~`.
    pub fn paths(&self, home: Option<&Path>) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let expand = |path: &str| match path.strip_prefix("~/") {
            Some(inside) => home.map(|home| home.join(inside)),
            None => Some(PathBuf::from(path)),
        };
        let defaults = bub_sandbox::DEFAULT_READ.iter().copied();
        let read = defaults.chain(self.read.iter().map(String::as_str)).filter_map(expand).collect();
        (read, self.write.iter().map(String::as_str).filter_map(expand).collect())
    }
}

fn check_path(key: &str, path: &str) -> Result<()> {
    let shown = escaped(path, 80);
    let inside = path.strip_prefix("~/").or_else(|| path.strip_prefix('/'));
    let Some(inside) = inside.filter(|inside| !inside.is_empty() && !inside.starts_with('/')) else {
        bail!("`process.{key}` of config.toml: `{shown}` is neither an absolute path below `/` nor `~/PATH`");
    };
    let is_plain = Path::new(inside).components().all(|part| matches!(part, Component::Normal(_)));
    ensure!(
        is_plain && !path.contains('\0'),
        "`process.{key}` of config.toml: `{shown}` has `..` in it; write it without"
    );
    Ok(())
}

/// A setting by its name.
///
/// # Errors
///
/// There is none of that name. The error suggests one.
pub(super) fn parse_setting(name: &str) -> Result<Setting, String> {
    Setting::parse(name).ok_or_else(|| {
        let hint = suggest::hint(name, Setting::NAMES);
        format!("`sandbox` is `{}`, and can be `{}`{hint}", escaped(name, 40), Setting::NAMES.join("`, `"))
    })
}

fn setting<'de, D: Deserializer<'de>>(from: D) -> Result<Setting, D::Error> {
    let name = String::deserialize(from)?;
    parse_setting(&name).map_err(serde::de::Error::custom)
}

/// Rules that were checked when they were read.
fn parsed(rules: &[String]) -> impl Iterator<Item = HostRule> {
    rules.iter().filter_map(|rule| HostRule::parse(rule).ok())
}
