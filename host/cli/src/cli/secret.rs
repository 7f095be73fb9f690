//! `secret`: secrets that guests use without seeing them.

use anyhow::{Context, Result, bail};
use bub_egress::secret::{NewValue, Origin, Secrets, Value, check_name};
use clap::Subcommand;
use serde_json::json;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Bytes that are read of a value: more than the limit, so that a longer one is refused and not cut.
const MAX_READ: u64 = 128 << 10;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Store a secret; its value is prompted for, because other users can see arguments
    Set(Set),
    /// List secrets with their source and their hosts, without values
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a secret
    Remove {
        /// Name of the secret
        #[arg(value_parser = name)]
        name: String,
    },
}

#[derive(clap::Args)]
struct Set {
    /// Name of the secret, in `a-z`, `0-9`, `_` and `-`, as in `telegram`
    #[arg(value_parser = name)]
    name: String,
    /// Host that the secret may be sent to: `api.example.com`, or `*.example.com` for its subdomains. Without a host, it
    /// can only be compared and used for signatures
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// Read the value from this file at each use
    #[arg(long, value_name = "PATH", conflicts_with = "value_stdin")]
    file: Option<PathBuf>,
    /// Read the value from standard input
    #[arg(long)]
    value_stdin: bool,
}

pub(super) fn run(arguments: &Arguments, home: &Path) -> Result<ExitCode> {
    let mut secrets = load(home)?;
    match &arguments.command {
        Command::Set(set) => keep(&mut secrets, set)?,
        Command::List { json } => {
            let mut out = std::io::stdout().lock();
            match json {
                true => writeln!(out, "{:#}", as_json(&secrets)?)?,
                false => write!(out, "{}", as_text(&secrets)?)?,
            }
        }
        Command::Remove { name } => {
            secrets.remove(name)?;
            if let Ok(Origin::Variable(variable)) = secrets.origin(name) {
                tell(&format!("secret `{name}` is still set in the environment, as `{variable}`"))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The secrets of that home and of the environment.
pub(super) fn load(home: &Path) -> Result<Secrets> {
    // Variables that are not UTF-8 are ignored.
    let environment = bub_system::environment::all()
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Ok(Secrets::load(home, environment)?)
}

fn keep(secrets: &mut Secrets, set: &Set) -> Result<()> {
    let value = match &set.file {
        Some(path) => {
            let path = std::path::absolute(path).with_context(|| format!("`{}` is no path", path.display()))?;
            NewValue::File(path)
        }
        None => NewValue::Text(ask(set)?),
    };
    secrets.set(&set.name, value, &set.hosts)?;
    if set.hosts.is_empty() {
        tell(&format!("secret `{}` is bound to no host: it goes into no request (`--host` binds it)", set.name))?;
    }
    if let Origin::Variable(variable) = secrets.origin(&set.name)? {
        tell(&format!("`{variable}` of the environment overrides the value of secret `{}`", set.name))?;
    }
    Ok(())
}

/// Reads the value from standard input: one hidden line of a terminal, or everything from others.
fn ask(set: &Set) -> Result<Value> {
    if std::io::stdin().is_terminal() {
        let value = rpassword::prompt_password(format!("value of secret `{}`: ", set.name));
        return Ok(Value::new(value.context("the value cannot be asked for")?));
    }
    if !set.value_stdin {
        bail!("there is no terminal to ask for the value: give `--value-stdin` or `--file PATH`");
    }
    let mut value = Vec::new();
    std::io::stdin().lock().take(MAX_READ).read_to_end(&mut value).context("standard input cannot be read")?;
    Ok(Value::new(value))
}

fn as_json(secrets: &Secrets) -> Result<serde_json::Value> {
    let mut rows = Vec::new();
    for name in secrets.names() {
        let (source, place) = match secrets.origin(&name)? {
            Origin::Written => ("secrets.toml", None),
            Origin::File(path) => ("file", Some(path.display().to_string())),
            Origin::Variable(variable) => ("environment", Some(variable)),
            Origin::Missing => ("missing", None),
        };
        let hosts = secrets.hosts(&name)?;
        rows.push(json!({ "name": name, "hosts": hosts, "source": source, "place": place }));
    }
    Ok(json!({ "secrets": rows }))
}

fn as_text(secrets: &Secrets) -> Result<String> {
    let mut text = String::new();
    for name in secrets.names() {
        let source = match secrets.origin(&name)? {
            Origin::Written => "secrets.toml".to_owned(),
            Origin::File(path) => path.display().to_string(),
            Origin::Variable(variable) => variable,
            Origin::Missing => "no value".to_owned(),
        };
        let hosts = secrets.hosts(&name)?;
        let hosts = if hosts.is_empty() { "no host".to_owned() } else { hosts.join(", ") };
        text.push_str(&format!("{name:<24} {source:<24} {hosts}\n"));
    }
    Ok(text)
}

fn name(text: &str) -> Result<String, String> {
    check_name(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

fn tell(line: &str) -> std::io::Result<()> {
    writeln!(std::io::stderr(), "{line}")
}
