//! A user's home and workspace.

use crate::Run;
use crate::serve::{Serve, Served};
use md5::{Digest, Md5};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The embedded guests without which a turn still gets an answer.
const TOOL_GUESTS: [&str; 8] =
    ["workspace", "shell", "web", "skills", "tapes", "memory", "context-builder", "telegram"];

/// `$BUB_HOME`, a workspace and a home directory, all new and all gone with it.
pub struct Home {
    /// Removes everything at the end of the test.
    _root: TempDir,
    /// The same directory without symbolic links, as the program sees it.
    resolved: PathBuf,
    program: PathBuf,
    /// Compiled code, shared by all tests of a run: each guest is compiled once.
    cache: PathBuf,
    /// Whether grants are the test's own matter.
    strict: bool,
}

impl Home {
    /// A home for the program at `program`; compiled code is kept below `scratch`, which outlives the test.
    pub fn new(program: &str, scratch: &str) -> Self {
        let root = tempfile::tempdir().expect("a directory for the test");
        let resolved = root.path().canonicalize().expect("it is there");
        let cache = Path::new(scratch).join("compiled");
        private_dir(&cache);
        let home = Self { _root: root, resolved, program: program.into(), cache, strict: false };
        for dir in [home.workspace(), home.bub_home().join("plugins"), home.user_home()] {
            fs::create_dir_all(dir).expect("a directory for the test");
        }
        home
    }

    /// Without any plugin: the embedded ones are switched off.
    pub fn bare(self) -> Self {
        for embedded in ["builtin", "offline"].iter().chain(&TOOL_GUESTS) {
            self.configure(&format!("[plugins.{embedded}]\nenabled = false"));
        }
        self
    }

    /// Without the tools that the program brings along.
    #[must_use]
    pub fn without_tools(self) -> Self {
        for embedded in TOOL_GUESTS {
            self.configure(&format!("[plugins.{embedded}]\nenabled = false"));
        }
        self
    }

    /// Without the memory guest: the original has none, so its recordings have no section and no date in the system
    /// prompt.
    pub fn without_memory(&self) {
        self.configure("[plugins.memory]\nenabled = false");
    }

    /// `$BUB_HOME`.
    pub fn bub_home(&self) -> PathBuf {
        self.resolved.join("home")
    }

    /// Where the program works.
    pub fn workspace(&self) -> PathBuf {
        self.resolved.join("ws")
    }

    fn user_home(&self) -> PathBuf {
        self.resolved.join("user")
    }

    /// Adds `text` to `$BUB_HOME/config.toml`: its tables to the tables of the same name, or unchanged if it is not
    /// TOML.
    pub fn configure(&self, text: &str) {
        let path = self.bub_home().join("config.toml");
        let before = fs::read_to_string(&path).unwrap_or_default();
        let config = match (before.parse::<toml::Table>(), text.parse::<toml::Table>()) {
            (Ok(mut config), Ok(more)) => {
                merge(&mut config, more);
                config.to_string()
            }
            _ => format!("{before}{text}\n"),
        };
        fs::write(&path, config).expect("config.toml can be written");
        // It may hold a token: were others able to read it, each start would warn of that.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its rights can be set");
    }

    /// Drops a component into `$BUB_HOME/plugins` under that name.
    pub fn plugin(&self, name: &str, wasm: &str) -> &Self {
        fs::copy(wasm, self.plugin_file(name)).expect("the component can be copied");
        self
    }

    /// Takes it out again.
    pub fn remove_plugin(&self, name: &str) {
        fs::remove_file(self.plugin_file(name)).expect("the plugin is there");
    }

    fn plugin_file(&self, name: &str) -> PathBuf {
        self.bub_home().join("plugins").join(name).with_extension("wasm")
    }

    /// A plugin that may do to the turn's tape what it wants.
    pub fn plugin_with_tape(&self, name: &str, wasm: &str) -> &Self {
        self.configure(&format!("[plugins.{name}]\ngrants = [\"tape:read\", \"tape:append\"]"));
        self.plugin(name, wasm)
    }

    /// A plugin of one of the two programs that answer from their configuration. `answers` is TOML, one line a hook.
    pub fn scripted(&self, name: &str, wasm: &str, answers: &str) -> &Self {
        self.configure(&format!(
            "[plugins.{name}.config]\nname = \"{name}\"\n[plugins.{name}.config.answers]\n{answers}"
        ));
        self.plugin(name, wasm)
    }

    /// One start of the program in this home's workspace.
    pub fn bub<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Run<'_> {
        self.unbound(arguments)
    }

    /// The same, for callers that keep the home alive themselves.
    pub(crate) fn unbound<'a, 'any>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Run<'any> {
        if !self.strict {
            self.grant_hooks();
        }
        let mut run = Run::new(&self.program)
            .env("HOME", self.user_home())
            .env("BUB_HOME", self.bub_home())
            .env("BUB_CACHE", &self.cache)
            // Tests of the cache look at its files, and a debug build compiles for half a minute.
            .env("BUB_BACKGROUND_COMPILE", "false")
            // Programs of most tests look at the machine; those of the sandbox say so.
            .env("BUB_SANDBOX", "off")
            // Tests do not wait for an absent server to recover.
            .env("BUB_RETRY_BASE_MS", "1")
            // Tests compare what is printed with what the original prints; those of other formats say so.
            .env("BUB_FORMAT", "bub");
        run.arguments(arguments, &self.workspace());
        run
    }

    /// `bub-wasm serve` in this home, which goes with it.
    pub fn served(self) -> Served {
        let serve = Serve::start(self.unbound(["serve", "--listen", "127.0.0.1:0"]), &self.bub_home());
        Served { serve, home: self }
    }

    /// `bub-wasm run` with these arguments.
    pub fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Run<'_> {
        self.bub(std::iter::once("run").chain(arguments))
    }

    /// From here on the plugins of this home hold what its configuration says, and no more.
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Gives every dropped-in plugin its hooks, whatever its bytes, as a user does for what they build themselves. A
    /// configuration that is no TOML is left as it is.
    pub fn grant_hooks(&self) {
        let file = self.bub_home().join("config.toml");
        let text = fs::read_to_string(&file).unwrap_or_default();
        let Ok(mut config) = text.parse::<toml::Table>() else { return };
        let plugins = config.entry("plugins").or_insert_with(|| toml::Table::new().into());
        let Some(plugins) = plugins.as_table_mut() else { return };
        for path in
            fs::read_dir(self.bub_home().join("plugins")).expect("it is there").flatten().map(|file| file.path())
        {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let plugin = plugins.entry(name).or_insert_with(|| toml::Table::new().into());
            let Some(plugin) = plugin.as_table_mut() else { return };
            plugin.insert("follow".into(), true.into());
            let grants = plugin.entry("grants").or_insert_with(|| toml::Value::Array(Vec::new()));
            let Some(grants) = grants.as_array_mut() else { return };
            if !grants.iter().any(|grant| grant.as_str() == Some("hook:*")) {
                grants.push("hook:*".into());
            }
        }
        let changed = config.to_string();
        // Other programs of the test may read it now.
        if changed != text {
            let new = file.with_extension("toml.new");
            fs::write(&new, changed).expect("config.toml can be written");
            if let Ok(old) = fs::metadata(&file) {
                fs::set_permissions(&new, old.permissions()).expect("its rights can be set");
                chown(&new, Some(old.uid()), None).expect("it stays its owner's");
            } else {
                fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).expect("its rights can be set");
            }
            fs::rename(new, file).expect("config.toml can be replaced");
        }
    }

    /// Where tapes are kept.
    pub fn tapes_dir(&self) -> PathBuf {
        self.bub_home().join("tapes")
    }

    /// The file of a session's tape: its name is made of the workspace and the session, 16 hex digits each.
    pub fn tape_file(&self, session_id: &str) -> PathBuf {
        self.tapes_dir().join(format!("{}__{}.jsonl", self.workspace_half(), half(session_id)))
    }

    /// The file of a sidecar of a session's tape.
    pub fn sidecar_file(&self, session_id: &str, sidecar: &str) -> PathBuf {
        let name = format!("{}__{}__sidecar__{sidecar}.jsonl", self.workspace_half(), half(session_id));
        self.tapes_dir().join(name)
    }

    /// The part of every tape's name that is the workspace.
    pub fn workspace_half(&self) -> String {
        half(self.workspace().to_str().expect("the path is UTF-8"))
    }
}

fn merge(config: &mut toml::Table, more: toml::Table) {
    for (key, value) in more {
        match (config.get_mut(&key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merge(old, new),
            (_, value) => {
                config.insert(key, value);
            }
        }
    }
}

fn half(text: &str) -> String {
    Md5::digest(text).iter().take(8).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The program refuses compiled code that others could have written.
fn private_dir(dir: &Path) {
    fs::create_dir_all(dir).expect("the scratch directory can be written");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).expect("it is ours");
    }
}
