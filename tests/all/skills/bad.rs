//! Directories that are no skills, or too many, or too large. None keeps those beside it from being found.

use super::{block, block_and_end, call, file, of_user, of_workspace, skill, with_skills};
use bub_tests::Home;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Stands in whatever must not be read.
const MARK: &str = "swordfish-42";

/// Makes `.agents/skills/bad` by `make`, and looks whether `good` beside it is the only skill that is seen.
#[track_caller]
fn is_left_out(make: impl FnOnce(&Path)) {
    let home = with_skills();
    let root = of_workspace(&home);
    skill(&root, "good", "");
    make(&root);
    let block = block(&home, "$bad $good");
    assert!(block.contains("- good: about good"), "{block}");
    assert!(!block.contains("- bad") && !block.contains(MARK), "{block}");
    assert_eq!(call(&home, "{}"), "Available skills:\n- good");
}

#[track_caller]
fn these_bytes_are_left_out(text: impl AsRef<[u8]>) {
    is_left_out(|root| file(root, "bad", text));
}

#[test]
fn a_name_that_is_not_that_of_the_directory() {
    these_bytes_are_left_out("---\nname: good2\ndescription: d\n---\n");
}

#[test]
fn front_matter_that_does_not_end() {
    these_bytes_are_left_out("---\nname: bad\ndescription: d\n");
}

#[test]
fn front_matter_that_is_no_yaml() {
    these_bytes_are_left_out("---\nname: [bad\ndescription: }{\n---\n");
}

#[test]
fn no_front_matter_at_all() {
    these_bytes_are_left_out("# bad\n");
    these_bytes_are_left_out("");
}

#[test]
fn a_file_that_is_not_text() {
    these_bytes_are_left_out(b"---\nname: bad\ndescription: \xff\xfe\n---\n");
    these_bytes_are_left_out([0; 4096]);
}

#[test]
fn a_file_that_is_too_large() {
    these_bytes_are_left_out(format!("---\nname: bad\ndescription: d\n---\n{}", "x".repeat(64 << 10)));
}

/// They take as much work as can be made for those who read them, and must not hide what is beside them.
#[test]
fn six_hundred_large_files() {
    let home = with_skills();
    skill(&of_user(&home), "good", "");
    let yaml = format!("x: [{}]", "\"\\u00e9\\x41aaaaaaaa\", ".repeat(400));
    for number in 0..600 {
        let text = format!("---\nname: s{number:04}\n{yaml}\n---\n{}", "w".repeat(50_000));
        file(&of_workspace(&home), &format!("s{number:04}"), text);
    }
    assert!(block(&home, "hi").contains("- good: about good"));
}

/// Ten to the sixteenth texts in less than a kilobyte.
#[test]
fn yaml_that_unfolds_without_end() {
    let mut yaml = "name: bad\ndescription: d\nmetadata: &a [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (one, other) in ('a'..='p').zip('b'..='q') {
        yaml.push_str(&format!("{other}: &{other} [{}]\n", vec![format!("*{one}"); 10].join(",")));
    }
    these_bytes_are_left_out(format!("---\n{yaml}---\n"));
}

#[test]
fn yaml_that_is_nested_deeply() {
    let nested = format!("{}1{}", "[".repeat(15_000), "]".repeat(15_000));
    these_bytes_are_left_out(format!("---\nname: bad\ndescription: d\nx: {nested}\n---\n"));
}

#[test]
fn a_pipe() {
    is_left_out(|root| {
        fs::create_dir(root.join("bad")).expect("it can be written");
        let made = Command::new("mkfifo").arg(root.join("bad/SKILL.md")).status().expect("mkfifo runs");
        assert!(made.success());
    });
}

#[test]
fn a_directory_under_the_name_of_the_file() {
    is_left_out(|root| fs::create_dir_all(root.join("bad/SKILL.md")).expect("it can be written"));
}

#[test]
fn a_file_under_the_name_of_the_directory() {
    is_left_out(|root| fs::write(root.join("bad"), "---\nname: bad\n").expect("it can be written"));
}

/// A skill outside of all directories that are opened.
fn outside(root: &Path) -> PathBuf {
    let outside = root.ancestors().nth(3).expect("the workspace lies somewhere").join("outside");
    file(&outside, "bad", format!("---\nname: bad\ndescription: {MARK}\n---\n"));
    outside.join("bad")
}

#[test]
fn a_link_that_leads_out_of_the_directory() {
    is_left_out(|root| symlink(outside(root), root.join("bad")).expect("a link"));
    is_left_out(|root| {
        outside(root);
        symlink("../../../outside/bad", root.join("bad")).expect("a link");
    });
    is_left_out(|root| {
        fs::create_dir(root.join("bad")).expect("it can be written");
        symlink(outside(root).join("SKILL.md"), root.join("bad/SKILL.md")).expect("a link");
    });
    is_left_out(|root| {
        fs::create_dir(root.join("bad")).expect("it can be written");
        symlink("/dev/zero", root.join("bad/SKILL.md")).expect("a link");
    });
    is_left_out(|root| symlink("bad", root.join("bad")).expect("a link"));
}

#[test]
fn a_link_inside_the_directory_is_followed() {
    let home = with_skills();
    let root = of_user(&home);
    file(&root, "pool", "---\nname: linked\ndescription: d\n---\n");
    symlink("pool", root.join("linked")).expect("a link");
    assert!(block(&home, "hi").contains("- linked: d"));
}

/// The directory of skills itself is such a link.
#[test]
fn a_workspace_whose_directory_leads_out_of_it() {
    let home = with_skills();
    let elsewhere = home.workspace().with_file_name("elsewhere");
    file(&elsewhere, "bad", format!("---\nname: bad\ndescription: {MARK}\n---\n"));
    fs::create_dir(home.workspace().join(".agents")).expect("the workspace can be written");
    symlink(&elsewhere, of_workspace(&home)).expect("a link");
    let (block, finished) = block_and_end(&home, "$bad");
    assert_eq!(block, "");
    finished.mentions("does not get `fs:<workspace>/.agents/skills:ro`: it leads out of the workspace");
}

/// The user's own link leads where the user wants.
#[test]
fn the_users_directory_may_be_a_link() {
    let home = with_skills();
    let elsewhere = home.workspace().with_file_name("dotfiles");
    skill(&elsewhere, "mine", "");
    fs::create_dir(of_user(&home).with_file_name("")).expect("the user's home can be written");
    symlink(&elsewhere, of_user(&home)).expect("a link");
    assert!(block(&home, "hi").contains("- mine: about mine"));
}

fn many(home: &Home, count: usize, description: &str) {
    for number in 0..count {
        let text = format!("---\nname: s{number:04}\ndescription: {description}\n---\n");
        file(&of_workspace(home), &format!("s{number:04}"), text);
    }
}

#[test]
fn of_skills_that_do_not_fit_only_the_names_are_listed() {
    let home = with_skills();
    many(&home, 100, &"x".repeat(1000));
    let block = block(&home, "$s0099");
    assert!(block.len() <= 32 << 10, "{}", block.len());
    assert_eq!(block.lines().filter(|line| line.starts_with("- s")).count(), 100);
    assert!(block.contains("- s0000: xxx") && block.contains("\n- s0098\n"), "{block}");
    assert!(block.contains("- s0099: xxx") && block.contains("<skill name=\"s0099\">"), "a named skill goes first");
}

#[test]
fn a_text_that_does_not_fit_is_left_to_the_tool() {
    let home = with_skills();
    home.configure("spill_threshold = 0");
    let body = "word ".repeat(10_000);
    skill(&of_user(&home), "long", &body);
    let block = block(&home, "$long");
    assert!(block.contains("- long: about long") && block.len() < 2_000, "{}", block.len());
    assert!(call(&home, r#"{"name":"long"}"#).as_str().is_some_and(|text| text.ends_with(body.trim())));
}

#[test]
fn more_skills_than_are_taken_are_named_in_a_warning() {
    let home = with_skills();
    many(&home, 400, "d");
    let (block, finished) = block_and_end(&home, "hi");
    assert_eq!(block.lines().filter(|line| line.starts_with("- s")).count(), 256);
    finished.mentions("some are left out: there are too many");
}

#[test]
fn three_thousand_directories_that_are_no_skills_end_no_turn() {
    let home = with_skills();
    for root in [of_workspace(&home), of_user(&home), home.workspace().join(".agent/skills")] {
        for number in 0..1_000 {
            fs::create_dir_all(root.join(format!("s{number:04}"))).expect("the directory can be written");
        }
    }
    let (block, finished) = block_and_end(&home, "hi");
    assert_eq!(block, "", "{finished}");
}
