//! Programs under bubblewrap, started by the crate alone. Most tests are of the whole program: `tests/all/sandbox`.

use bub_sandbox::{Backend, Confinement, Limits, Listeners, Network, Private, Sandbox, Setting};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

/// A place with a workspace and a home.
struct Place {
    root: tempfile::TempDir,
    private: Private,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a directory");
        for name in ["ws", "home"] {
            fs::create_dir(root.path().join(name)).expect("a directory");
        }
        Self { root, private: Private::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().expect("it is there").join(name)
    }

    fn confinement(&self) -> Confinement {
        Confinement {
            workspace: self.path("ws"),
            home: Some(self.path("home")),
            private: self.private.of_session("s").expect("a directory"),
            read: Vec::new(),
            write: Vec::new(),
            keep: Vec::new(),
            hide: Vec::new(),
            network: Network::Off,
            limits: Limits::default(),
        }
    }
}

/// What the command prints; none if there is no bubblewrap.
fn run(confinement: &Confinement, command: &str) -> Option<String> {
    let sandbox = sandbox()?;
    let (child, listeners) = start(&sandbox, confinement, command);
    let output = child.wait_with_output().expect("it ends");
    drop(listeners);
    Some(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

fn sandbox() -> Option<Sandbox> {
    let sandbox = Sandbox::find(Setting::Bwrap, Path::new("/proc/self/exe"), None);
    if *sandbox.backend() == Backend::None {
        println!("skipped: {}", sandbox.why().join("; "));
        return None;
    }
    Some(sandbox)
}

fn start(sandbox: &Sandbox, confinement: &Confinement, command: &str) -> (Child, Listeners) {
    let wrapped = sandbox.wrap(confinement, &confinement.workspace).expect("it can be held");
    let (program, arguments) = wrapped.words.split_first().expect("there are words");
    let mut started = Command::new(program);
    started.args(arguments).args(["bash", "-c", command]).envs(wrapped.variables);
    started.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    wrapped.preparation.begin().expect("it begins");
    let child = started.spawn().expect("it starts");
    (child, wrapped.preparation.complete().expect("it is prepared"))
}

#[test]
fn of_two_rules_for_one_place_the_stricter_holds_and_of_nested_ones_the_inner() {
    let place = Place::new();
    for (file, text) in
        [("ws/kept/f", "kept"), ("ws/hidden/f", "hidden"), ("ws/hidden/shown/f", "shown"), ("ws/f", "f")]
    {
        let file = place.path(file);
        fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        fs::write(file, text).expect("a file");
    }
    let mut confinement = place.confinement();
    confinement.keep = vec![place.path("ws/kept")];
    confinement.hide = vec![place.path("ws/hidden"), place.path("ws/kept/f")];
    confinement.write = vec![place.path("ws/kept"), place.path("ws/hidden/shown")];
    let Some(said) = run(
        &confinement,
        "cat f hidden/f hidden/shown/f kept/f; echo x > kept/new; echo x > hidden/new; echo y > hidden/shown/f",
    ) else {
        return;
    };
    assert!(said.starts_with("fshown") || said.contains("shown"), "{said}");
    assert!(!said.contains("kept\n") && !said.contains("hiddens"), "{said}");
    assert!(!place.path("ws/kept/new").exists() && !place.path("ws/hidden/new").exists(), "{said}");
    assert_eq!(fs::read_to_string(place.path("ws/hidden/shown/f")).expect("a file"), "y\n");
}

#[test]
fn no_words_are_made_for_a_workspace_that_cannot_be_held() {
    let place = Place::new();
    let Some(sandbox) = sandbox() else { return };
    for workspace in ["/", "/usr", "/etc"] {
        let confinement = Confinement { workspace: workspace.into(), ..place.confinement() };
        let error = sandbox.wrap(&confinement, Path::new("/")).expect_err("it cannot be held");
        assert!(error.contains(&format!("`{workspace}`")), "{error}");
    }
}

#[test]
fn limits_hold_from_the_first_process_on() {
    let place = Place::new();
    let limits = Limits { processes: 77, memory: 1 << 30, file: 1 << 20, cpu_seconds: 11 };
    let confinement = Confinement { limits, ..place.confinement() };
    let Some(said) =
        run(&confinement, "ulimit -u; ulimit -d; ulimit -f; ulimit -t; ulimit -c; ulimit -u 1000 || echo no")
    else {
        return;
    };
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.get(..5), Some(&["77", "1048576", "1024", "11", "0"][..]), "{said}");
    assert!(lines.contains(&"no"), "{said}");
}

#[test]
fn what_is_known_of_bubblewrap_is_kept_and_a_shell_limits_where_namespaces_cannot_be_entered() {
    let place = Place::new();
    let Some(first) = sandbox() else { return };
    let cache = place.path("cache");
    fs::create_dir(&cache).expect("a directory");
    let find = || Sandbox::find(Setting::Bwrap, Path::new("/proc/self/exe"), Some(&cache));
    assert_eq!(find().needs_socket(), first.needs_socket());
    let file = cache.join("sandbox");
    let known = fs::read_to_string(&file).expect("it is kept");
    // As it is known on a system that does not let them be entered.
    let word = known.lines().last().expect("a word");
    fs::write(&file, format!("{}closed", known.strip_suffix(word).expect("it ends so"))).expect("a file");
    let sandbox = find();
    assert!(sandbox.needs_socket());
    let limits = Limits { processes: 77, memory: 1 << 30, file: 1 << 20, cpu_seconds: 11 };
    let confinement = Confinement { limits, ..place.confinement() };
    let (child, _) = start(&sandbox, &confinement, "ulimit -u; ulimit -f; ulimit -t; ulimit -c");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "77\n1024\n11\n0\n", "{output:?}");
    // Of other circumstances nothing is known.
    fs::write(&file, known.replacen('/', "/other/", 1)).expect("a file");
    assert_eq!(find().needs_socket(), first.needs_socket());
    assert_eq!(fs::read_to_string(&file).expect("it is kept"), known);
}

#[test]
fn what_listens_for_a_program_is_in_its_network_and_in_no_other() {
    let place = Place::new();
    let Some(sandbox) = sandbox() else { return };
    if sandbox.needs_socket() {
        println!("skipped: the namespaces of bubblewrap cannot be entered here");
        return;
    }
    // The port is taken on this machine, and is another one inside.
    let taken = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let network = Network::Proxy { socket: None, loopback: vec![format!("127.0.0.1:{port}"), "nonsense".to_owned()] };
    let confinement = Confinement { network, ..place.confinement() };
    let command = format!(
        "p=${{HTTPS_PROXY##*:}}; for p in $p {port}; do exec 3<>/dev/tcp/127.0.0.1/$p; echo $p >&3; cat <&3; done; \
         exec 3<>/dev/tcp/::1/{port} && echo six >&3 && cat <&3; (exec 3<>/dev/tcp/127.0.0.1/9) || echo closed"
    );
    let (child, listeners) = start(&sandbox, &confinement, &command);
    let proxy = listeners.proxy.expect("a listener");
    let proxy_port = proxy.local_addr().expect("an address").port();
    assert!(listeners.forwarded.iter().all(|(_, to)| *to == format!("127.0.0.1:{port}")), "{:?}", listeners.forwarded);
    let answer = |listener: TcpListener, name: &'static str| {
        listener.set_nonblocking(false).expect("it waits");
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a program");
            let mut got = [0; 16];
            let count = stream.read(&mut got).expect("it says something");
            write!(stream, "{name} {}", String::from_utf8_lossy(&got[..count])).expect("it is answered");
        })
    };
    let mut threads = vec![answer(proxy, "proxy")];
    let has_six = listeners.forwarded.len() == 2;
    threads.extend(listeners.forwarded.into_iter().map(|(listener, _)| answer(listener, "forwarded")));
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    let six = if has_six { "forwarded six\n" } else { "" };
    assert_eq!(said, format!("proxy {proxy_port}\nforwarded {port}\n{six}closed\n"), "{output:?}");
    threads.into_iter().for_each(|thread| thread.join().expect("it was asked"));
    assert!(taken.set_nonblocking(true).is_ok() && taken.accept().is_err(), "the port of the machine was reached");
}

#[test]
fn a_bubblewrap_that_fails_says_so_itself() {
    let place = Place::new();
    let Some(sandbox) = sandbox() else { return };
    let confinement = place.confinement();
    // Gone between the look at it and the start.
    let wrapped = sandbox.wrap(&confinement, &confinement.workspace).expect("it can be held");
    fs::remove_dir_all(confinement.private.join("tmp")).expect("it goes");
    let (program, arguments) = wrapped.words.split_first().expect("there are words");
    let mut started = Command::new(program);
    started.args(arguments).args(["echo", "ran"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = started.spawn().expect("it starts");
    let listeners = wrapped.preparation.complete().expect("its own words tell why");
    assert!(listeners.proxy.is_none());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.stdout.is_empty() && String::from_utf8_lossy(&output.stderr).contains("bwrap: "), "{output:?}");
}

#[test]
fn private_directories_are_of_one_session_and_of_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let private = Private::default();
    let one = private.of_session("one").expect("a directory");
    assert_eq!(private.of_session("one").expect("a directory"), one);
    assert_ne!(private.of_session("two").expect("a directory"), one);
    for folder in [one.clone(), one.join("tmp"), one.join("home")] {
        let mode = folder.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", folder.display());
    }
    private.clear();
    assert!(!one.exists());
}

#[test]
fn without_a_backend_a_command_is_started_as_it_is() {
    let place = Place::new();
    let sandbox = Sandbox::find(Setting::Off, Path::new("/proc/self/exe"), None);
    assert_eq!(*sandbox.backend(), Backend::None);
    assert!(sandbox.wrap(&place.confinement(), Path::new("/")).expect("no words").words.is_empty());
    assert!(!sandbox.gaps().is_empty() && !sandbox.why().is_empty());
}
