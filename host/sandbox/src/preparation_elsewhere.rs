//! Systems other than Linux confine nothing, so there is nothing to prepare.

use std::io;
use std::net::TcpListener;

/// What is done around the start of a confined program: nothing.
#[derive(Debug, Default)]
pub struct Preparation(());

/// Listeners in the network of a program: none.
#[derive(Debug, Default)]
pub struct Listeners {
    /// None.
    pub proxy: Option<TcpListener>,
    /// None.
    pub forwarded: Vec<(TcpListener, String)>,
}

impl Preparation {
    /// Does nothing.
    ///
    /// # Errors
    ///
    /// None.
    pub fn begin(&self) -> io::Result<()> {
        Ok(())
    }

    /// Does nothing.
    ///
    /// # Errors
    ///
    /// None.
    pub fn complete(self) -> io::Result<Listeners> {
        Ok(Listeners::default())
    }
}
