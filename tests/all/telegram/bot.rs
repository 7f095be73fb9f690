//! A bot of the stand-in, in a host of this process.

use super::stand_in::{StandIn, TOKEN};
use bub_config::Config;
use bub_runtime::channel::Printer;
use bub_runtime::error::Failure;
use bub_runtime::hooks::{Arrival, GuestChannel, Inbox, channels};
use bub_runtime::host::Host;
use bub_runtime::turn::CallScope;
use bub_types::Envelope;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

/// Embedded guests that have nothing to do with it.
const OTHERS: [&str; 9] =
    ["builtin", "offline", "workspace", "shell", "web", "skills", "tapes", "memory", "context-builder"];

pub struct Bot {
    pub server: StandIn,
    host: Arc<Host>,
    _dir: tempfile::TempDir,
}

impl Bot {
    /// A bot that Ada (42) may talk to, and that listens in the group -100. `more` are lines of its configuration.
    pub async fn new(more: &str) -> Self {
        Self::with(&format!("allow_users = [42]\nallow_chats = [-100]\n{more}"), TOKEN).await
    }

    /// A bot with just this configuration, and this token; none, where it is empty.
    pub async fn with(config: &str, token: &str) -> Self {
        Self::in_environment(config, token, "").await
    }

    /// The same with these variables.
    pub async fn in_environment(config: &str, token: &str, variables: &str) -> Self {
        let server = StandIn::new();
        let dir = tempfile::tempdir().expect("a directory for the test");
        let base = server.base();
        let others: String = OTHERS.iter().map(|name| format!("[plugins.{name}]\nenabled = false\n")).collect();
        let grants = format!("[\"hook:channel\", \"http:{base}\", \"secret:telegram_token\"]");
        let config = format!(
            "{others}[plugins.telegram]\ngrants = {grants}\n\
             [plugins.telegram.config]\napi_base = \"{base}\"\npoll_seconds = 0\n{config}\n"
        );
        let host = start_with(dir.path(), &config, &secret("telegram_token", token), variables).await;
        server.chat(42);
        server.chat(-100);
        Self { server, host, _dir: dir }
    }

    fn calls(&self) -> Arc<CallScope> {
        CallScope::new(&self.host)
    }

    pub async fn channel(&self) -> GuestChannel {
        only(&self.calls()).await
    }

    pub async fn try_poll(&self, cursor: Option<String>) -> Result<Inbox, Failure> {
        self.channel().await.poll(&self.calls(), cursor).await
    }

    /// All that comes, from the beginning.
    pub async fn arrivals(&self) -> Vec<Arrival> {
        self.poll(None).await.arrivals
    }

    pub async fn poll(&self, cursor: Option<String>) -> Inbox {
        self.try_poll(cursor).await.unwrap_or_else(|failure| panic!("{failure}"))
    }

    pub async fn try_send(&self, message: &Envelope) -> Result<Option<String>, Failure> {
        self.channel().await.send(&self.calls(), message, "run-1/0").await
    }

    /// Delivers a text to Ada: its handle.
    pub async fn says(&self, content: &str) -> Option<String> {
        self.sends(&to(42, content)).await
    }

    pub async fn sends(&self, message: &Envelope) -> Option<String> {
        self.try_send(message).await.unwrap_or_else(|failure| panic!("{failure}"))
    }

    pub async fn changes(&self, handle: &str, message: &Envelope) {
        let changed = self.channel().await.update(&self.calls(), handle, message).await;
        changed.unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// `secrets.toml` with one secret for this machine; nothing, where the value is empty.
pub fn secret(name: &str, value: &str) -> String {
    if value.is_empty() { String::new() } else { format!("[{name}]\nvalue = \"{value}\"\nhosts = [\"127.0.0.1\"]\n") }
}

/// The one channel that there is.
pub async fn only(calls: &Arc<CallScope>) -> GuestChannel {
    let mut channels = channels(calls).await;
    assert_eq!(channels.len(), 1, "there is one");
    channels.remove(0)
}

/// A host in that directory.
pub async fn start(dir: &Path, config: &str, secrets: &str) -> Arc<Host> {
    start_with(dir, config, secrets, "").await
}

/// The same with these lines in its `.env`.
pub async fn start_with(dir: &Path, config: &str, secrets: &str, variables: &str) -> Arc<Host> {
    let home = dir.join("home");
    fs::create_dir_all(home.join("plugins")).expect("it can be made");
    fs::write(home.join("config.toml"), config).expect("it can be written");
    let file = home.join("secrets.toml");
    fs::write(&file, secrets).expect("it can be written");
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).expect("it is ours");
    // Compiled once for all tests.
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled");
    fs::write(home.join(".env"), format!("BUB_CACHE={}\n{variables}", cache.display())).expect("it can be written");
    let mut config = Config::load(Some(&home)).expect("it is right");
    // The tested program compiles the plugins, not this process.
    config.program = env!("CARGO_BIN_EXE_bub-wasm").into();
    Host::start(config, dir, Box::new(Printer)).await.expect("it starts")
}

/// An answer to a chat.
pub fn to(chat: impl ToString, content: &str) -> Envelope {
    let chat_id = chat.to_string();
    Envelope { session_id: Some(format!("telegram:{chat_id}")), ..Envelope::new("telegram", chat_id, content) }
}

/// The same, while it is written.
pub fn partial(chat: impl ToString, content: &str) -> Envelope {
    Envelope { context: vec![("_partial".to_owned(), "true".to_owned())], ..to(chat, content) }
}
