//! `doctor`: checks the installation, and says what to do about each problem.

mod audit;
mod bundle;
mod database;
mod grants;
mod mcp;
mod proxy;
mod sandbox;
pub(crate) mod settings;
mod signatures;
mod tapes;
mod telemetry;

use crate::cli::progress;
use anyhow::Result;
use bub_config::Config;
use bub_model::ProbeResult;
use bub_permissions::shell_word;
use bub_runtime::channel::Printer;
use bub_runtime::host::Host;
use bub_runtime::plugin::{Source, grant_command};
use bub_runtime::turn::CallScope;
use bub_system::process::Environment;
use bub_types::text::one_line;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Show every key of the configuration with its default and its current value
    #[arg(long)]
    config: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write a bundle for a bug report: a `.tar.gz` without secrets and without text of conversations
    #[arg(long, value_name = "FILE", conflicts_with_all = ["config", "json"])]
    bundle: Option<PathBuf>,
}

/// The result of one check.
struct Diagnostic {
    what: String,
    state: State,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Well,
    /// It works and could be improved.
    Note,
    /// Something that is configured does not work.
    Wrong,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Well => "ok",
            Self::Note => "note",
            Self::Wrong => "wrong",
        }
    }
}

fn diagnostic(what: impl Into<String>, state: State, text: impl Into<String>) -> Diagnostic {
    Diagnostic { what: what.into(), state, text: text.into() }
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    if arguments.config {
        settings::print(&mut out, &config, arguments.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (database, is_usable) = database::diagnostics(&config).await;
    if !is_usable && arguments.bundle.is_none() {
        // Nothing else of the program starts without its tapes.
        let mut diagnostics = files(&config);
        diagnostics.extend(database);
        return print(&mut out, &config, arguments.json, diagnostics);
    }
    let recorded = arguments.bundle.as_ref().map(|_| bundle::record_log());
    let host = progress::start(config, workspace, Box::new(Printer)).await?;
    let mut diagnostics = files(&host.config);
    diagnostics.push(diagnostic("engine", State::Well, host.engines.describe()));
    diagnostics.push(cache(&host));
    diagnostics.push(toolchain());
    diagnostics.push(reach(&host).await);
    diagnostics.push(proxy::diagnostic(&host).await);
    diagnostics.extend(sandbox::diagnostics(&host));
    diagnostics.extend(telemetry::diagnostics(&host.config).await);
    diagnostics.extend(audit::diagnostics(&host.config));
    diagnostics.extend(plugins(&host));
    diagnostics.extend(signatures::diagnostics(&host.config));
    if arguments.bundle.is_none() {
        // The output of a plugin at a fault may quote a conversation.
        diagnostics.extend(quarantined(&host));
    }
    diagnostics.extend(grants::diagnostics(&host));
    diagnostics.extend(mcp::diagnostics(&host.config));
    diagnostics.push(trust(&host));
    diagnostics.extend(budget(&host).await);
    diagnostics.extend(database);
    diagnostics.extend(tapes::diagnostics(&host).await);
    if let (Some(file), Some(log)) = (&arguments.bundle, recorded) {
        redact(&mut diagnostics, &host.config);
        bundle::write(file, &host, &diagnostics, log)?;
        writeln!(out, "wrote `{}`; look through it before you send it", file.display())?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&mut out, &host.config, arguments.json, diagnostics)
}

/// Hides secrets in texts of plugins and servers.
fn redact(diagnostics: &mut [Diagnostic], config: &Config) {
    for found in diagnostics {
        (found.what, found.text) = (config.redact(&found.what), config.redact(&found.text));
    }
}

fn print(out: &mut impl Write, config: &Config, as_json: bool, mut diagnostics: Vec<Diagnostic>) -> Result<ExitCode> {
    redact(&mut diagnostics, config);
    let is_wrong = diagnostics.iter().any(|diagnostic| diagnostic.state == State::Wrong);
    if as_json {
        let all = diagnostics
            .iter()
            .map(|found| json!({ "what": found.what, "state": found.state.name(), "text": found.text }));
        writeln!(out, "{:#}", json!({ "findings": all.collect::<Vec<_>>() }))?;
    } else {
        for found in &diagnostics {
            writeln!(out, "{:<5} {}: {}", found.state.name(), found.what, found.text)?;
        }
    }
    Ok(if is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The configuration was read already; this checks which other users can read it.
fn files(config: &Config) -> Vec<Diagnostic> {
    let file = config.file();
    let read = if file.exists() {
        format!("`{}`", file.display())
    } else {
        format!("`{}` is not there; defaults hold", file.display())
    };
    let mut diagnostics = vec![diagnostic("configuration", State::Well, read)];
    // Loading refuses secrets.toml with open permissions; these are the other files that may hold a key.
    for path in &config.exposed {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let text = format!("other users can read `{0}`, which may hold keys; chmod 600 {0}", path.display());
        diagnostics.push(diagnostic(name, State::Note, text));
    }
    for unread in &config.unread {
        diagnostics.push(diagnostic(&unread.name, State::Note, format!("is not read: {}", unread.advice)));
    }
    let secrets = config.secrets.names();
    if !secrets.is_empty() {
        diagnostics.push(diagnostic("secrets", State::Well, secrets.join(" ")));
    }
    diagnostics
}

/// Whether compiled plugins can be cached.
fn cache(host: &Host) -> Diagnostic {
    match host.cache.trouble() {
        None => diagnostic("cache", State::Well, format!("`{}`", host.config.cache_dir.display())),
        Some(trouble) => diagnostic("cache", State::Note, format!("{trouble}; every start compiles every plugin anew")),
    }
}

/// Whether plugins can be built here.
fn toolchain() -> Diagnostic {
    let what = "toolchain for guests";
    let sysroot = std::process::Command::new("rustc")
        .args(["--print", "sysroot"])
        .env_clear()
        .envs(Environment::from_host(&[]).iter())
        .output();
    let Some(sysroot) = sysroot.ok().filter(|output| output.status.success()) else {
        return diagnostic(what, State::Note, "there is no rustc; it is needed only to build plugins in Rust");
    };
    let sysroot = String::from_utf8_lossy(&sysroot.stdout);
    match Path::new(sysroot.trim()).join("lib/rustlib/wasm32-wasip2").exists() {
        true => diagnostic(what, State::Well, "rustc with wasm32-wasip2"),
        false => diagnostic(what, State::Note, "plugins in Rust need one more target: rustup target add wasm32-wasip2"),
    }
}

/// Whether the configured model can be reached.
async fn reach(host: &Host) -> Diagnostic {
    let label = &host.config.model.model;
    let what = format!("model `{label}`");
    match bub_model::split(label) {
        Err(error) => return diagnostic(what, State::Wrong, error.message),
        Ok((provider, _)) if host.plugins().provider(provider).is_some() => {
            let text = match label == bub_config::DEFAULT_MODEL {
                true => "is a demo without a language model; set `BUB_MODEL` to talk to one",
                false => "a plugin answers",
            };
            return diagnostic(what, State::Well, text);
        }
        Ok(_) => {}
    }
    match host.model.probe(label).await {
        Ok(ProbeResult::Listed(text)) => diagnostic(what, State::Well, text),
        Ok(ProbeResult::Answers(text)) => diagnostic(what, State::Note, text),
        Err(error) => {
            // The error already names the model.
            let text = error.message.strip_prefix(&format!("{what}: ")).unwrap_or(&error.message).to_owned();
            diagnostic(what, State::Wrong, text)
        }
    }
}

fn plugins(host: &Arc<Host>) -> Vec<Diagnostic> {
    let set = host.plugins();
    let mut diagnostics = Vec::new();
    for plugin in set.iter() {
        let what = format!("plugin `{}`", plugin.name);
        let missing = host.grants.missing(plugin);
        if host.grants.is_for_other_bytes(plugin) {
            let text = format!(
                "its bytes differ from those that were granted; {} confirms them",
                grant_command(&plugin.name, &missing)
            );
            diagnostics.push(diagnostic(what, State::Note, text));
        } else if plugin.source != Source::Embedded && !missing.is_empty() {
            let text = format!("{}; {}", set.lack(&host.grants, plugin).0, grant_command(&plugin.name, &missing));
            diagnostics.push(diagnostic(what, State::Note, text));
        } else {
            diagnostics.push(diagnostic(what, State::Well, plugin.hook_names().join(" ")));
        }
    }
    diagnostics.extend(
        set.failed.iter().map(|(name, reason)| diagnostic(format!("plugin `{name}`"), State::Wrong, reason.clone())),
    );
    diagnostics.extend(set.untrusted.iter().map(|file| {
        let text =
            format!("is not run; bub-wasm plugin trust {}, if you trust it", shell_word(&file.path.to_string_lossy()));
        diagnostic(format!("plugin `{}` of this workspace", one_line(&file.name)), State::Note, text)
    }));
    if let Some(gate) = CallScope::new(host).absent_gate() {
        let text = "cannot judge: it did not load or is not granted its hook, and every tool call is denied";
        diagnostics.push(diagnostic(format!("gate `{gate}`"), State::Wrong, text));
    }
    diagnostics
}

/// Plugins that kept breaking.
fn quarantined(host: &Host) -> impl Iterator<Item = Diagnostic> {
    host.quarantined().into_iter().map(|held| {
        diagnostic(format!("plugin `{}`", held.plugin), State::Note, format!("hook `{}` is {held}", held.hook))
    })
}

/// The remaining budget of the day, if there is one.
async fn budget(host: &Host) -> Option<Diagnostic> {
    let limit = host.config.budget.tokens_per_day?;
    Some(match host.budget.usage().used_today().await {
        Ok(used) if used < limit => {
            diagnostic("budget", State::Well, format!("{used} of {limit} tokens are used today"))
        }
        Ok(used) => {
            let text = format!(
                "today's budget is used up: {used} tokens of {limit}, and no model is called before midnight; `tokens_per_day` in `[budget]` of config.toml raises it"
            );
            diagnostic("budget", State::Note, text)
        }
        Err(why) => {
            let place = host.budget.usage().place();
            let text = format!("the usage log cannot be read in `{place}`, and no model is called: {why}");
            diagnostic("budget", State::Wrong, text)
        }
    })
}

fn trust(host: &Host) -> Diagnostic {
    let what = format!("workspace `{}`", host.workspace.display());
    match (host.config.trusts(&host.workspace), host.workspace.join("AGENTS.md").exists()) {
        (true, _) => diagnostic(what, State::Well, "is trusted"),
        (false, false) => diagnostic(what, State::Well, "is not trusted, and has no AGENTS.md"),
        (false, true) => {
            let text = "is not trusted: it has an AGENTS.md, so the agent asks before it changes or runs anything; bub-wasm trust, if you vouch for it";
            diagnostic(what, State::Note, text)
        }
    }
}
