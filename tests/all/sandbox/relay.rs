//! The way to a proxy from inside of a sandbox.

use super::backends;
use bub_tests::Home;
use serde_json::json;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;

/// Answers each connection with what was sent before it ended, in capitals.
fn proxy(socket: &Path) {
    let listener = UnixListener::bind(socket).expect("a socket");
    thread::spawn(move || {
        for client in listener.incoming() {
            let Ok(mut client) = client else { continue };
            thread::spawn(move || {
                let mut text = String::new();
                let _ = client.read_to_string(&mut text);
                let _ = client.write_all(text.to_uppercase().as_bytes());
            });
        }
    });
}

/// A program that speaks with the proxy of its variables, and with nothing else.
const CLIENT: &str = r#"
import os, socket
assert os.environ["HTTPS_PROXY"] == os.environ["http_proxy"], os.environ
assert os.environ["ALL_PROXY"].startswith("http://127.0.0.1:"), os.environ
port = int(os.environ["HTTP_PROXY"].rsplit(":", 1)[1])
for text in ["first", "x" * 300000]:
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(text.encode())
    s.shutdown(socket.SHUT_WR)
    got = b""
    while True:
        part = s.recv(65536)
        if not part: break
        got += part
    assert got.decode() == text.upper(), len(got)
print("through")
"#;

fn client(home: &Home) -> String {
    let file = home.workspace().join("client.py");
    std::fs::write(&file, CLIENT).expect("a file");
    file.display().to_string()
}

#[test]
fn connections_reach_the_proxy_whole_and_end_as_they_should() {
    let home = super::home();
    let socket = home.bub_home().with_file_name("proxy.sock");
    proxy(&socket);
    let client = client(&home);
    let words = ["sandbox-exec", "relay", socket.to_str().expect("text"), "--", "/usr/bin/python3", &client];
    let finished = home.bub(words).finish();
    assert_eq!(finished.stdout, "through\n", "{finished}");
    // The command's end is its own.
    let ended = |script: &str| {
        let words = ["sandbox-exec", "relay", socket.to_str().expect("text"), "--", "sh", "-c", script];
        home.bub(words).finish().code
    };
    assert_eq!((ended("exit 7"), ended("kill -9 $$")), (Some(7), Some(137)));
}

#[test]
fn under_landlock_the_proxy_is_the_only_way_out() {
    if !backends().contains(&"landlock") {
        println!("skipped: there is no `landlock` on this machine");
        return;
    }
    let home = super::home();
    let socket = home.bub_home().with_file_name("proxy.sock");
    proxy(&socket);
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let private = home.bub_home().with_file_name("private");
    for name in ["tmp", "home"] {
        std::fs::create_dir_all(private.join(name)).expect("a directory");
    }
    let confinement = json!({
        "workspace": home.workspace(), "home": home.bub_home().with_file_name("user"), "private": private,
        "read": [], "write": [], "keep": [], "hide": [home.bub_home()], "network": { "Proxy": { "socket": socket, "loopback": [] } },
        "limits": { "processes": 0, "memory": 0, "file": 0, "cpu_seconds": 0 },
    });
    let client = client(&home);
    let script =
        format!("/usr/bin/python3 {client}; (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo escaped; true");
    let words = ["sandbox-exec", "landlock", &confinement.to_string(), "--", "bash", "-c", &script];
    let finished = home.bub(words).finish();
    assert_eq!(finished.stdout, "through\n", "{finished}");
}

#[test]
fn the_hidden_command_explains_what_is_wrong() {
    let home = super::home();
    for words in
        [&["sandbox-exec"][..], &["sandbox-exec", "relay", "s"], &["sandbox-exec", "landlock", "{}", "--", "true"]]
    {
        let finished = home.bub(words.iter().copied()).finish();
        assert_eq!(finished.code, Some(126), "{finished}");
        assert!(finished.stderr.starts_with("error: the sandbox cannot be made: "), "{finished}");
        assert_eq!(finished.stderr.lines().count(), 1, "{finished}");
    }
}
