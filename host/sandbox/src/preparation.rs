//! What is done around the start of a confined program.
//!
//! Bubblewrap says which process it has made (`--info-fd`), and waits for a word before it starts the command
//! (`--block-fd`). In between this process limits that one from outside, puts it into its control group, and opens the way
//! to the proxy in its network. So neither a shell nor a relay has to be started inside.

use crate::confinement::{Limits, Network};
use crate::enter::{self, Address};
use crate::limits::Groups;
use rustix::io::{FdFlags, fcntl_setfd};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The port of the proxy inside, above those that the system gives to connections.
pub(crate) const PROXY_PORT: u16 = 61_128;

/// How long bubblewrap may take until it says which process it has made.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most that it says, in bytes.
const MAX_INFO: usize = 4096;

/// What is done around the start of a confined program, on the thread that starts it.
#[derive(Debug, Default)]
pub struct Preparation {
    pub(crate) groups: Option<Arc<Groups>>,
    pub(crate) handshake: Option<Handshake>,
    /// Files that the process inherits.
    pub(crate) inherited: Vec<OwnedFd>,
}

/// Listeners in the network of a program.
#[derive(Debug, Default)]
pub struct Listeners {
    /// Where programs find the proxy.
    pub proxy: Option<TcpListener>,
    /// Ports of the machine that are the same ports inside, with what they lead to, as `127.0.0.1:5432`.
    pub forwarded: Vec<(TcpListener, String)>,
}

impl Preparation {
    /// Before the start: what this thread starts from here on is in its control groups. To be called on a thread that
    /// starts programs alone.
    ///
    /// # Errors
    ///
    /// The group is gone.
    pub fn begin(&self) -> io::Result<()> {
        self.groups.as_ref().map_or(Ok(()), |groups| groups.join())
    }

    /// After the start: the program waits until this was done. The result is empty if it has no proxy, if it reaches the
    /// proxy in another way, or if it has ended already, which its exit code and output explain.
    ///
    /// # Errors
    ///
    /// It cannot be held. The caller ends it.
    pub fn complete(self) -> io::Result<Listeners> {
        let Self { groups, handshake, inherited } = self;
        // Its end is seen only if nothing else has the other end of the pipe.
        drop(inherited);
        match handshake {
            Some(handshake) => handshake.complete(groups.as_deref()),
            None => Ok(Listeners::default()),
        }
    }
}

/// The pipes to a bubblewrap that waits.
#[derive(Debug)]
pub(crate) struct Handshake {
    info: PipeReader,
    go: PipeWriter,
    limits: Limits,
    /// A file that says that bubblewrap works here, which goes if it does not.
    known: Option<PathBuf>,
    /// The proxy is first; none: there is no way to one.
    destinations: Option<Vec<String>>,
}

/// The numbers of files that bubblewrap inherits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descriptors {
    pub(crate) info: RawFd,
    pub(crate) block: RawFd,
}

impl Handshake {
    /// Pipes, and their other ends, which bubblewrap inherits.
    pub(crate) fn new(limits: Limits, network: &Network) -> io::Result<(Self, Descriptors, [OwnedFd; 2])> {
        let (info, info_writer) = io::pipe()?;
        let (block, go) = io::pipe()?;
        let inherited = [OwnedFd::from(info_writer), OwnedFd::from(block)];
        for one in &inherited {
            fcntl_setfd(one, FdFlags::empty())?;
        }
        let [info_writer, block] = &inherited;
        let descriptors = Descriptors { info: info_writer.as_raw_fd(), block: block.as_raw_fd() };
        let destinations = match network {
            Network::Proxy { loopback, .. } => Some(loopback.clone()),
            Network::Off | Network::Free => None,
        };
        Ok((Self { info, go, limits, known: None, destinations }, descriptors, inherited))
    }

    /// Removes that file if bubblewrap makes no process.
    pub(crate) fn forgetting(self, known: Option<PathBuf>) -> Self {
        Self { known, ..self }
    }

    fn complete(mut self, groups: Option<&Groups>) -> io::Result<Listeners> {
        let Some(process) = self.process()? else {
            if let Some(known) = &self.known {
                // It is gone, or the next start looks again all the same.
                let _ = std::fs::remove_file(known);
            }
            return Ok(Listeners::default());
        };
        match self.prepare(process, groups) {
            Ok(listeners) => {
                // It may have ended meanwhile, which its output explains.
                let _ = self.go.write_all(b"1");
                Ok(listeners)
            }
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(Listeners::default()),
            Err(error) => Err(error),
        }
    }

    fn prepare(&self, process: i32, groups: Option<&Groups>) -> io::Result<Listeners> {
        if let Some(groups) = groups {
            groups.add(process)?;
        }
        limit(process, &self.limits)?;
        self.listeners(process)
    }

    /// The process that bubblewrap has made: the first one of the sandbox. None: it has ended before. All is read, because
    /// bubblewrap would not survive a pipe without a reader.
    fn process(&mut self) -> io::Result<Option<i32>> {
        let deadline = Instant::now() + PATIENCE;
        let (mut said, mut part) = (Vec::new(), [0; 512]);
        while said.len() < MAX_INFO {
            if let Some(process) = child(&said) {
                return Ok(Some(process));
            }
            if !enter::is_readable(&self.info, deadline.saturating_duration_since(Instant::now()))? {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "bubblewrap makes no process"));
            }
            match self.info.read(&mut part)? {
                0 => return Ok(child(&said)),
                count => said.extend_from_slice(part.get(..count).unwrap_or_default()),
            }
        }
        Err(io::Error::other("bubblewrap says too much of its process"))
    }

    fn listeners(&self, process: i32) -> io::Result<Listeners> {
        let Some(destinations) = &self.destinations else { return Ok(Listeners::default()) };
        let port = |text: &String| text.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        let forwarded = destinations.iter().filter_map(|text| Some((text, port(text)?)));
        let forwarded: Vec<(&String, u16)> = forwarded.filter(|(_, port)| *port != PROXY_PORT).collect();
        let mut addresses = vec![Address::V4(PROXY_PORT)];
        addresses.extend(forwarded.iter().flat_map(|(_, port)| [Address::V4(*port), Address::V6(*port)]));
        let mut made = enter::listen(process, &addresses)?.into_iter();
        let proxy = made.next().flatten();
        let names = forwarded.iter().flat_map(|(text, _)| [*text, *text]);
        let forwarded = made.zip(names).filter_map(|(listener, text)| Some((listener?, text.clone()))).collect();
        Ok(Listeners { proxy, forwarded })
    }
}

/// The number in `{ "child-pid": 12, ... }`, once all of it is there.
fn child(said: &[u8]) -> Option<i32> {
    let text = std::str::from_utf8(said).ok()?.trim_end().strip_suffix('}')?;
    let (_, rest) = text.split_once("\"child-pid\":")?;
    let digits = rest.trim_start();
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    digits.get(..end)?.parse().ok()
}

fn limit(process: i32, limits: &Limits) -> io::Result<()> {
    let all = [
        (libc::RLIMIT_NPROC, limits.processes),
        (libc::RLIMIT_DATA, limits.memory),
        (libc::RLIMIT_FSIZE, limits.file),
        (libc::RLIMIT_CPU, limits.cpu_seconds),
    ];
    for (resource, value) in all.into_iter().filter(|(_, value)| *value > 0) {
        enter::limit(process, resource, value)?;
    }
    // Dumps of memory would be files of the workspace.
    enter::limit(process, libc::RLIMIT_CORE, 0)
}

/// Whether the namespaces of a bubblewrap's process can be entered here: a listener in its network is the test.
pub(crate) fn probe(start: impl FnOnce(Descriptors) -> io::Result<()>) -> io::Result<bool> {
    let limits = Limits { processes: 0, memory: 0, file: 0, cpu_seconds: 0 };
    let network = Network::Proxy { socket: None, loopback: Vec::new() };
    let (handshake, descriptors, inherited) = Handshake::new(limits, &network)?;
    start(descriptors)?;
    drop(inherited);
    Ok(handshake.complete(None)?.proxy.is_some())
}

/// A file as another process inherits it.
pub(crate) fn inherited(bytes: &[u8]) -> io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
    // Another process that starts at the same time inherits it, too: there is nothing in it to hide.
    let file = File::from(memfd_create(c"filter", MemfdFlags::empty())?);
    (&file).write_all(bytes)?;
    seek(&file, SeekFrom::Start(0))?;
    Ok(file.into())
}
