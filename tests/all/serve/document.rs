//! The OpenAPI document names what is served.

use super::{echo, serve};
use crate::home;
use serde_json::Value;
use std::collections::BTreeSet;

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
            .replace("{name}", "none")
            .replace("{id}", "none");
        for (method, about) in methods.as_object().unwrap() {
            // Streams without an end.
            if ["/v1/events", "/v1/log"].contains(&path.as_str()) || path.ends_with("/stream") {
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
