//! Real clients, which find the proxy by its variables.

use super::support::{Rules, Server, start};
use bub_sandbox::{Relay, variables};
use bub_sandbox_proxy::Proxy;
use std::path::Path;
use std::process::Stdio;
use tokio::process::Command;

/// Whether a program is here; a test that needs it says that it was skipped.
fn has(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).any(|path| path.join(program).is_file());
    if !found {
        println!("skipped: there is no `{program}` here");
    }
    found
}

/// Runs a command as a sandbox would, but that this machine's loopback is not the sandbox's: `NO_PROXY` is left out.
async fn run(proxy: &Proxy, program: &str, arguments: &[&str], directory: &Path) -> (bool, String) {
    let port = Relay::new(proxy.socket().unwrap()).start().unwrap();
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).stdin(Stdio::null()).env_remove("NO_PROXY").env_remove("no_proxy");
    let named = variables(port);
    command.envs(named.into_iter().filter(|(name, _)| !name.eq_ignore_ascii_case("no_proxy")));
    command.envs([("GIT_TERMINAL_PROMPT", "0"), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")]);
    let output = command.output().await.expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn curl_reaches_what_a_rule_names_by_every_kind_of_proxy() {
    if !has("curl") {
        return;
    }
    let server = Server::start().await;
    let host = format!("127.0.0.1:{}", server.port);
    let (proxy, _) = start(Rules::new(&[&host, &format!("inner.test:{}", server.port)]));
    let directory = Path::new("/");
    let port = Relay::new(proxy.socket().unwrap()).start().unwrap();
    let (http, socks, socks_names) = (
        format!("http://127.0.0.1:{port}"),
        format!("socks5://127.0.0.1:{port}"),
        format!("socks5h://127.0.0.1:{port}"),
    );
    let url = format!("http://{host}/");
    let named = format!("http://inner.test:{}/", server.port);
    for arguments in [
        &["-sS", &url][..],
        &["-sS", &named],
        &["-sS", "-p", "-x", &http, &url],
        &["-sS", "-x", &socks, &url],
        &["-sS", "-x", &socks_names, &named],
        &["-sS", "-d", "some=data", &url],
    ] {
        let (is_good, said) = run(&proxy, "curl", arguments, directory).await;
        assert!(is_good && said == "hello", "{arguments:?}: {said}");
    }
    for arguments in [
        &["-sSf", "http://evil.test/"][..],
        &["-sS", "https://evil.test/"],
        &["-sS", "-x", &socks_names, "https://evil.test/"],
    ] {
        let (is_good, said) = run(&proxy, "curl", arguments, directory).await;
        assert!(!is_good, "{arguments:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn python_reaches_what_a_rule_names_and_shows_why_it_does_not_reach_others() {
    if !has("python3") {
        return;
    }
    let server = Server::start().await;
    let host = format!("127.0.0.1:{}", server.port);
    let (proxy, _) = start(Rules::new(&[&host]));
    let directory = Path::new("/");
    let open =
        |url: &str| format!("import urllib.request\nprint(urllib.request.urlopen('{url}').read().decode(), end='')");
    let (is_good, said) = run(&proxy, "python3", &["-c", &open(&format!("http://{host}/"))], directory).await;
    assert!(is_good && said == "hello", "{said}");
    let (is_good, said) = run(&proxy, "python3", &["-c", &open("https://evil.test/")], directory).await;
    assert!(!is_good && said.contains("no rule names `evil.test:443`"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn git_pushes_and_clones_over_http() {
    if !has("git") || !has("python3") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (proxy, _) = start(Rules::new(&[]));
    let git = async |arguments: &[&str], at: &Path| {
        let (is_good, said) = run(&proxy, "git", arguments, at).await;
        assert!(is_good, "{arguments:?}: {said}");
    };
    git(&["init", "-q", "--bare", "there.git"], path).await;
    git(&["-C", "there.git", "config", "http.receivepack", "true"], path).await;
    git(&["init", "-q", "-b", "main", "here"], path).await;
    let here = path.join("here");
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"], &here).await;

    // CPython's own CGI server is gone in new versions, so the few lines are here.
    let script = r#"
import http.server, os, subprocess, sys
root, backend = sys.argv[1], sys.argv[2]
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"
    def serve(self):
        path, _, query = self.path.partition("?")
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        if "chunked" in (self.headers.get("transfer-encoding") or ""):
            while True:
                size = int(self.rfile.readline(), 16)
                body += self.rfile.read(size)
                self.rfile.readline()
                if size == 0: break
        env = dict(os.environ, GIT_PROJECT_ROOT=root, GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path, QUERY_STRING=query,
                   REQUEST_METHOD=self.command, CONTENT_TYPE=self.headers.get("content-type") or "",
                   CONTENT_LENGTH=str(len(body)), REMOTE_USER="a",
                   HTTP_CONTENT_ENCODING=self.headers.get("content-encoding") or "")
        out = subprocess.run([backend], input=body, env=env, stdout=subprocess.PIPE).stdout
        head, _, rest = out.partition(b"\r\n\r\n")
        fields = [line.split(b": ", 1) for line in head.split(b"\r\n")]
        status = [v for k, v in fields if k.lower() == b"status"]
        self.send_response(int(status[0].split()[0]) if status else 200)
        for k, v in fields:
            if k.lower() != b"status": self.send_header(k.decode(), v.decode())
        self.end_headers()
        self.wfile.write(rest)
    do_GET = do_POST = serve
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"#;
    let found = std::process::Command::new("git").arg("--exec-path").output().unwrap();
    let backend = Path::new(String::from_utf8_lossy(&found.stdout).trim()).join("git-http-backend");
    if !backend.exists() {
        println!("skipped: there is no `git-http-backend` here");
        return;
    }
    let mut server = Command::new("python3")
        .args(["-c", script])
        .args([path, &backend])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = tokio::io::BufReader::new(server.stdout.take().unwrap());
    tokio::io::AsyncBufReadExt::read_line(&mut output, &mut line).await.unwrap();
    let host = format!("127.0.0.1:{}", line.trim());
    let url = format!("http://{host}/there.git");

    let (is_good, said) = run(&proxy, "git", &["push", "-q", &url, "main"], &here).await;
    assert!(!is_good && said.contains("403"), "{said}");
    let (proxy, rules) = start(Rules::new(&[&host]));
    let (is_good, said) = run(&proxy, "git", &["push", "-q", &url, "main"], &here).await;
    assert!(is_good, "{said}");
    let (is_good, said) = run(&proxy, "git", &["clone", "-q", &url, "again"], path).await;
    assert!(is_good && path.join("again/.git").is_dir(), "{said}");
    assert!(rules.moved(&host).0 > 100, "{:?}", rules.moved(&host));
}
