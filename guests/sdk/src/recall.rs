//! Retrieval beyond a selector's window.

use crate::grant::Recall;
use crate::{Result, View, backend};

pub use crate::wit::bub::context::recall::{Answer, Hit, Options, Source};

impl Recall {
    /// Searches memory, notes and earlier conversations for what answers a question.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant.
    pub fn search(&self, view: &View, question: &str, options: &Options) -> Result<Answer> {
        backend::recall::search(&view.0, question, options)
    }
}
