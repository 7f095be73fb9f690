//! Proxies look names up by themselves, so none is used.

use std::env;
use std::process::Command;

use super::server::Server;
use super::{gate_to, get, ok, text, url};

const INSIDE: &str = "BUB_TEST_BEHIND_A_PROXY";

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_names_no_proxy_for_a_plugin() {
    let server = Server::start(|_| ok("", "direct")).await;
    if env::var_os(INSIDE).is_some() {
        let response = gate_to(&server).send(get(&url(&server, "/"))).await.expect("it answers");
        assert_eq!(text(response).await.as_deref(), Ok("direct"));
        return;
    }
    // The environment is the whole process's, so it is another process that gets it.
    let (_, module) = module_path!().split_once("::").expect("it is in a crate");
    let mut child = Command::new(env::current_exe().expect("it is a file"));
    child.args(["--exact", &format!("{module}::the_environment_names_no_proxy_for_a_plugin")]).env(INSIDE, "1");
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        child.env(name, format!("http://127.0.0.1:{}", server.port()));
    }
    child.env_remove("no_proxy").env_remove("NO_PROXY");
    let output = tokio::task::spawn_blocking(move || child.output()).await.expect("it ends").expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!(server.connections(), 0);
}
