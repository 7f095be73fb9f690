//! The tools `fs.read`, `fs.write` and `fs.edit`: files of the workspace, through the one directory that the host
//! opens.

wit_bindgen::generate!({
    inline: "
        package bub:workspace@0.1.0;
        world workspace {
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
mod directory;
mod edit;
mod failure;
mod lines;
mod place;
mod specs;

use arguments::{Edit, Read, Write};
use bub::tools::schema::ToolSpec;
use bub::turn::turn::Turn;
use bub::types::types::{Error, ErrorKind};
use directory::Directory;
use place::Place;

/// Maximum text of one read, in bytes.
const MAX_READ: usize = 2 << 20;
/// Maximum size of a file that is written or edited, in bytes.
const MAX_FILE: usize = 8 << 20;

struct Workspace;

impl exports::bub::tools::tools::Guest for Workspace {
    fn list_tools() -> Vec<ToolSpec> {
        specs::all()
    }

    fn call_tool(turn: Turn, name: String, arguments: String) -> Result<String, Error> {
        let workspace = turn.workspace();
        let text = match name.as_str() {
            "fs.read" => read(&workspace, arguments::parse(&name, &arguments)?)?,
            "fs.write" => write(&workspace, &arguments::parse(&name, &arguments)?)?,
            "fs.edit" => edit(&workspace, &arguments::parse(&name, &arguments)?)?,
            other => return Err(Error::new(ErrorKind::NotFound, format!("there is no tool `{other}` here"))),
        };
        serde_json::to_string(&text).map_err(|error| Error::new(ErrorKind::Unknown, error.to_string()))
    }
}

/// Reads the requested lines.
fn read(workspace: &str, asked: Read) -> Result<String, Error> {
    let place = Place::of(workspace, &asked.path)?;
    let file = Directory::open()?.open_to_read(&place)?;
    let mut window = lines::Window::new(asked.offset, asked.limit, MAX_READ);
    file.pieces(|piece| window.take(piece)).map_err(|stop| stop.into_error(&place))?;
    window.text().map_err(|unfit| failure::unfit(&place, unfit))
}

/// Replaces the content of a file.
fn write(workspace: &str, asked: &Write) -> Result<String, Error> {
    let place = Place::of(workspace, &asked.path)?;
    if asked.content.len() > MAX_FILE {
        return Err(failure::too_large(&place, asked.content.len() as u64, MAX_FILE));
    }
    Directory::open()?.open_to_write(&place)?.replace(asked.content.as_bytes(), &place)?;
    Ok(format!("wrote: {}", place.shown))
}

/// Replaces a text everywhere from a line on.
fn edit(workspace: &str, asked: &Edit) -> Result<String, Error> {
    let place = Place::of(workspace, &asked.path)?;
    edit::check(&asked.old, &asked.new).map_err(|reason| Error::new(ErrorKind::InvalidInput, reason))?;
    let file = Directory::open()?.open_to_edit(&place)?;
    if file.size > MAX_FILE as u64 {
        return Err(failure::too_large(&place, file.size, MAX_FILE));
    }
    let mut bytes = Vec::new();
    file.pieces(|piece| {
        bytes.extend_from_slice(piece);
        // The file may grow while it is read.
        bytes.len() <= MAX_FILE
    })
    .map_err(|stop| stop.into_error(&place))?;
    if bytes.len() > MAX_FILE {
        return Err(failure::too_large(&place, bytes.len() as u64, MAX_FILE));
    }
    let text = lines::decode(bytes).map_err(|unfit| failure::unfit(&place, unfit))?;
    let done = edit::replace(&text, &asked.old, &asked.new, asked.start, MAX_FILE)
        .map_err(|miss| miss.into_error(&place, asked.start))?;
    file.replace(done.text.as_bytes(), &place)?;
    match done.places {
        1 => Ok(format!("edited: {}", place.shown)),
        places => Ok(format!("edited: {} ({places} places)", place.shown)),
    }
}

export!(Workspace);
