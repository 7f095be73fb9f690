//! The OpenAPI document names what is served, and the examples of the book work.

use super::{echo, serve};
use crate::home;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn the_document_names_the_paths_that_are_answered_and_no_others() {
    let document: Value = serde_json::from_str(bub_server::DOCUMENT).unwrap();
    let mut written = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        written.extend(methods.as_object().unwrap().keys().map(|method| (path.clone(), method.clone())));
    }
    let paths = bub_server::paths();
    let answered: BTreeSet<_> = paths
        .into_iter()
        .flat_map(|(path, methods)| methods.iter().map(move |method| (path.to_owned(), (*method).to_owned())))
        .collect();
    assert_eq!(written, answered);
}

#[test]
fn the_document_is_served_without_a_token_and_its_paths_are_there() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let document = serve.strange("GET", "/v1/openapi.json").send().ok();
    assert_eq!(document["openapi"], "3.1.0");
    for (path, methods) in document["paths"].as_object().unwrap() {
        let named = path
            .replace("{tape}", "a__b")
            .replace("{session}", "nobody")
            .replace("{model}", "bub")
            .replace("{name}", "none");
        for (method, about) in methods.as_object().unwrap() {
            if path == "/v1/events" {
                continue;
            }
            let said = serve.ask(&method.to_uppercase(), &named).header("content-type", "application/json").send();
            let written = &about["responses"];
            let is_written = written.get(said.status.to_string()).or_else(|| written.get("default")).is_some();
            assert!(is_written && said.status != 405, "{method} {named}: {said:?}");
            assert!(!said.body.contains("nothing at this path"), "{method} {named}");
        }
    }
}

/// Pages whose `sh` blocks are requests to a running server.
const PAGES: [&str; 2] =
    [include_str!("../../../docs/src/tutorial/serve.md"), include_str!("../../../docs/src/guide/http.md")];

#[test]
fn the_requests_in_the_book_work_as_they_stand() {
    if !Command::new("curl").arg("--version").output().is_ok_and(|output| output.status.success()) {
        let mut err = std::io::stderr();
        let _ = std::io::Write::write_all(&mut err, b"\nnot tested: there is no `curl` here\n");
        return;
    }
    let examples: Vec<&str> = PAGES
        .iter()
        .flat_map(|page| page.split("```sh\n").skip(1))
        .map(|rest| rest.split("```").next().unwrap())
        .filter(|sh| sh.contains("curl") || sh.contains("TOKEN="))
        .collect();
    assert!(examples.iter().filter(|example| example.contains("curl")).count() >= 5, "{examples:?}");
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let user = home.workspace().join("user");
    std::fs::create_dir(&user).unwrap();
    std::os::unix::fs::symlink(home.bub_home(), user.join(".bub")).unwrap();
    let mut script = "set -e\n".to_owned();
    for example in examples {
        // But for the port, and that a refusal ends it.
        let port = serve.address().port().to_string();
        script.push_str(&example.replace("8420", &port).replace("curl ", "curl --fail-with-body --max-time 60 "));
    }
    let output = Command::new("sh").args(["-c", &script]).env("HOME", &user).current_dir(home.workspace()).output();
    let output = output.unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script}\n{stdout}\n{stderr}");
    for expected in ["\"model_output\"", "event: text", "chat.completion", "\"hits\"", "bub_turns_total"] {
        assert!(stdout.contains(expected), "no `{expected}` in {stdout}");
    }
}
