//! Logins of browsers: links with one-time codes, and cookies in place of tokens.

use crate::home;
use crate::serve::{echo, serve, token_of};
use bub_tests::{Home, Said, Serve};
use serde_json::json;
use std::time::{Duration, Instant};

/// The code of a link that `open` prints.
fn code(home: &Home, options: &[&str]) -> String {
    let finished = home.bub([&["open"], options].concat()).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    let link = finished.stdout.trim();
    let (origin, code) = link.split_once("/#/login/").unwrap_or_else(|| panic!("{finished}"));
    assert!(origin.starts_with("http://127.0.0.1:"), "{finished}");
    code.to_owned()
}

fn login(serve: &Serve<'_>, body: &serde_json::Value) -> Said {
    serve.strange("POST", "/v1/login").json(body).send()
}

/// The cookie of a login, as a browser sends it.
#[track_caller]
fn cookie(said: &Said) -> String {
    let set = said.header("set-cookie").unwrap_or_else(|| panic!("{said:?}"));
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(set.contains(part), "{set}");
    }
    set.split(';').next().unwrap().to_owned()
}

fn me(serve: &Serve<'_>, cookie: &str) -> Said {
    serve.strange("GET", "/v1/me").header("cookie", &format!("theme=dark; {cookie}")).send()
}

#[test]
fn a_link_logs_a_browser_in_once_and_the_login_ends_with_its_sign_out() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let code = code(&home, &[]);
    let said = login(&serve, &json!({ "code": code }));
    assert_eq!(said.ok()["scopes"], json!(["turns", "read", "witness", "admin"]));
    let cookie = cookie(&said);
    let about = me(&serve, &cookie).ok();
    assert_eq!((about["name"].as_str(), about["principal"].as_str()), (Some("owner"), Some("owner")));
    assert!(about["selectors"].as_array().unwrap().iter().any(|name| name == "builtin"), "{about}");
    login(&serve, &json!({ "code": code })).refused(401, "`bub-wasm open`");
    // The cookie does what the token does.
    let turn = json!({ "content": "hello", "session_id": "http:page" });
    let asked = serve.strange("POST", "/v1/turns").header("cookie", &cookie).json(&turn).send();
    assert_eq!(asked.ok()["model_output"], "you said: hello");
    let out = serve.strange("POST", "/v1/logout").header("cookie", &cookie).json(&json!({})).send();
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"), "{out:?}");
    me(&serve, &cookie).refused(401, "token");
}

#[test]
fn a_login_outlives_a_restart_and_ends_with_its_token() {
    let (home, model) = (home(), echo());
    let token = token_of(&home, "phone", "peer", "\"read\"", "http:phone");
    let first = serve(&home, &model);
    let with_code = cookie(&login(&first, &json!({ "code": code(&home, &["--token", "phone"]) })));
    let with_token = cookie(&login(&first, &json!({ "token": token })));
    assert_ne!(with_code, with_token);
    first.end();
    let second = serve(&home, &model);
    for cookie in [&with_code, &with_token] {
        let about = me(&second, cookie).ok();
        assert_eq!(about["name"], "phone");
        assert_eq!((&about["scopes"], &about["session_prefix"]), (&json!(["read"]), &json!("http:phone")));
    }
    std::fs::write(home.bub_home().join("config.toml"), "").unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while me(&second, &with_code).status == 200 {
        assert!(Instant::now() < end, "the token was removed from the configuration");
    }
    for cookie in [&with_code, &with_token] {
        me(&second, cookie).refused(401, "token");
    }
}

#[test]
fn a_page_of_another_origin_cannot_use_the_cookie() {
    let (home, model) = (home(), echo());
    home.configure("[serve]\norigins = [\"http://localhost:3000\"]\n");
    let serve = serve(&home, &model);
    let cookie = cookie(&login(&serve, &json!({ "code": code(&home, &[]) })));
    let from = |origin: &str| {
        let turn = json!({ "content": "hi" });
        serve.strange("POST", "/v1/turns").header("cookie", &cookie).header("origin", origin).json(&turn).send()
    };
    from(&serve.base()).ok();
    from("http://127.0.0.1:1").refused(403, "origin");
    from("null").refused(403, "origin");
    // One that may use the API has a token of its own.
    from("http://localhost:3000").refused(401, "token");
    let framed = serve.strange("GET", "/v1/me").header("cookie", &cookie).header("sec-fetch-site", "same-site").send();
    framed.refused(403, "origin");
}

#[test]
fn a_login_without_a_valid_code_or_token_is_refused() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    for body in [json!({ "code": "" }), json!({ "code": "../../serve.token" }), json!({ "token": "x".repeat(43) })] {
        let said = login(&serve, &body);
        said.refused(401, "not valid");
        assert_eq!(said.header("set-cookie"), None);
    }
    login(&serve, &json!({})).refused(400, "`code` or a `token`");
    login(&serve, &json!({ "code": "a", "token": "b" })).refused(400, "`code` or a `token`");
    for cookie in ["bub_login=", "bub_login=../x", "bub_login", "=bub_login", "bub_login=\u{e9}"] {
        assert_eq!(me(&serve, cookie).status, 401, "{cookie}");
    }
}

#[test]
fn open_says_what_is_missing() {
    let (home, model) = (home(), echo());
    let finished = home.bub(["open"]).finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    assert!(finished.stderr.contains("`serve` does not run for `"), "{finished}");
    let serve = serve(&home, &model);
    let finished = home.bub(["open", "--token", "nobody\u{1b}[2J"]).finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    assert!(finished.stderr.contains("config.toml has no token `nobody") && !finished.stderr.contains('\u{1b}'));
    serve.kill();
    // A file of an earlier server is not believed.
    let finished = home.bub(["open"]).finish();
    assert!(finished.stderr.contains("`serve` does not run for `"), "{finished}");
}

#[test]
fn a_login_holds_at_all_workers_of_a_database_and_its_sign_out_too() {
    let Some(workers) = crate::cluster::Workers::new(2, "") else { return };
    // Each home has an owner's token of its own, so one of the configuration is shared.
    let [token, _same] = [0, 1].map(|nth| token_of(&workers.homes[nth], "desk", "owner", "\"read\"", ""));
    let model = echo();
    let serves = [workers.serve(0, &model), workers.serve(1, &model)];
    let cookie = cookie(&login(&serves[0], &json!({ "token": token })));
    for serve in &serves {
        assert_eq!(me(serve, &cookie).ok()["name"], "desk");
    }
    serves[1].strange("POST", "/v1/logout").header("cookie", &cookie).json(&json!({})).send().ok();
    for serve in &serves {
        me(serve, &cookie).refused(401, "token");
    }
}
