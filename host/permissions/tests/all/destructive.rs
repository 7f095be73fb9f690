//! Which commands are known to destroy something.

use bub_permissions::policy::destructive::destructive;

#[test]
fn commands_that_destroy_are_known_however_they_are_wrapped() {
    for command in [
        "rm file",
        "rm -rf build",
        "/bin/rm -r x",
        "cd build && rm -rf *",
        "true; rm x",
        "FORCE=1 sudo -u root rm -rf /tmp/x",
        "ls | xargs rm",
        "find . -name '*.o' -delete",
        "find . -exec rm {} \\;",
        "bash -c 'rm -rf build'",
        "sh -c \"cd x; git clean -fdx\"",
        "eval \"rm x\"",
        "echo $(rm x)",
        "echo \"`rm x`\"",
        "git push --force origin main",
        "git push -f",
        "git push origin +main",
        "git push origin :main",
        "git -C repo reset --hard HEAD~3",
        "git clean -fd",
        "git checkout -- .",
        "git checkout .",
        "git restore src/main.rs",
        "git branch -D topic",
        "git stash drop",
        "dd if=/dev/zero of=disk",
        "mkfs.ext4 /dev/sda1",
        "echo x > /dev/sda",
        "truncate -s 0 log",
        "chmod -R 777 .",
        "kill -9 1",
        "docker system prune -f",
        "docker compose down -v",
        "kubectl delete pod x",
        "terraform destroy",
        "cargo publish",
        "npm publish",
        "aws s3 rm s3://bucket/x",
        "psql -c 'DROP TABLE users'",
        "python3 -c 'import shutil; shutil.rmtree(\"x\")'",
        "r\\m x",
        "if true; then rm x; fi",
        "apt-get remove python3",
    ] {
        assert!(destructive(command).is_some(), "{command}");
    }
}

#[test]
fn commands_that_destroy_nothing_are_left_alone() {
    for command in [
        "",
        "ls -la",
        "echo rm",
        "grep -rf patterns .",
        "cargo build && cargo test",
        "git status",
        "git push origin main",
        "git commit -m 'rm the old code'",
        "git clean -n",
        "git checkout topic",
        "git restore --staged x",
        "echo x > notes.txt 2> /dev/null",
        "cat < in | sort > out",
        "find . -name '*.rs'",
        "docker ps",
        "kubectl get pods",
        "npm install",
        "mkdir -p a/b",
        "python3 script.py --force",
        "'",
        "$(",
        "\\",
    ] {
        assert_eq!(destructive(command), None, "{command}");
    }
}

#[test]
fn the_quoted_part_of_a_command_is_short() {
    let told = destructive(&format!("rm {}", "x".repeat(100_000))).expect("it destroys");
    assert!(told.chars().count() <= 81, "{}", told.len());
    // Neither depth nor length costs much.
    let deep = "$(".repeat(20_000);
    assert_eq!(destructive(&deep), None);
    assert_eq!(destructive(&"sudo ".repeat(2_000)), None);
    assert_eq!(destructive(&"find -exec ".repeat(2_000)), None);
    // A command that is too long to be examined does not count as harmless.
    assert!(destructive(&"echo ".repeat(20_000)).is_some());
}
