//! Responses, whole or piece by piece.

use super::Error;
use crate::backend;
use crate::{Context, ErrorKind};
use serde::de::DeserializeOwned;

/// A response with its whole body.
#[derive(Debug, Clone)]
pub struct Response {
    /// 200, 404, ...
    pub status: u16,
    /// In the order in which they came.
    pub headers: Vec<(String, Vec<u8>)>,
    /// All of it.
    pub body: Vec<u8>,
}

/// A response whose body is read piece by piece.
#[derive(Debug)]
pub struct Stream {
    /// 200, 404, ...
    pub status: u16,
    /// In the order in which they came.
    pub headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: backend::http::Body,
    pub(crate) rest: Vec<u8>,
}

impl Response {
    /// The first header of that name, if it is a text.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The same response, if its status is one of success.
    ///
    /// # Errors
    ///
    /// `not-found` for 404 and 410, `temporary` for 408, 425, 429 and 5xx with `retry_after` if the server gave it, `denied`
    /// for 401 and 403, `tool` for any other status.
    pub fn success(self) -> crate::Result<Self> {
        let kind = match self.status {
            200..=299 => return Ok(self),
            401 | 403 => ErrorKind::Denied,
            404 | 410 => ErrorKind::NotFound,
            408 | 425 | 429 | 500..=599 => ErrorKind::Temporary,
            _ => ErrorKind::Tool,
        };
        let error = crate::Error::new(kind, format!("the server answered with status {}", self.status));
        let after = self.header("retry-after").and_then(|after| after.parse::<u64>().ok());
        Err(match after {
            Some(seconds) => crate::Error { details: Some(format!("{{\"retry_after\":{seconds}}}")), ..error },
            None => error,
        })
    }

    /// The body as text.
    ///
    /// # Errors
    ///
    /// `invalid-input`, if it is no UTF-8.
    pub fn text(&self) -> crate::Result<&str> {
        std::str::from_utf8(&self.body).context("the server's answer is no text")
    }

    /// The body read from JSON.
    ///
    /// # Errors
    ///
    /// `invalid-input`, if it is not JSON of that type.
    pub fn json<T: DeserializeOwned>(&self) -> crate::Result<T> {
        serde_json::from_slice(&self.body).context("the server's answer")
    }
}

impl Stream {
    /// The first header of that name, if it is a text.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The next bytes of the body; none at its end.
    ///
    /// # Errors
    ///
    /// [`Error`], if the connection broke or it took too long.
    pub fn read(&mut self) -> Result<Option<Vec<u8>>, Error> {
        match self.rest.is_empty() {
            true => self.body.read(),
            false => Ok(Some(std::mem::take(&mut self.rest))),
        }
    }

    /// The next line of the body without its end; none at the end of the body. Bytes that are no UTF-8 are replaced.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn line(&mut self) -> Result<Option<String>, Error> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let behind = self.rest.split_off(end + 1);
                let line = std::mem::replace(&mut self.rest, behind);
                let line = String::from_utf8_lossy(&line);
                return Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()));
            }
            match self.body.read()? {
                Some(bytes) => self.rest.extend_from_slice(&bytes),
                None if self.rest.is_empty() => return Ok(None),
                None => {
                    let line = std::mem::take(&mut self.rest);
                    return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
                }
            }
        }
    }

    /// Waits for the rest of the body.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn collect(mut self) -> Result<Response, Error> {
        let mut body = Vec::new();
        while let Some(bytes) = self.read()? {
            body.extend_from_slice(&bytes);
        }
        Ok(Response { status: self.status, headers: self.headers, body })
    }
}

fn header<'a>(headers: &'a [(String, Vec<u8>)], name: &str) -> Option<&'a str> {
    let (_, value) = headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(value).ok().map(str::trim)
}
