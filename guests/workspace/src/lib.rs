//! The tools `fs.read`, `fs.write` and `fs.edit`: files of the workspace, through the one directory that the host
//! opens.

mod directory;
mod edit;
mod failure;
mod lines;
mod place;

use bub_guest::{Error, Result, Schema, Turn, tool};
use directory::Directory;
use place::Place;
use serde::Deserialize;

bub_guest::plugin! {
    about: "Tools that read, write and edit the files of the workspace, and no others.",
    grants: {
        /// to read and write the files that the turn is about
        _FILES: Directory("<workspace>:rw"),
    },
    tools: [read, write, edit_file],
}

/// Maximum text of one read, in bytes.
const MAX_READ: usize = 2 << 20;
/// Maximum size of a file that is written or edited, in bytes.
const MAX_FILE: usize = 8 << 20;

#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
struct Reading {
    /// A file, relative to the workspace, or absolute if it is inside it.
    path: String,
    /// How many lines to pass over before the first one that is read.
    #[serde(default)]
    #[schema(default = 0)]
    offset: u64,
    /// How many lines to read; without it, all that follow.
    limit: Option<u64>,
}

#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
struct Writing {
    /// A file, relative to the workspace, or absolute if it is inside it.
    path: String,
    /// The whole new content of the file.
    content: String,
}

#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
struct Editing {
    /// A file, relative to the workspace, or absolute if it is inside it.
    path: String,
    /// The text to replace, exactly as it stands in the file, white space included. It may span lines.
    old: String,
    /// What to put in its place.
    new: String,
    /// The line to begin at, counted from 0; what stands before it is left alone.
    #[serde(default)]
    #[schema(default = 0)]
    start: u64,
}

/// Read a text file of the workspace. Give `offset` and `limit` to read a part of a long file.
#[tool(name = "fs.read", effect = read)]
fn read(turn: &Turn, asked: Reading) -> Result<String> {
    let place = Place::of(&turn.workspace(), &asked.path)?;
    let file = Directory::open()?.open_to_read(&place)?;
    let mut window = lines::Window::new(asked.offset, asked.limit, MAX_READ);
    file.pieces(|piece| window.take(piece)).map_err(|stop| stop.into_error(&place))?;
    window.text().map_err(|unfit| failure::unfit(&place, unfit))
}

/// Write a text file of the workspace. A file that is there is replaced as a whole; missing directories are made.
#[tool(name = "fs.write", effect = write)]
fn write(turn: &Turn, asked: Writing) -> Result<String> {
    let place = Place::of(&turn.workspace(), &asked.path)?;
    if asked.content.len() > MAX_FILE {
        return Err(failure::too_large(&place, asked.content.len() as u64, MAX_FILE));
    }
    Directory::open()?.open_to_write(&place)?.replace(asked.content.as_bytes(), &place)?;
    Ok(format!("wrote: {}", place.shown))
}

/// Replace a text in a file of the workspace by another one, at every place where it stands. Give enough of the text around to
/// mean one place only.
#[tool(name = "fs.edit", effect = write)]
fn edit_file(turn: &Turn, asked: Editing) -> Result<String> {
    let place = Place::of(&turn.workspace(), &asked.path)?;
    edit::check(&asked.old, &asked.new).map_err(Error::invalid)?;
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
