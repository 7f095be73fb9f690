//! `plugin key` and `plugin sign`: keys of authors, and signatures of files.

use super::incoming::SIGNATURE_ENDING;
use anyhow::{Context, Result, bail, ensure};
use bub_permissions::shell_word;
use bub_registry::{SecretKey, Signature};
use bub_runtime::plugin::{bytes_of, own_identity};
use bub_system::files::read_regular;
use bub_types::text::one_line;
use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The longest key file or password that is read, in bytes.
const MAX_FILE: usize = 8 << 10;

#[derive(clap::Args)]
pub(super) struct NewKey {
    /// File for the secret key, which must not exist
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Do not encrypt the key
    #[arg(long, conflicts_with = "password_file")]
    no_password: bool,
    /// Read the password from this file, instead of asking for it
    #[arg(long, value_name = "PATH")]
    password_file: Option<PathBuf>,
}

/// The key that signs.
#[derive(clap::Args)]
pub(in crate::cli) struct KeyOptions {
    /// File of the secret key, of minisign or of `plugin key`
    #[arg(long, value_name = "FILE")]
    pub(super) key: Option<PathBuf>,
    /// Read the key's password from this file, instead of asking for it
    #[arg(long, value_name = "PATH", requires = "key")]
    password_file: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(super) struct Sign {
    /// Component file; the signature is written beside it, with `.minisig` behind its name
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    key: KeyOptions,
}

pub(super) fn new(arguments: NewKey) -> Result<ExitCode> {
    let NewKey { file, no_password, password_file } = arguments;
    let shown = one_line(&file.display().to_string());
    ensure!(!file.exists(), "`{shown}` is there already: a key is never overwritten");
    let password = match no_password {
        true => None,
        false => Some(password(&file, password_file.as_deref(), true)?),
    };
    let (key, text) = SecretKey::generate(password)?;
    let mut options = OpenOptions::new();
    let written = options.write(true).create_new(true).mode(0o600).open(&file).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.with_context(|| format!("`{shown}` cannot be written"))?;
    let mut out = std::io::stdout();
    writeln!(out, "the secret key is in {}: keep it, and show it to no one", shell_word(&shown))?;
    writeln!(out, "to accept plugins that it signs, in config.toml:\n")?;
    writeln!(out, "[trust.keys.NAME]\nkey = \"{}\"\nplugins = [\"PLUGIN\"]", key.public())?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn sign(arguments: Sign) -> Result<ExitCode> {
    let Sign { file, key } = arguments;
    let shown = one_line(&file.display().to_string());
    let key = key.read()?.context("nothing signs: name the secret key by `--key FILE`")?;
    let bytes = bytes_of(&file).with_context(|| format!("`{shown}` is not signed"))?;
    let (name, version) = own_identity(&bytes).with_context(|| format!("`{shown}` is not signed"))?;
    let signature = Signature::new(&key, &bytes, &name, &version)?;
    let mut target = file.clone().into_os_string();
    target.push(".");
    target.push(SIGNATURE_ENDING);
    let target = PathBuf::from(target);
    let shown = one_line(&target.display().to_string());
    std::fs::write(&target, signature.as_str()).with_context(|| format!("`{shown}` cannot be written"))?;
    writeln!(std::io::stdout(), "plugin `{name}` {version} is signed by key {}: {shown}", key.public().id())?;
    Ok(ExitCode::SUCCESS)
}

impl KeyOptions {
    /// The key, if there is one.
    ///
    /// # Errors
    ///
    /// It cannot be read, or the password is wrong.
    pub(in crate::cli) fn read(&self) -> Result<Option<SecretKey>> {
        let Some(file) = &self.key else { return Ok(None) };
        let shown = one_line(&file.display().to_string());
        let text = read(file)?;
        let password = match SecretKey::is_encrypted(&text) {
            true => Some(password(file, self.password_file.as_deref(), false)?),
            false => None,
        };
        Ok(Some(SecretKey::parse(&text, password).with_context(|| format!("`{shown}`"))?))
    }
}

fn password(key: &Path, file: Option<&Path>, is_new: bool) -> Result<String> {
    if let Some(file) = file {
        let text = read(file)?;
        let text = text.trim_end_matches(['\r', '\n']);
        ensure!(!text.is_empty(), "`{}` is empty", one_line(&file.display().to_string()));
        return Ok(text.to_owned());
    }
    if !std::io::stdin().is_terminal() {
        let or = if is_new { ", or give `--no-password`" } else { "" };
        bail!("there is no terminal to ask for the password: give `--password-file PATH`{or}");
    }
    let ask = |what: &str| rpassword::prompt_password(what).context("the password cannot be asked for");
    let password = ask(&format!("password of {}: ", shell_word(&key.to_string_lossy())))?;
    if is_new {
        ensure!(!password.is_empty(), "the password is empty; `--no-password` makes a key without one");
        ensure!(password == ask("the same again: ")?, "the passwords differ");
    }
    Ok(password)
}

fn read(file: &Path) -> Result<String> {
    let shown = one_line(&file.display().to_string());
    let (bytes, _) = read_regular(file, MAX_FILE + 1).with_context(|| format!("`{shown}` cannot be read"))?;
    ensure!(bytes.len() <= MAX_FILE, "`{shown}` is larger than {} KiB", MAX_FILE >> 10);
    String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("`{shown}` is not UTF-8"))
}
