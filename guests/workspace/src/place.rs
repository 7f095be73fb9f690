//! Paths: for the directory, and for display.

use bub_guest::Error;

/// A requested path.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    /// The path for the directory. Not validated here: the host decides whether it escapes.
    pub inside: String,
    /// The whole path, for results and errors.
    pub shown: String,
}

impl Place {
    /// A relative path is relative to the workspace; an absolute one in the workspace is made relative, and any other
    /// is unchanged, for the directory to refuse.
    ///
    /// # Errors
    ///
    /// `invalid-input` if the path is empty.
    pub fn of(workspace: &str, path: &str) -> Result<Place, Error> {
        if path.is_empty() {
            return Err(Error::invalid("`path` is empty: name a file of the workspace"));
        }
        let workspace = workspace.trim_end_matches('/');
        let behind = path.strip_prefix(workspace).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        if let Some(behind) = behind.filter(|_| path.starts_with('/')) {
            let inside = behind.trim_start_matches('/');
            let inside = if inside.is_empty() { "." } else { inside };
            return Ok(Place { inside: inside.to_owned(), shown: path.to_owned() });
        }
        if path.starts_with('/') {
            return Ok(Place { inside: path.to_owned(), shown: path.to_owned() });
        }
        let named: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        Ok(Place { inside: path.to_owned(), shown: format!("{workspace}/{}", named.join("/")) })
    }

    /// The parent directories, outermost first.
    pub fn parents(&self) -> impl Iterator<Item = &str> {
        let inside = self.inside.trim_end_matches('/');
        inside.match_indices('/').map(|(at, _)| &inside[..at]).filter(|parent| !parent.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_shown_whole() {
        for (path, inside, shown) in [
            ("d/t.txt", "d/t.txt", "/ws/d/t.txt"),
            ("./d//t.txt", "./d//t.txt", "/ws/d/t.txt"),
            ("/ws/d/t.txt", "d/t.txt", "/ws/d/t.txt"),
            ("/ws", ".", "/ws"),
            ("/ws//etc/passwd", "etc/passwd", "/ws//etc/passwd"),
            ("/wsx/t", "/wsx/t", "/wsx/t"),
            ("/etc/passwd", "/etc/passwd", "/etc/passwd"),
            ("/ws/../etc", "../etc", "/ws/../etc"),
            ("../t", "../t", "/ws/../t"),
        ] {
            let place = Place::of("/ws", path).unwrap();
            assert_eq!((place.inside.as_str(), place.shown.as_str()), (inside, shown));
        }
        assert!(Place::of("/ws", "").is_err());
    }

    #[test]
    fn the_parents_of_a_path_come_outermost_first() {
        let place = Place::of("/ws", "a/b/c.txt").unwrap();
        assert_eq!(place.parents().collect::<Vec<_>>(), ["a", "a/b"]);
        assert_eq!(Place::of("/ws", "c.txt").unwrap().parents().count(), 0);
        assert_eq!(Place::of("/ws", "a/b/").unwrap().parents().collect::<Vec<_>>(), ["a"]);
    }
}
