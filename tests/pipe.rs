//! The output of a running program.

use std::io::Read;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// The output so far on one of the program's pipes.
pub(crate) struct Pipe {
    said: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Pipe {
    /// Reads to its end, on a thread of its own.
    pub(crate) fn read(pipe: Option<impl Read + Send + 'static>) -> Self {
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = said.clone();
        let reader = thread::spawn(move || {
            let Some(mut pipe) = pipe else { return };
            let mut piece = [0; 8192];
            loop {
                let length = pipe.read(&mut piece).expect("the output can be read");
                if length == 0 {
                    return;
                }
                heard.lock().expect("no thread panicked").extend_from_slice(&piece[..length]);
            }
        });
        Self { said, reader }
    }

    /// Whether this was among it.
    pub(crate) fn has(&self, text: &str) -> bool {
        let said = self.said.lock().expect("no thread panicked");
        String::from_utf8_lossy(&said).contains(text)
    }

    /// All of it, as far as it has come.
    pub(crate) fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.said.lock().expect("no thread panicked")).into_owned()
    }

    /// All of it, once it has ended.
    pub(crate) fn end(self) -> String {
        self.reader.join().expect("the pipe was read");
        let said = std::mem::take(&mut *self.said.lock().expect("no thread panicked"));
        String::from_utf8(said).expect("the program speaks UTF-8")
    }
}
