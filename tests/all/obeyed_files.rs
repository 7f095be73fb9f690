//! Files that control the program: no plugin reaches them by any name, and no other user may write them.

use crate::home;
use bub_tests::{Finished, Home};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Part of a file tool's answer about a protected file.
const DENIED: &str = "or it is one of the files that bub-wasm obeys";

/// A uid that no test runs as.
const STRANGER: u32 = 12_345;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

fn directory(home: &Home, name: &str) -> PathBuf {
    let dir = home.workspace().join(name);
    fs::create_dir_all(&dir).expect("the workspace can be written");
    dir
}

/// The owner's own call of a file tool.
#[track_caller]
fn is_denied(home: &Home, command: &str) -> Finished {
    let finished = home.run([command]).finish();
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert!(said.contains(DENIED), "`{command}`\n{finished}");
    finished
}

#[test]
fn a_configuration_that_is_linked_into_the_workspace_is_neither_read_nor_written_by_file_tools() {
    let home = home().strict();
    home.configure("max_tokens = 99");
    let (dir, file) = (directory(&home, "dotfiles"), home.bub_home().join("config.toml"));
    fs::rename(&file, dir.join("bub.toml")).expect("it can be moved");
    symlink(dir.join("bub.toml"), &file).expect("a link");
    let before = fs::read_to_string(&file).expect("it can be read");
    for command in [
        ",fs.write path=dotfiles/bub.toml content='[plugins.evil]'",
        ",fs.edit path=dotfiles/bub.toml old=max_tokens new=max_steps",
        ",fs.read path=dotfiles/bub.toml",
        ",fs.write path=dotfiles/../dotfiles/./bub.toml content=x",
    ] {
        is_denied(&home, command);
        assert_eq!(fs::read_to_string(&file).expect("it is there"), before, "`{command}`");
    }
    // Other files in its directory are not protected.
    home.run([",fs.write path=dotfiles/other.toml content=x"]).finish();
    assert_eq!(fs::read_to_string(dir.join("other.toml")).expect("it was written"), "x");
    let finished = is_denied(&home, ",fs.read path=dotfiles/bub.toml");
    finished.mentions("may not use `dotfiles/bub.toml`: it is one of the files that bub-wasm obeys");
}

#[test]
fn a_second_name_of_a_configuration_is_no_way_to_it() {
    let home = home().strict();
    home.configure("max_tokens = 99");
    fs::write(home.bub_home().join(".env"), "BUB_MAX_STEPS=3\n").expect("the home can be written");
    mode(&home.bub_home().join(".env"), 0o600);
    for (file, name) in [("config.toml", "plain.txt"), (".env", "variables.txt")] {
        let file = home.bub_home().join(file);
        fs::hard_link(&file, home.workspace().join(name)).expect("a second name");
        let before = fs::read(&file).expect("it can be read");
        symlink(name, home.workspace().join(format!("to-{name}"))).expect("a link");
        for command in [
            format!(",fs.write path={name} content=x"),
            format!(",fs.read path={name}"),
            format!(",fs.write path=to-{name} content=x"),
        ] {
            is_denied(&home, &command);
            assert_eq!(fs::read(&file).expect("it is there"), before, "`{command}`");
        }
    }
}

#[test]
fn a_file_that_a_link_of_the_home_waits_for_is_not_made() {
    let home = home();
    symlink(home.workspace().join("settings/.env"), home.bub_home().join(".env")).expect("a link");
    is_denied(&home, ",fs.write path=settings/.env content=BUB_MODEL=openai:evil");
    assert!(!home.workspace().join("settings").exists(), "the way to it was made");
    directory(&home, "settings");
    is_denied(&home, ",fs.write path=settings/.env content=BUB_MODEL=openai:evil");
    assert!(!home.workspace().join("settings/.env").exists());
}

#[test]
fn compiled_code_in_the_workspace_is_not_overwritten() {
    let home = home();
    let cache = directory(&home, "cache");
    mode(&cache, 0o700);
    let run = |command: &str| home.run([command]).env("BUB_CACHE", &cache).finish();
    run("hi");
    let code = fs::read_dir(&cache)
        .expect("it is there")
        .flatten()
        .find(|file| file.path().extension().is_some_and(|extension| extension == "cwasm"));
    let code = code.expect("the embedded guests were compiled into it").path();
    let before = fs::read(&code).expect("it can be read");
    for path in [format!("cache/{}", code.file_name().unwrap_or_default().to_string_lossy()), "cache/new.cwasm".into()]
    {
        let finished = run(&format!(",fs.write path={path} content=x"));
        assert!(format!("{}{}", finished.stdout, finished.stderr).contains(DENIED), "{finished}");
    }
    assert_eq!(fs::read(&code).expect("it is there"), before);
    assert!(!cache.join("new.cwasm").exists());
}

#[test]
fn a_plugin_that_is_linked_from_the_workspace_is_not_overwritten() {
    let home = home().strict();
    let wasm = directory(&home, "target").join("echo.wasm");
    fs::copy(bub_tests::programs::TRIER, &wasm).expect("it can be copied");
    symlink(&wasm, home.bub_home().join("plugins/trier.wasm")).expect("a link");
    is_denied(&home, ",fs.write path=target/echo.wasm content=x");
    assert!(fs::metadata(&wasm).expect("it is there").len() > 1);
}

#[test]
fn files_that_others_may_write_are_refused_with_the_command_that_repairs_it() {
    for (name, text) in [("config.toml", "max_tokens = 99\n"), (".env", "BUB_MAX_STEPS=3\n")] {
        let home = home();
        let file = home.bub_home().join(name);
        fs::write(&file, text).expect("the home can be written");
        for bits in [0o660, 0o602, 0o666] {
            mode(&file, bits);
            let repair = format!("`chmod go-w {}`", file.display());
            home.run(["hi"]).finish().refuses(&["can be written by other users", &repair]);
        }
        mode(&file, 0o600);
        assert_eq!(home.run(["hi"]).finish().code, Some(0));
    }
    let home = home();
    mode(&home.bub_home(), 0o775);
    let repair = format!("`chmod go-w {}`", home.bub_home().display());
    home.run(["hi"]).finish().refuses(&["can be written by other users (mode 775)", &repair]);
}

#[test]
fn files_of_another_user_are_refused_with_the_command_that_repairs_it() {
    let us = rustix::process::geteuid().as_raw();
    for name in ["config.toml", ".env", "secrets.toml", ""] {
        let home = home();
        let file = if name.is_empty() { home.bub_home() } else { home.bub_home().join(name) };
        if !name.is_empty() {
            fs::write(&file, "").expect("the home can be written");
            mode(&file, 0o600);
        }
        if chown(&file, Some(STRANGER), None).is_err() {
            println!("skipped: only root can give files away");
            return;
        }
        let repair = format!("chown {us} {}", file.display());
        home.run(["hi"]).finish().refuses(&["belongs to another user (uid 12345)", &repair]);
    }
}

#[test]
fn a_readable_file_that_may_hold_a_key_is_warned_about_once() {
    let home = home();
    home.configure("max_tokens = 99");
    let (env, config) = (home.bub_home().join(".env"), home.bub_home().join("config.toml"));
    mode(&config, 0o644);
    let quiet = home.run(["hi"]).finish();
    assert!(!quiet.stderr.contains("can read"), "no key stands in it\n{quiet}");
    fs::write(&env, "BUB_MAX_STEPS=3\n").expect("the home can be written");
    mode(&env, 0o644);
    home.configure("[plugins.builtin.config]\napi_key = \"abcdef\"");
    mode(&config, 0o644);
    let finished = home.run(["hi"]).finish();
    for file in [&env, &config] {
        let warning = format!("other users can read `{0}`, which may hold keys: `chmod 600 {0}`", file.display());
        assert_eq!(finished.stderr.matches(&warning).count(), 1, "{finished}");
    }
    let doctor = home.bub(["doctor"]).finish();
    assert!(doctor.stdout.contains("note  .env: other users can read"), "{doctor}");
    assert!(doctor.stdout.contains("note  config.toml: other users can read"), "{doctor}");
}

#[test]
fn a_pipe_a_device_or_a_directory_in_the_place_of_a_file_is_refused_at_once() {
    for name in ["config.toml", ".env", "secrets.toml"] {
        // The helper of other tests reads the file itself.
        let home = home().strict();
        let file = home.bub_home().join(name);
        let told = format!("`{}` cannot be read: it is not a regular file", file.display());
        assert!(Command::new("mkfifo").arg(&file).status().expect("mkfifo runs").success());
        home.run(["hi"]).finish().refuses(&[&told]);
        fs::remove_file(&file).expect("it is there");
        symlink("/dev/zero", &file).expect("a link");
        home.run(["hi"]).finish().refuses(&[&told]);
        fs::remove_file(&file).expect("it is there");
        fs::create_dir(&file).expect("it can be made");
        home.run(["hi"]).finish().refuses(&[&told]);
    }
    let home = home().strict();
    let file = home.bub_home().join("serve.token");
    assert!(Command::new("mkfifo").arg(&file).status().expect("mkfifo runs").success());
    let serve = home.bub(["serve", "--listen", "127.0.0.1:0"]).finish();
    serve.refuses(&["serve.token` cannot be read: it is not a regular file"]);
}

#[test]
fn variables_that_grow_when_they_are_expanded_are_refused_by_file_and_line() {
    let home = home();
    let file = home.bub_home().join(".env");
    let write = |text: &str| {
        fs::write(&file, text).expect("the home can be written");
        mode(&file, 0o600);
    };
    // Each line twice the one before: line 11 has 64 KiB and one more would have 128.
    let mut text = format!("A0={}\n", "x".repeat(64));
    for line in 1..40 {
        text.push_str(&format!("A{line}=\"${{A{}}}$A{}\"\n", line - 1, line - 1));
    }
    write(&text);
    let finished = home.run(["hi"]).finish();
    assert!(finished.peak < 256 << 20, "{} bytes of memory", finished.peak);
    finished.refuses(&[".env` line 12: the value of `A11` is longer than 65536 bytes once it is expanded"]);

    let mut text = format!("A=x{}\n", "y".repeat(60_000));
    (0..20).for_each(|line| text.push_str(&format!("B{line}=$A\n")));
    write(&text);
    home.run(["hi"]).finish().refuses(&[".env` line ", ": all values together are longer than 1048576 bytes"]);

    write(&"#".repeat(300_000));
    home.run(["hi"]).finish().refuses(&[".env` is longer than 262144 bytes"]);

    write("BUB_MAX_STEPS=3\nBUB_API_KEY=abc def\n");
    let wrong = home.run(["hi"]).finish();
    assert!(!wrong.stderr.contains("def"), "{wrong}");
    wrong.refuses(&[".env` line 2: the value of `BUB_API_KEY` continues after a space"]);
}

#[test]
fn variables_are_read_with_quotes_comments_escapes_and_references() {
    let home = home();
    let file = home.bub_home().join(".env");
    let text = "\u{feff}# a comment\nexport NAME='of # no \"one\"' # seen\nEMPTY=\nBUB_MODEL=\"openai:${NAME}\\n$KNOWN${EMPTY}\"\r\n\
                BUB_API_BASE='$NAME'\\ and\\$\"\nmore\"$\n";
    fs::write(&file, text).expect("the home can be written");
    mode(&file, 0o600);
    let shown = home.bub(["doctor", "--config", "--json"]).env("KNOWN", "of the environment").finish();
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).expect("JSON");
    let now = |key: &str| {
        let rows = shown["keys"].as_array().expect("a list");
        rows.iter().find(|row| row["key"] == key).expect("a key")["now"].clone()
    };
    assert_eq!(now("model"), "openai:of # no \"one\"\nof the environment");
    assert_eq!(now("api_base"), "$NAME and$\nmore$");
}
