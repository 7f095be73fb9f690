//! The behaviour that the original's tests check, through the program.

use super::*;

#[test]
fn a_memory_that_was_never_written_to_is_empty() {
    let home = keeping();
    assert_eq!(
        typed(&home, ",memory.show"),
        "workspace: version 0\n- long-term: (empty)\n\nsession: version 0\n- long-term: (empty)"
    );
    assert!(typed(&home, ",memory.recall").ends_with("(nothing is remembered)"));
}

#[test]
fn a_daily_note_is_stored() {
    let home = keeping();
    call(&home, "memory.daily", &json!({ "content": "worked on memory", "date": "2025-07-17" }));
    let note = ("2025-07-17".to_owned(), "# 2025-07-17\n\nworked on memory".to_owned());
    assert_eq!(contents(&home, WORKSPACE), (1, None, vec![note]));
}

#[test]
fn the_later_of_two_notes_for_a_day_on_an_old_tape_is_used() {
    let home = keeping();
    let note = |content: &str| {
        let data = json!({ "date": "2025-07-17", "content": content, "updated_at": "" });
        ("event", json!({ "name": "memory.daily", "data": data }), json!({}))
    };
    plant(&home, WORKSPACE, &[bubs("open", 1), note("old content"), note("new content"), bubs("seal", 1)]);
    let shown = typed(&home, ",memory.export");
    assert!(shown.contains("new content") && !shown.contains("old content"), "{shown}");
}

#[test]
fn notes_are_shown_newest_first() {
    let home = keeping();
    for date in ["2025-07-15", "2025-07-17", "2025-07-16"] {
        typed(&home, &format!(",memory.daily content=x date={date}"));
    }
    let shown = typed(&home, ",memory.show scope=workspace");
    let dates: Vec<&str> = shown.lines().filter_map(|line| line.strip_prefix("- 2025-07-")?.get(..2)).collect();
    assert_eq!(dates, ["17", "16", "15"], "{shown}");
}

#[test]
fn recent_notes_are_those_of_so_many_days_today_included() {
    let home = keeping();
    let today = today(&home);
    let date: jiff::civil::Date = today.parse().expect("a date");
    for days in [0, 1, 6, 7] {
        let day = date.checked_sub(jiff::Span::new().days(days)).expect("a date");
        typed(&home, &format!(",memory.daily content='{days} ago' date={day}"));
    }
    let recalled = |line: &str| {
        let recalled = typed(&home, line);
        [0, 1, 6, 7].into_iter().filter(|days| recalled.contains(&format!("{days} ago"))).collect::<Vec<_>>()
    };
    assert_eq!(recalled(",memory.recall"), [0, 1, 6]);
    assert_eq!(recalled(",memory.recall days=1"), [0]);
    assert_eq!(recalled(",memory.recall days=2"), [0, 1]);
    assert_eq!(recalled(",memory.recall days=30"), [0, 1, 6, 7]);
}

#[test]
fn old_notes_are_dropped_when_a_session_starts_and_at_most_once_a_day() {
    let home = home();
    let today = today(&home);
    let old = ",memory.daily content=old date=2020-01-01";
    for line in [old, ",memory.daily content=new"] {
        typed(&home, line);
    }
    let dates = || contents(&home, WORKSPACE).2.into_iter().map(|(date, _)| date).collect::<Vec<_>>();
    assert_eq!(dates(), ["2020-01-01".to_owned(), today.clone()]);
    let version = contents(&home, WORKSPACE).0;
    system(&home, "a new session");
    assert_eq!(dates(), std::slice::from_ref(&today));
    assert_eq!(contents(&home, WORKSPACE).0, version + 1);
    assert_eq!(zone(&home, WORKSPACE).last().expect("a seal")["meta"]["pruned"], today.as_str());
    // For the rest of the day it waits, whichever process wrote in between.
    typed(&home, old);
    system(&home, "another session");
    assert_eq!(dates(), ["2020-01-01".to_owned(), today]);
}

#[test]
fn how_long_notes_are_kept_is_configured() {
    let home = home();
    let today: jiff::civil::Date = today(&home).parse().expect("a date");
    let day = |days: i64| today.checked_sub(jiff::Span::new().days(days)).expect("a date").to_string();
    for days in [4, 5, 6] {
        typed(&home, &format!(",memory.daily content=x date={}", day(days)));
    }
    home.configure("[plugins.memory.config]\nretention_days = 5");
    system(&home, SESSION);
    let dates: Vec<String> = contents(&home, WORKSPACE).2.into_iter().map(|(date, _)| date).collect();
    assert_eq!(dates, [day(5), day(4)]);
}

#[test]
fn a_session_has_no_section_until_something_is_saved_in_it() {
    let home = keeping();
    for _ in 0..3 {
        system(&home, SESSION);
    }
    assert!(kept(&home, SESSION).is_empty());
    assert!(!entries(&home, SESSION).iter().any(|entry| is_anchor(entry, "memory/open")));
    typed(&home, ",memory.save content=x scope=session");
    assert_eq!(contents(&home, SESSION), (1, Some("x".to_owned()), Vec::new()));
    assert!(!entries(&home, SESSION).iter().any(|entry| is_anchor(entry, "memory/open")));
}

#[test]
fn an_old_tape_without_a_section_keeps_its_view_and_gets_none() {
    let home = keeping();
    let message = |role: &str, text: &str| ("message", json!({ "role": role, "content": text }), json!({}));
    let start = ("anchor", json!({ "name": "session/start", "state": { "owner": "human" } }), json!({}));
    plant(&home, SESSION, &[start, message("user", "an old question"), message("assistant", "an old answer")]);
    let server = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    let messages = server.requests()[0].messages();
    let texts: Vec<&str> = messages.iter().skip(1).filter_map(|message| message["content"].as_str()).collect();
    assert_eq!(texts[..2], ["an old question", "an old answer"]);
    assert!(kept(&home, SESSION).is_empty());
}

#[test]
fn saving_replaces_the_long_term_memory() {
    let home = keeping();
    assert_eq!(call(&home, "memory.save", &json!({ "content": "first" })), "saved to long-term memory");
    call(&home, "memory.save", &json!({ "content": "second" }));
    assert_eq!(contents(&home, WORKSPACE), (2, Some("second".to_owned()), Vec::new()));
}

#[test]
fn the_version_grows_by_one_with_each_write() {
    let home = keeping();
    let lines = [",memory.save content=a", ",memory.save content=b", ",memory.daily content=c", ",memory.clear"];
    for (version, line) in (1..).zip(lines) {
        typed(&home, line);
        assert_eq!(contents(&home, WORKSPACE).0, version, "{line}");
    }
}

#[test]
fn text_added_to_a_day_follows_its_earlier_text() {
    let home = keeping();
    for content in ["morning work", "afternoon work"] {
        call(&home, "memory.daily", &json!({ "content": content, "date": "2025-07-17" }));
    }
    let note = ("2025-07-17".to_owned(), "# 2025-07-17\n\nmorning work\nafternoon work".to_owned());
    assert_eq!(contents(&home, WORKSPACE), (2, None, vec![note]));
}

#[test]
fn clearing_removes_everything_in_both_sections() {
    let home = keeping();
    for line in [",memory.save content=a", ",memory.daily content=b", ",memory.save content=c scope=session"] {
        typed(&home, line);
    }
    let answer = typed(&home, ",memory.clear");
    assert!(answer.starts_with("cleared the memory of the workspace and the session."), "{answer}");
    for session in [WORKSPACE, SESSION] {
        let (_, long_term, notes) = contents(&home, session);
        assert_eq!((long_term, notes), (None, Vec::new()));
    }
    assert_eq!(block(&system(&home, SESSION)), None);
    assert_eq!(typed(&home, ",memory.clear"), "nothing was remembered");
}

#[test]
fn of_an_empty_memory_the_prompt_has_the_date_and_the_rule_alone() {
    let home = keeping();
    let system = system(&home, SESSION);
    assert_eq!(block(&system), None);
    assert!(system.contains("\n\nToday is 2"), "{system}");
    assert!(system.contains("keep it without being asked"), "{system}");
}

#[test]
fn the_prompt_has_the_memory_and_how_to_remember() {
    let home = keeping();
    typed(&home, ",memory.save content='User likes dark mode'");
    let system = system(&home, SESSION);
    let expected = "Use `memory.save` to update long-term memory, `memory.daily` to append to\n\
                    daily notes, and `memory.recall` to search past memories.\n\n\
                    ## Long-term Memory\nUser likes dark mode";
    assert_eq!(block(&system), Some(expected));
}

#[test]
fn todays_notes_are_separate_from_recent_ones() {
    let home = keeping();
    let today = today(&home);
    let date: jiff::civil::Date = today.parse().expect("a date");
    let day = |days: i64| date.checked_sub(jiff::Span::new().days(days)).expect("a date").to_string();
    typed(&home, ",memory.daily content='the work of today'");
    for days in [1, 7, 8] {
        typed(&home, &format!(",memory.daily content='{days} ago' date={}", day(days)));
    }
    let system = system(&home, SESSION);
    let block = block(&system).expect("something is remembered");
    let expected = format!(
        "## Today's Notes\n# {today}\n\nthe work of today\n\n## Recent Notes\n### {0}\n# {0}\n\n1 ago\n### {1}\n# {1}\n\n7 ago",
        day(1),
        day(7)
    );
    assert_eq!(block.split_once("\n\n").map(|(_, rest)| rest), Some(expected.as_str()));
}

#[test]
fn today_is_the_users_day_and_updated_at_is_utc() {
    let home = keeping();
    // Two places whose days are never the same.
    let day_in = |zone: &str| {
        let finished = home.run([",memory.daily content=x scope=session", "--chat-id", zone]).env("TZ", zone).finish();
        assert_eq!(finished.code, Some(0), "{finished}");
        let (_, _, notes) = contents(&home, &format!("cli:{zone}"));
        notes[0].0.parse::<jiff::civil::Date>().expect("a date")
    };
    let (east, west) = (day_in("Etc/GMT-14"), day_in("Etc/GMT+12"));
    assert!(east > west, "{east} {west}");
    let updated = zone(&home, "cli:Etc/GMT-14")[1]["payload"]["data"]["updated_at"].clone();
    assert!(updated.as_str().is_some_and(|at| at.ends_with("+00:00")), "{updated}");
}

#[test]
fn another_process_finds_the_memory() {
    let home = keeping();
    typed(&home, ",memory.save content='persisted memory'");
    typed(&home, ",memory.daily content='daily note' date=2025-07-17");
    let found = typed(&home, ",memory.export");
    assert!(found.contains("persisted memory") && found.contains("daily note"), "{found}");
}

#[test]
fn the_section_with_the_highest_version_is_current_wherever_it_is() {
    let home = keeping();
    let long_term = |text: &str| {
        ("event", json!({ "name": "memory.long_term", "data": { "content": text, "updated_at": "" } }), json!({}))
    };
    plant(
        &home,
        WORKSPACE,
        &[
            bubs("open", 1),
            long_term("one"),
            bubs("seal", 1),
            bubs("open", 7),
            long_term("seven"),
            bubs("seal", 7),
            bubs("open", 3),
            long_term("three"),
            bubs("seal", 3),
            // A crash between: the section is incomplete and does not apply.
            bubs("open", 8),
            long_term("eight"),
        ],
    );
    assert!(system(&home, SESSION).contains("## Long-term Memory\nseven"));
    typed(&home, ",memory.daily content=x date=2025-07-17");
    assert_eq!(contents(&home, WORKSPACE).0, 8);
    assert_eq!(contents(&home, WORKSPACE).1.as_deref(), Some("seven"));
}

#[test]
fn a_section_is_contiguous_between_its_anchors() {
    let home = keeping();
    typed(&home, ",memory.save content='test content'");
    typed(&home, ",memory.daily content=x date=2025-07-17");
    let zone = zone(&home, WORKSPACE);
    let kinds: Vec<&str> = zone.iter().filter_map(|entry| entry["kind"].as_str()).collect();
    assert_eq!(kinds, ["anchor", "event", "event", "anchor"]);
    let data = &zone[1]["payload"]["data"];
    assert_eq!(data["content"], "test content");
    assert!(data["updated_at"].is_string() && zone[2]["payload"]["data"]["updated_at"].is_string());
    let keys: Vec<&String> = zone[2]["payload"]["data"].as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["date", "content", "updated_at"]);
    let ids: Vec<u64> = zone.iter().filter_map(|entry| entry["id"].as_u64()).collect();
    assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1), "{ids:?}");
}

#[test]
fn foreign_entries_inside_a_section_are_ignored() {
    let home = keeping();
    let other = ("event", json!({ "name": "other.thing", "data": { "content": "x" } }), json!({}));
    let strange = ("memo", json!({ "content": "y" }), json!({}));
    let long_term = json!({ "name": "memory.long_term", "data": { "content": "kept", "updated_at": "" } });
    plant(&home, WORKSPACE, &[bubs("open", 1), other, strange, ("event", long_term, json!({})), bubs("seal", 1)]);
    assert!(system(&home, SESSION).contains("## Long-term Memory\nkept"));
}

#[test]
fn a_save_names_the_removed_lines_and_an_addition_removes_none() {
    let home = home();
    let typed = |command: &str| {
        let finished = home.run([command]).finish();
        assert_eq!(finished.code, Some(0), "{finished}");
        finished.stdout
    };
    assert!(typed(",memory.add 'Likes tea.'").contains("added to long-term memory"));
    assert!(typed(",memory.add content='Has a cat.'").contains("added to long-term memory"));
    assert!(typed(",memory.add 'Likes tea.'").contains("stands in long-term memory already"));
    assert!(typed(",memory.export").contains("Likes tea.\nHas a cat."));
    let lost = typed(",memory.save 'Likes tea. Lives in Ulm.'");
    assert!(
        lost.contains("no longer remembered") && lost.contains("- Has a cat.") && lost.contains("`memory.add`"),
        "{lost}"
    );
    assert!(!lost.contains("- Likes tea."), "lines of the new text are not lost: {lost}");
    let kept = typed(",memory.save 'Likes tea. Lives in Ulm. Sings.'");
    assert!(!kept.contains("no longer"), "{kept}");
    home.run([",memory.add ''"]).finish().refuses(&["nothing to add"]);
    // Unquoted words are rejected as too many, with the remedy.
    home.run([",memory.add I like tea and coffee"]).finish().refuses(&["in quotes"]);
}
