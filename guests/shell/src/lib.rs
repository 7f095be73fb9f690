//! The tools `bash`, `bash.output` and `bash.kill`: commands in a shell of the machine, which the host starts and ends.

wit_bindgen::generate!({
    inline: "
        package bub:shell@0.1.0;
        world shell {
            import bub:process/process@0.1.0;
            import bub:turn/turn@0.1.0;
            export bub:tools/tools@0.1.0;
        }
    ",
    path: "../../wit",
    generate_all,
});

/// The manifest, which the host reads without running the component.
#[used]
#[unsafe(link_section = "bub:manifest")]
static MANIFEST: [u8; include_bytes!("../manifest.json").len()] = *include_bytes!("../manifest.json");

mod arguments;
mod report;
mod run;
mod specs;
mod watch;

use bub::tools::schema::ToolSpec;
use bub::turn::turn::Turn;
use bub::types::types::{Error, ErrorKind};

struct Shell;

impl exports::bub::tools::tools::Guest for Shell {
    fn list_tools() -> Vec<ToolSpec> {
        specs::all()
    }

    fn call_tool(_turn: Turn, name: String, arguments: String) -> Result<String, Error> {
        let text = match name.as_str() {
            "bash" => run::run(&arguments::parse(&name, &arguments)?)?,
            "bash.output" => watch::output(&arguments::parse(&name, &arguments)?)?,
            "bash.kill" => watch::kill(&arguments::parse(&name, &arguments)?)?,
            other => return Err(Error::new(ErrorKind::NotFound, format!("there is no tool `{other}` here"))),
        };
        json(&text)
    }
}

/// Serializes a text. It may be a megabyte, and six times as much in JSON, so the length is counted first to allocate
/// once.
fn json(text: &str) -> Result<String, Error> {
    let unwritten = |error: serde_json::Error| Error::new(ErrorKind::Unknown, error.to_string());
    let mut count = Count(0);
    serde_json::to_writer(&mut count, text).map_err(unwritten)?;
    let mut json = Vec::with_capacity(count.0);
    serde_json::to_writer(&mut json, text).map_err(unwritten)?;
    String::from_utf8(json).map_err(|error| Error::new(ErrorKind::Unknown, error.to_string()))
}

/// Counts written bytes.
struct Count(usize);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Error {
    pub fn new(kind: ErrorKind, message: String) -> Error {
        Error { kind, message, details: None }
    }
}

export!(Shell);
