//! Toolchains for components of other languages. They are not part of this project: tests look in the path, and in
//! `target/toolchains`, where `just languages` puts them.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A language with a template and an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    JavaScript,
    Go,
    C,
}

impl Language {
    /// Its name for `--lang`, and at the end of the folder of its example.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::Go => "go",
            Self::C => "c",
        }
    }

    /// Whether its tools are installed; a line says so if they are not.
    pub(super) fn is_installed(self) -> bool {
        let programs: &[&str] = match self {
            Self::Python => &["componentize-py"],
            Self::JavaScript => &["componentize-qjs", "esbuild"],
            Self::Go => &["go", "wit-bindgen", "wasm-tools"],
            // `python-zig` comes with the package `ziglang`.
            Self::C => &["make", "cc", "python-zig", "wit-bindgen", "wasm-tools"],
        };
        programs.iter().all(|program| toolchain(program).is_some())
    }

    /// The variables that its commands need.
    pub(super) fn environment(self) -> Vec<(&'static str, OsString)> {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = own_folders().into_iter().chain(env::split_paths(&path));
        vec![
            ("PATH", env::join_paths(folders).expect("no folder has a `:` in its name")),
            ("PYTHONDONTWRITEBYTECODE", "1".into()),
            // All projects share what was compiled.
            ("GOCACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("go/cache").into()),
            ("GOPATH", Path::new(env!("CARGO_TARGET_TMPDIR")).join("go").into()),
            ("ZIG_GLOBAL_CACHE_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("zig").into()),
        ]
    }

    /// Puts the packages that a project needs into its folder, as `npm install` would.
    pub(super) fn install(self, project: &Path, sdk: &Path) {
        match self {
            Self::Python | Self::C => {}
            Self::JavaScript => Self::install_packages(project, sdk),
            Self::Go => Self::install_runtime(project),
        }
    }

    /// The runtime of Go's bindings comes with their generator, so that no other registry is needed.
    fn install_runtime(project: &Path) {
        let cargo =
            env::var_os("CARGO_HOME").map_or_else(|| env::home_dir().unwrap_or_default().join(".cargo"), Into::into);
        let registries = std::fs::read_dir(cargo.join("registry/src")).into_iter().flatten().flatten();
        let found =
            registries.map(|entry| entry.path().join("wit-bindgen-go-0.63.0/src/pkg")).find(|path| path.is_dir());
        if let Some(found) = found {
            let file = project.join("go.mod");
            let text = std::fs::read_to_string(&file).expect("it is there");
            let replaced = format!("{text}\nreplace go.bytecodealliance.org/pkg => {}\n", found.display());
            std::fs::write(file, replaced).expect("the project can be written");
        }
    }

    fn install_packages(project: &Path, sdk: &Path) {
        let modules = project.join("node_modules");
        std::fs::create_dir_all(modules.join(".bin")).expect("the project can be written");
        let link = |from: &Path, name: &str| symlink(from, modules.join(name)).expect("the project can be written");
        link(sdk, "bub-guest");
        link(&sdk.join("bin/bub-guest.js"), ".bin/bub-guest");
        for package in ["componentize-qjs", "esbuild"] {
            let program = toolchain(package).and_then(|program| program.parent()?.parent().map(Path::to_owned));
            link(&program.expect("it is installed").join(package), package);
        }
    }

    /// Runs a command of this language.
    #[track_caller]
    pub(super) fn run(self, folder: &Path, command: &[&str], more: &[(&str, &Path)]) {
        let mut running = Command::new(command[0]);
        running.args(&command[1..]).current_dir(folder).envs(self.environment());
        let output = running.envs(more.iter().copied()).output();
        let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success(), "{command:?}: {said}");
    }
}

fn own_folders() -> [PathBuf; 3] {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../toolchains");
    [own.join("python/bin"), own.join("javascript/node_modules/.bin"), own.join("rust/bin")]
}

/// Where that program is; none, with a line about it, where it is not installed. `BUB_LANGUAGES=all`, as in `.ci/run`, makes a
/// missing program a failure: no language is left out unseen.
pub(super) fn toolchain(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = own_folders().into_iter().chain(env::split_paths(&path));
    let found = folders.map(|dir| dir.join(program)).find(|file| file.is_file());
    if found.is_none() {
        assert!(env::var_os("BUB_LANGUAGES").is_none_or(|which| which != "all"), "`{program}` is not installed");
        // Not by a macro: the test runner keeps what those print to itself when a test ends well.
        let mut err = std::io::stderr();
        let _ = writeln!(err, "\nnot tested: `{program}` is not installed; `just languages` does that");
    }
    found
}
