//! Which files are accepted, when, and the messages for the others.

use super::{IN_EFFECT, STAYS, a_while, count, home_with, in_effect, named, say, start, until};
use std::fs;
use std::io::Write;

#[test]
fn an_invalid_file_is_reported_once_and_changes_nothing() {
    let model = named();
    let home = home_with(&model);
    let serve = start(&home);
    let file = home.bub_home().join("config.toml");
    let good = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("max_steps = 0\n{}", good.replace("openai:old", "openai:new"))).unwrap();
    until("it is told", || count(&serve, STAYS) == 1);
    assert_eq!(say(&serve, "a", "hi")["model_output"], "old answers");
    fs::write(&file, "model = \"openai:new\"\nmodle = \"openai:new\"\n").unwrap();
    until("it is told", || count(&serve, STAYS) == 2);
    a_while();
    assert_eq!(say(&serve, "a", "hi")["model_output"], "old answers");
    let told = serve.program().told();
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("config.toml")).collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines[0].contains("`max_steps` of config.toml: `0` is not a positive whole number"), "{told}");
    assert!(lines[1].contains("line 2: there is no key `modle`") && lines[1].contains("`model`"), "{told}");
    assert_eq!(count(&serve, IN_EFFECT), 0, "{told}");
    fs::write(&file, good.replace("openai:old", "openai:new")).unwrap();
    in_effect(&serve, 1);
    assert_eq!(say(&serve, "a", "hi")["model_output"], "new answers");
}

/// A program that would not start with it does not take it.
#[test]
fn settings_with_which_a_plugin_of_the_program_would_not_load_change_nothing() {
    let model = named();
    let home = home_with(&model);
    let serve = start(&home);
    home.configure("model = \"openai:new\"\n[plugins.telegram.config]\nallow_users = \"everybody\"");
    until("it is told", || count(&serve, STAYS) == 1);
    let told = serve.program().told();
    assert!(told.contains("the embedded plugin `telegram` did not load"), "{told}");
    assert_eq!(say(&serve, "a", "hi")["model_output"], "old answers");
    home.configure("[plugins.telegram.config]\nallow_users = [1]");
    in_effect(&serve, 1);
    assert_eq!(say(&serve, "a", "hi")["model_output"], "new answers");
}

#[test]
fn a_file_that_is_written_slowly_is_taken_once_it_is_whole() {
    let model = named();
    let home = home_with(&model);
    let serve = start(&home);
    let file = home.bub_home().join("config.toml");
    let text = fs::read_to_string(&file).unwrap().replace("openai:old", "openai:new");
    let half = text.find("openai:new").expect("it is there") + 4;
    let mut slow = fs::File::create(&file).unwrap();
    slow.write_all(&text.as_bytes()[..half]).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(400));
    slow.write_all(&text.as_bytes()[half..]).unwrap();
    drop(slow);
    in_effect(&serve, 1);
    assert_eq!(say(&serve, "a", "hi")["model_output"], "new answers");
    let log = serve.end().stderr;
    assert!(!log.contains(STAYS) && !log.contains("the grants stay"), "{log}");
}

#[test]
fn a_file_that_is_replaced_or_removed_is_seen() {
    let model = named();
    let home = home_with(&model);
    let serve = start(&home);
    let file = home.bub_home().join("config.toml");
    let beside = home.bub_home().join("config.toml.new");
    fs::write(&beside, fs::read_to_string(&file).unwrap().replace("openai:old", "openai:new")).unwrap();
    fs::rename(&beside, &file).unwrap();
    in_effect(&serve, 1);
    assert_eq!(say(&serve, "a", "hi")["model_output"], "new answers");
    fs::remove_file(&file).unwrap();
    in_effect(&serve, 2);
    let said = say(&serve, "a", "ECHO:nobody is configured");
    assert_eq!(said["model_output"], "nobody is configured", "{said}");
}

#[test]
fn nothing_is_logged_without_a_change() {
    let model = named();
    let home = home_with(&model);
    let serve = start(&home);
    let file = home.bub_home().join("config.toml");
    fs::write(&file, fs::read(&file).unwrap()).unwrap();
    a_while();
    serve.program().hang_up();
    a_while();
    let log = serve.end().stderr;
    assert!(!log.contains("configuration"), "{log}");
}

#[test]
fn a_signal_reloads_a_file_that_is_not_watched() {
    let model = named();
    let home = home_with(&model);
    let (file, far) = (home.bub_home().join("config.toml"), home.workspace().join("far.toml"));
    let serve = {
        // The settings that the test's home adds for its plugins are in the file by now.
        home.grant_hooks();
        fs::rename(&file, &far).unwrap();
        std::os::unix::fs::symlink(&far, &file).unwrap();
        start(&home)
    };
    let good = fs::read_to_string(&far).unwrap();
    // The check at the start may see the first change; only the requested reload can see the second.
    for (times, name) in [(1, "new"), (2, "newer")] {
        fs::write(&far, good.replace("openai:old", &format!("openai:{name}"))).unwrap();
        serve.program().hang_up();
        in_effect(&serve, times);
        assert_eq!(say(&serve, "a", "hi")["model_output"], format!("{name} answers"));
    }
    // Every requested reload reports its result.
    fs::write(&far, "not a line of TOML").unwrap();
    serve.program().hang_up();
    until("it is told", || count(&serve, STAYS) == 1);
    serve.program().hang_up();
    until("it is told again", || count(&serve, STAYS) == 2);
    assert_eq!(say(&serve, "a", "hi")["model_output"], "newer answers");
}

#[test]
fn a_signal_shortly_after_a_change_reloads_once() {
    let model = named();
    let home = home_with(&model);
    let serve = start(&home);
    home.configure("model = \"openai:new\"");
    serve.program().hang_up();
    in_effect(&serve, 1);
    a_while();
    assert_eq!(count(&serve, IN_EFFECT), 1, "{}", serve.program().told());
}
