//! `secrets.toml` and the environment: values that are read, refused, kept and given up.

use super::{Room, hosts, text, variables};
use bub_egress::secret::{Error, FILE, NewValue, Origin, Secrets};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::Duration;

#[test]
fn a_home_without_a_file_has_no_secrets() {
    let secrets = Room::new().load();
    assert!(secrets.names().is_empty());
    assert_eq!(secrets.hosts("telegram"), Err(Error::NotFound { name: "telegram".into() }));
}

#[test]
fn a_stored_secret_is_read_back_from_a_private_file() {
    let room = Room::new();
    room.load().set("telegram", text("123456:abc\n"), &hosts(["API.telegram.org", "api.telegram.org"])).unwrap();
    assert_eq!(std::fs::metadata(room.path()).unwrap().mode() & 0o777, 0o600);
    let secrets = room.load();
    assert_eq!(secrets.names(), ["telegram"]);
    assert_eq!(secrets.hosts("telegram").unwrap(), ["api.telegram.org"]);
    assert_eq!(secrets.origin("telegram").unwrap(), Origin::Written);
    assert!(secrets.matches("telegram", b"123456:abc").unwrap());
}

#[test]
fn a_file_that_others_can_read_or_write_is_refused_with_the_command_that_closes_it() {
    let room = Room::new();
    for mode in [0o640, 0o604, 0o620, 0o602, 0o666, 0o610] {
        room.write("[a]\nvalue = \"abcdef\"\n", mode);
        let refusal = room.refusal();
        assert!(refusal.ends_with(&format!("`chmod 600 {}`", room.path().display())), "{mode:o}: {refusal}");
        assert!(!refusal.contains('\n') && !refusal.contains("abcdef"), "{refusal}");
    }
    for mode in [0o600, 0o400] {
        room.write("", mode);
        room.load();
    }
}

#[test]
fn a_file_that_is_open_to_others_is_not_rewritten_either() {
    let room = Room::new();
    let mut secrets = room.load();
    room.write("[a]\nvalue = \"abcdef\"\n", 0o644);
    assert!(matches!(secrets.set("b", text("ghijkl"), &[]), Err(Error::File(_))));
    assert_eq!(room.text(), "[a]\nvalue = \"abcdef\"\n");
}

#[test]
fn a_file_of_another_user_is_rejected() {
    let room = Room::with("");
    // Only root can give a file away.
    if std::os::unix::fs::chown(room.path(), Some(12_345), None).is_ok() {
        assert!(room.refusal().contains("belongs to another user"), "{}", room.refusal());
    }
}

#[test]
fn a_file_that_is_not_regular_is_rejected_without_blocking() {
    let room = Room::new();
    std::fs::create_dir(room.path()).unwrap();
    assert!(room.refusal().contains("not a regular file"), "{}", room.refusal());
    let room = Room::new();
    let made = std::process::Command::new("mkfifo").arg(room.path()).status();
    if made.is_ok_and(|status| status.success()) {
        assert!(room.refusal().contains("not a regular file"), "{}", room.refusal());
    }
}

#[test]
fn errors_of_the_file_name_the_place_and_quote_nothing() {
    for (written, says) in [
        ("[a]\nvalue = \"sesame\"\nnot toml sesame\n", "line 3: not TOML"),
        ("[a]\nvalue = \"sesame\n", "line 2: not TOML"),
        ("telegram = \"sesame\"\n", "`[telegram]` is not a table"),
        ("[a]\nvalue = [\"sesame\"]\n", "`[a]` has a `value` that is not a string"),
        ("[a]\nvalue = \"x\"\nhosts = \"sesame\"\n", "`[a]` has `hosts` that are not a list"),
        ("[a]\nvalue = \"x\"\nhosts = [\"https://sesame\"]\n", "`[a]` has an invalid host"),
        ("[a]\nvalue = \"x\"\nhosts = [\"*.sesame\"]\n", "`[a]` has an invalid host"),
        ("[a]\nsesame = \"x\"\n", "`[a]` has a key other than"),
        ("[a]\nvalue = \"sesame\"\nfile = \"/x\"\n", "`[a]` has both `value` and `file`"),
        ("[a]\nfile = \"sesame\"\n", "`[a]` has a `file` that is not an absolute path"),
        ("[Sesame]\nvalue = \"x\"\n", "a secret's name is"),
        ("[a-b]\nvalue = \"sesame\"\n[a_b]\nvalue = \"sesame\"\n", "would share the variable `BUB_SECRET_A_B`"),
    ] {
        let refusal = Room::with(written).refusal();
        assert!(refusal.contains(FILE) && refusal.contains(says), "{written}: {refusal}");
        assert!(!refusal.to_lowercase().contains("sesame") && !refusal.contains('\n'), "{refusal}");
    }
}

#[test]
fn setting_and_removing_keeps_the_other_secrets_and_the_comments() {
    let room = Room::with("# mine\n[a]\n# of a\nvalue = \"abcdef\"\nhosts = [\"a.com\"] # why\n\n[b]\nvalue = \"x\"\n");
    let mut secrets = room.load();
    secrets.set("c", text("qu\"o\\te\u{1}\nd"), &[]).unwrap();
    secrets.set("b", text("ghijkl"), &hosts(["*.b.com"])).unwrap();
    let start = "# mine\n[a]\n# of a\nvalue = \"abcdef\"\nhosts = [\"a.com\"] # why\n\n[b]\nvalue = \"ghijkl\"\n";
    assert!(room.text().starts_with(start), "{}", room.text());
    secrets.remove("b").unwrap();
    assert_eq!(room.load().names(), ["a", "c"]);
    assert_eq!(secrets.names(), ["a", "c"]);
    assert!(room.load().matches("c", b"qu\"o\\te\x01\nd").unwrap());
    assert_eq!(secrets.remove("b"), Err(Error::NotFound { name: "b".into() }));
}

#[test]
fn a_change_keeps_later_writes_of_another_process() {
    let room = Room::new();
    let (mut one, mut other) = (room.load(), room.load());
    one.set("one", text("abcdef"), &[]).unwrap();
    other.set("other", text("ghijkl"), &[]).unwrap();
    assert_eq!(room.load().names(), ["one", "other"]);
}

#[test]
fn changes_at_the_same_time_lose_nothing_and_readers_see_whole_files() {
    let room = Room::with("[first]\nvalue = \"abcdef\"\n");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let room = &room;
            scope.spawn(move || {
                for n in 0..8 {
                    let name = format!("s{writer}-{n}");
                    room.load().set(&name, text("abcdef"), &[]).unwrap();
                }
            });
        }
        for _ in 0..200 {
            assert!(room.load().names().contains(&"first".to_owned()));
        }
    });
    assert_eq!(room.load().names().len(), 33);
}

#[test]
fn a_temporary_file_of_a_killed_process_is_replaced_and_none_remains() {
    let room = Room::with("");
    let victim = room.file("victim", b"untouched");
    symlink(&victim, room.dir.path().join("secrets.toml.new")).unwrap();
    room.load().set("a", text("abcdef"), &[]).unwrap();
    assert_eq!(std::fs::read(victim).unwrap(), b"untouched");
    assert!(!room.dir.path().join("secrets.toml.new").exists());
    assert_eq!(room.load().names(), ["a"]);
}

#[test]
fn a_change_that_cannot_be_written_leaves_the_file_as_it_was() {
    let room = Room::with("[a]\nvalue = \"abcdef\"\n");
    let mut secrets = room.load();
    // A directory in the draft's place cannot be removed as a file.
    std::fs::create_dir(room.dir.path().join("secrets.toml.new")).unwrap();
    assert!(matches!(secrets.set("b", text("ghijkl"), &[]), Err(Error::File(_))));
    assert_eq!(room.text(), "[a]\nvalue = \"abcdef\"\n");
    assert_eq!(secrets.names(), ["a"]);
}

#[test]
fn a_link_to_the_file_stays_a_link() {
    let (home, elsewhere) = (Room::new(), Room::with(""));
    symlink(elsewhere.path(), home.path()).unwrap();
    home.load().set("a", text("abcdef"), &[]).unwrap();
    assert!(home.path().is_symlink());
    assert_eq!(elsewhere.load().names(), ["a"]);
}

#[test]
fn a_change_waits_for_the_process_that_holds_the_lock() {
    let room = Room::with("");
    let lock = std::fs::File::create(room.dir.path().join("secrets.toml.lock")).unwrap();
    lock.lock().unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| room.load().set("a", text("abcdef"), &[]));
        std::thread::sleep(Duration::from_millis(100));
        assert!(!writer.is_finished());
        drop(lock);
        writer.join().unwrap().unwrap();
    });
}

#[test]
fn names_values_and_hosts_are_checked_before_anything_is_written() {
    let room = Room::new();
    let mut secrets = room.load();
    let long = "a".repeat(65);
    for name in ["", "A", "-a", "_a", "a.b", "a b", "ä", "a/b", "x-hosts", "x_hosts", long.as_str()] {
        assert!(matches!(secrets.set(name, text("abcdef"), &[]), Err(Error::Invalid(_))), "{name}");
    }
    for value in ["", "\n", "abcde", "äöüßé\r\n", &"a".repeat((64 << 10) + 1)] {
        assert!(matches!(secrets.set("a", text(value), &[]), Err(Error::Invalid(_))));
    }
    for host in ["", "*", "*.com", "*.0.0.1", "a.*", "a..b", "https://a.com", "a.com:443", "a.com/x", "a.com.", "ä.de"]
    {
        assert!(matches!(secrets.set("a", text("abcdef"), &hosts([host])), Err(Error::Invalid(_))), "{host}");
    }
    for path in ["relative", "/does/not/exist", "/dev/zero", "/"] {
        assert!(matches!(secrets.set("a", NewValue::File(path.into()), &[]), Err(Error::Invalid(_))), "{path}");
    }
    assert!(!room.path().exists());
    secrets.set(&"a".repeat(64), text("abcdef"), &hosts(["*.a.com", "b", "127.0.0.1", "[::1]"])).unwrap();
    assert_eq!(secrets.hosts(&"a".repeat(64)).unwrap(), ["*.a.com", "b", "127.0.0.1", "::1"]);
}

#[test]
fn a_secret_in_a_file_is_read_at_each_use_without_its_line_end() {
    let room = Room::new();
    let file = room.file("token", b"first value\r\n");
    let mut secrets = room.load();
    secrets.set("a", NewValue::File(file.clone()), &[]).unwrap();
    assert_eq!(secrets.origin("a").unwrap(), Origin::File(file.clone()));
    assert!(!room.text().contains("first value"));
    assert!(secrets.matches("a", b"first value").unwrap());
    std::fs::write(&file, "second value").unwrap();
    assert!(secrets.matches("a", b"second value").unwrap());
    for bytes in [vec![b'a'; (64 << 10) + 1], vec![b'\n'; 1 << 20], Vec::new()] {
        std::fs::write(&file, bytes).unwrap();
        assert!(matches!(secrets.matches("a", b"x"), Err(Error::Unusable { .. })));
    }
    std::fs::remove_file(&file).unwrap();
    assert!(matches!(secrets.matches("a", b"x"), Err(Error::Unusable { .. })));
    assert_eq!(room.load().names(), ["a"], "a missing file is no error");
}

#[test]
fn the_environment_overrides_the_value_of_the_file_but_not_its_hosts() {
    let room = Room::with("[a-b]\nvalue = \"from file\"\nhosts = [\"a.com\"]\n[c]\nhosts = [\"c.com\"]\n");
    let secrets = room.load_with(&[
        ("BUB_SECRET_A_B", "from variable"),
        ("BUB_SECRET_A_B_HOSTS", "evil.example"),
        ("BUB_SECRET_C", "third value"),
    ]);
    assert!(secrets.matches("a-b", b"from variable").unwrap());
    assert_eq!(secrets.hosts("a-b").unwrap(), ["a.com"]);
    assert_eq!(secrets.origin("a-b").unwrap(), Origin::Variable("BUB_SECRET_A_B".into()));
    assert_eq!(secrets.hosts("a_b"), Err(Error::NotFound { name: "a_b".into() }));
    assert!(secrets.matches("c", b"third value").unwrap());
    let secrets = room.load_with(&[("BUB_SECRET_A_B", "")]);
    assert!(secrets.matches("a-b", b"from file").unwrap(), "an empty variable is an unset one");
    assert_eq!(secrets.origin("c").unwrap(), Origin::Missing);
    assert!(matches!(secrets.matches("c", b"x"), Err(Error::Unusable { .. })));
}

#[test]
fn a_secret_of_the_environment_alone_takes_its_hosts_from_there_too() {
    let room = Room::new();
    let path = room.file("token", b"in a file\n");
    let file = format!("file:{}", path.display());
    let secrets = room.load_with(&[
        ("BUB_SECRET_WEB_HOOK", "abcdef"),
        ("bub_secret_search", &file),
        ("BUB_SECRET_SEARCH_HOSTS", "a.com, *.b.com,"),
        ("BUB_SECRET_NOTHING_HOSTS", "c.com"),
        ("BUB_MODEL", "x"),
    ]);
    assert_eq!(secrets.names(), ["search", "web-hook"]);
    assert_eq!(secrets.hosts("search").unwrap(), ["a.com", "*.b.com"]);
    assert!(secrets.matches("search", b"in a file").unwrap());
    assert!(secrets.hosts("web-hook").unwrap().is_empty());
    assert!(secrets.hosts("web_hook").unwrap().is_empty());
}

#[test]
fn a_variable_that_is_wrong_is_named_and_not_quoted() {
    for (variable, value) in [("BUB_SECRET_", "sesame"), ("BUB_SECRET__A", "sesame"), ("BUB_SECRET_A_HOSTS", "sesame/")]
    {
        let error = Secrets::load(Room::new().dir.path(), variables(&[(variable, value)])).unwrap_err().to_string();
        assert!(error.contains(&format!("`{variable}`")) && !error.contains("sesame"), "{error}");
    }
}

#[test]
fn nothing_that_is_printed_holds_a_value() {
    let room = Room::with("[a]\nvalue = \"sesame one\"\n");
    let secrets = room.load_with(&[("BUB_SECRET_B", "sesame two")]);
    let shown = format!("{secrets:#?} {:?} {:?}", text("sesame three"), secrets.key_for("a"));
    assert!(!shown.contains("sesame") && shown.contains("***"), "{shown}");
}

#[test]
fn a_models_key_is_a_secret_named_like_its_provider() {
    let room = Room::with("[groq]\nvalue = \"groq one\"\n[groq-api-key]\nvalue = \"groq two\"\n[my_llm]\nhosts = []\n");
    let secrets = room.load_with(&[("BUB_SECRET_OPENAI_API_KEY", "open value")]);
    let key =
        |provider: &str| secrets.key_for(provider).unwrap().map(|key| key.value.expose_text().unwrap().to_owned());
    assert_eq!(key("groq").as_deref(), Some("groq one"));
    assert_eq!(key("OpenAI").as_deref(), Some("open value"));
    assert_eq!(key("mistral"), None);
    assert_eq!(key("no provider"), None);
    assert!(matches!(secrets.key_for("my.llm"), Err(Error::Unusable { .. })));
}

#[test]
fn the_homes_file_is_made_for_its_owner_alone() {
    let room = Room::new();
    let home = room.dir.path().join("new/home");
    let mut secrets = Secrets::load(&home, variables(&[])).unwrap();
    secrets.set("a", text("abcdef"), &[]).unwrap();
    assert_eq!(std::fs::metadata(&home).unwrap().permissions().mode() & 0o777, 0o700);
}
