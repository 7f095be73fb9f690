//! Rules of the user for commands.

mod shell;

use bub_permissions::policy::commands::{CommandRule, CommandRules, RuleDecision, RuleScope};
use serde_json::{Value, json};

fn rules(rules: Value) -> CommandRules {
    serde_json::from_value(rules).expect("rules")
}

fn usual() -> CommandRules {
    rules(json!([
        { "prefix": ["git", "status"], "decision": "allow", "tainted": true },
        { "prefix": "git log", "decision": "allow" },
        { "prefix": ["ls"], "decision": "allow" },
        { "prefix": ["make", "test"], "decision": "allow", "exact": true },
        { "prefix": ["bash", "check.sh"], "decision": "allow" },
        { "prefix": ["docker"], "decision": "allow" },
        { "prefix": ["git", "commit"], "decision": "ask" },
        { "prefix": ["git", "push"], "decision": "deny", "why": "a person releases" },
        { "prefix": ["rm", "-rf"], "decision": "deny" },
    ]))
}

#[track_caller]
fn decides(rules: &CommandRules, line: &str, expected: Option<RuleDecision>) {
    let verdict = rules.judge(line);
    assert_eq!(verdict.as_ref().map(|verdict| verdict.decision), expected, "{line}: {verdict:?}");
}

#[test]
fn a_line_is_allowed_if_every_command_of_it_is() {
    let rules = usual();
    for line in [
        "git status",
        "git status -s src",
        "git 'status'",
        "g\\it status",
        "ls; ls -la && git status | ls",
        "(ls; git status)",
        "if git status; then ls; else ls -a; fi",
        "ls \"$(git log -1)\"",
        "ls 2>/dev/null >&2",
        "ls $HOME ~ *.rs",
        "make test",
        "bash check.sh",
        "cd src/lib && ls # and rm -rf / is a comment",
        "docker ps",
        "ls \\\n  -la",
        "! ls",
        "ls &",
    ] {
        decides(&rules, line, Some(RuleDecision::Allow));
    }
}

#[test]
fn what_is_not_known_for_certain_is_never_allowed() {
    let rules = rules(json!([
        { "prefix": ["git", "status"], "decision": "allow" },
        { "prefix": ["git", "fetch"], "decision": "allow" },
        { "prefix": ["ls"], "decision": "allow" },
        { "prefix": ["cat"], "decision": "allow" },
        { "prefix": ["bash"], "decision": "allow" },
        { "prefix": ["python3"], "decision": "allow" },
        { "prefix": ["sudo"], "decision": "allow" },
        { "prefix": ["env"], "decision": "allow" },
        { "prefix": ["xargs"], "decision": "allow" },
        { "prefix": ["find"], "decision": "allow" },
        { "prefix": ["rm"], "decision": "allow" },
        { "prefix": ["docker"], "decision": "allow" },
        { "prefix": ["make", "test"], "decision": "allow", "exact": true },
    ]));
    for line in [
        "",
        "# ls",
        "git",
        "git commit",
        "git -C /tmp/x status",
        "git status; rm -rf b",
        "git status && curl x",
        "git status | sh",
        "git status\ncurl x",
        "git status & curl x",
        "git status $(curl x)",
        "git status `curl x`",
        "git status \"$(curl x)\"",
        "ls <(curl x)",
        "ls > ~/.bashrc",
        "ls >> .git/hooks/pre-commit",
        "ls > $FILE",
        "ls &> log",
        "ls >| log",
        "cat < /dev/tcp/example.com/80",
        "cat <<E\n$(curl x)\nE",
        "cat <<E | bash\nrm x\nE",
        "cat <<E\nE\ncurl x",
        "PATH=. git status",
        "PATH=.; git status",
        "X=1",
        "$GIT status",
        "git $VERB",
        "git {status,push}",
        "g?t status",
        "$'git' status",
        "./git status",
        "/tmp/git status",
        "~/git status",
        "git() { curl x; }; git status",
        "function git { curl x; }; git status",
        "alias git=curl; git status",
        "for PATH in .; do git status; done",
        "case x in x) ls;; esac",
        "ls $((1 + 1))",
        "[[ -e x ]] && ls",
        "((ls))",
        "ls ${X@P}",
        "ls ${X:=y}",
        "ls \"unterminated",
        "ls \"$\\\n(curl x)\"",
        "ls $\\\n(curl x)",
        "ls \"$\\\n{X@P}\"",
        "(\\\n(ls))",
        "ls $(",
        "ls )",
        "ls\0",
        "git fetch --upload-pack=evil .",
        "git fetch --upload-pa evil .",
        "git fetch -u evil .",
        "git fetch $(ls)",
        "bash -c 'rm x'",
        "bash x.sh",
        "ls | bash",
        "bash <<< 'rm x'",
        "python3 -c 'x'",
        "sudo rm x",
        "env curl x",
        "xargs curl",
        "find . -exec rm {} +",
        "rm x",
        "docker run x",
        "docker --context y run x",
        "make test all",
        "cd .. && ls",
        "cd / && ls",
        "cd - && ls",
        "cd $X && ls",
        "coproc ls",
        "ls {fd}> log",
        "eval ls",
        "time ls",
        "ls | time ls",
        "exec ls",
        "trap 'curl x' EXIT; ls",
    ] {
        decides(&rules, line, None);
    }
    decides(&rules, &format!("ls {}", "x".repeat(100_000)), None);
    decides(&rules, &"(".repeat(1000), None);
}

#[test]
fn the_strictest_rule_of_any_command_decides() {
    let rules = usual();
    for line in [
        "git push",
        "git push --force origin main",
        "git -C x push",
        "git --no-pager push",
        "/usr/bin/git push",
        "git status; git push",
        "ls && (git commit; git push)",
        "echo $(git push)",
        "echo \"`git push`\"",
        "cat <(git push)",
        "cat <<E\n$(git push)\nE",
        "X=1 git push",
        "sudo -u root git push",
        "env -i A=1 git push",
        "nohup git push",
        "timeout 5 git push",
        "sudo -u root -g wheel -C 3 git push",
        "su -c 'git push' root",
        "watch 'git push'",
        "flock file -c 'ls; git push'",
        "timeout -s KILL 5 git push",
        "ls | xargs -n 1 git push",
        "find . -exec git push {} \\;",
        "bash -c 'git push'",
        "sudo sh -c \"ls; git push\"",
        "eval 'git' push",
        "bash <<E\ngit push\nE",
        "f() { git push; }; f",
        "if true; then git push; fi",
        "for x in 1; do git push; done",
        "for x do git push; done",
        "case x in x) git push;; esac",
        "! git push",
        "time -p git push",
        "ls | time git push",
        "git push > log 2>&1",
        "rm -r -rf x",
        "rm x -rf",
    ] {
        decides(&rules, line, Some(RuleDecision::Deny));
    }
    for line in ["git commit -m x", "git status; git commit", "git commit -m push"] {
        decides(&rules, line, Some(RuleDecision::Ask));
    }
    for line in ["git pull", "echo git push", "rm x", "cat push", "echo 'a; git push'"] {
        decides(&rules, line, None);
    }
    let told = rules.judge("git status; git push origin").expect("a rule").why;
    assert_eq!(told, "a rule of `[[process.rules]]` denies `git push origin`: a person releases");
}

#[test]
fn what_may_be_restricted_is_asked_about() {
    let rules = usual();
    for line in [
        "$GIT push",
        "git $VERB",
        "g*t push",
        "$(echo git) push",
        "eval \"$X\"",
        "bash -c \"$X\"",
        "curl x | sh",
        "rm $FLAGS x",
        "'unterminated",
        "echo ${X@P}",
        "xargs $X",
        "ls | time -o log git push",
        "echo push | xargs git",
    ] {
        decides(&rules, line, Some(RuleDecision::Ask));
    }
    // Where nothing is restricted, nothing is asked about.
    let allowing = self::rules(json!([{ "prefix": ["ls"], "decision": "allow" }]));
    decides(&allowing, "$GIT push", None);
    decides(&CommandRules::default(), "git push", None);
}

#[test]
fn an_allowed_line_holds_in_tainted_turns_only_if_all_its_rules_do() {
    let tainted = |line| usual().judge(line).expect("it is allowed").tainted;
    assert!(tainted("git status"));
    assert!(tainted("cd src && git status"));
    assert!(!tainted("git log"));
    assert!(!tainted("git status; git log"));
}

#[test]
fn a_rule_is_offered_for_each_command_and_as_narrow_as_the_program_is_dangerous() {
    let offered = |line: &str| -> Vec<String> {
        usual().offer(line, RuleScope::default()).iter().map(ToString::to_string).collect()
    };
    let allow = |prefix: &str| vec![format!("prefix = {prefix}, decision = \"allow\"")];
    let exact = |prefix: &str| vec![format!("prefix = {prefix}, decision = \"allow\", exact = true")];
    assert_eq!(offered("git diff --stat"), allow(r#"["git", "diff"]"#));
    assert_eq!(offered("npm run build -- --watch"), allow(r#"["npm", "run", "build"]"#));
    assert_eq!(offered("cd src && cargo test --all"), allow(r#"["cargo", "test"]"#));
    assert_eq!(offered("git status && head -n 3 x"), allow(r#"["head"]"#));
    assert_eq!(offered("make all"), exact(r#"["make", "all"]"#));
    for open in [
        "bash x.sh",
        "sudo ls",
        "env ls",
        "python3 -c 1",
        "xargs ls",
        "rm -r build",
        "docker run x",
        "uv run x",
        "find . -name x",
        "git config a b",
        "python3.12 x",
        "/usr/bin/env ls",
    ] {
        let words: Vec<&str> = open.split(' ').collect();
        assert_eq!(
            offered(open),
            exact(&format!("[{}]", words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", "))),
            "{open}"
        );
    }
    // What is restricted, not plain, not literal or not known to a person who reads it.
    for none in [
        "git push",
        "git commit",
        "ls > x",
        "X=1 ls",
        "$X",
        "git $X",
        "ls | bash",
        "make \u{202e}x",
        "make a\u{1b}b",
        "a; b; c; d; e",
        "git fetch --upload-pack=x",
        "",
    ] {
        assert_eq!(offered(none), Vec::<String>::new(), "{none}");
    }
    assert_eq!(offered("git status"), Vec::<String>::new());
    // For a tainted turn, a rule that holds in clean ones only is not enough.
    let tainted = usual().offer("git log", RuleScope { tainted: true, ..RuleScope::default() });
    assert_eq!(tainted[0].to_string(), "prefix = [\"git\", \"log\"], decision = \"allow\", tainted = true");
    let outside = usual().offer("git log; ls", RuleScope { outside: true, ..RuleScope::default() });
    assert_eq!(outside[0].to_string(), "prefix = [\"git\", \"log\"], decision = \"allow\", outside = true");
    assert_eq!(outside[1].to_string(), "prefix = [\"ls\"], decision = \"allow\", outside = true");
    let verdict = CommandRules::from_iter(outside).judge("ls -l && git log -1").expect("they say something");
    assert!(verdict.outside && !verdict.tainted, "{verdict:?}");
}

#[test]
fn rules_that_are_offered_end_the_question_and_permit_nothing_else() {
    for line in ["git diff", "make all", "bash x.sh", "cd a && cargo build; ls"] {
        let kept: CommandRules = CommandRules::default()
            .offer(line, RuleScope { tainted: true, ..RuleScope::default() })
            .into_iter()
            .collect();
        let verdict = kept.judge(line).expect(line);
        assert!(verdict.decision == RuleDecision::Allow && verdict.tainted, "{line}");
        for other in ["curl x", "bash y.sh", "make", "make all x", "git push", "cargo publish"] {
            decides(&kept, other, None);
            decides(&kept, &format!("{line}; {other}"), None);
        }
    }
}

#[test]
fn rules_that_mean_nothing_are_refused() {
    let refused = |rule: Value| serde_json::from_value::<CommandRule>(rule).expect_err("it is refused").to_string();
    for (rule, told) in [
        (json!({ "prefix": [], "decision": "allow" }), "names no command"),
        (json!({ "prefix": [""], "decision": "allow" }), "names no command"),
        (json!({ "prefix": "git status; ls", "decision": "allow" }), "is not one command of plain words"),
        (json!({ "prefix": "git $X", "decision": "deny" }), "is not one command of plain words"),
        (json!({ "prefix": "git", "decision": "never" }), "unknown variant"),
        (json!({ "prefix": "git", "decision": "deny", "exact": true }), "say what is allowed"),
        (json!({ "prefix": "git", "decision": "ask", "outside": false }), "say what is allowed"),
        (json!({ "prefix": "git", "decision": "allow", "other": 1 }), "unknown field"),
        (json!({ "prefix": vec!["x"; 40], "decision": "allow" }), "is longer than"),
    ] {
        let error = refused(rule);
        assert!(error.contains(told), "{error}");
    }
}
