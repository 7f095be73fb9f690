//! Embeddings: `POST /v1/embeddings`.

use std::time::Duration;

use serde_json::{Value, json};

use super::body_reader::{self, ReadError};
use super::client::Client;
use super::endpoint::Endpoint;
use super::error::{Error, ErrorKind};
use super::protocol::Protocol;
use super::refusal::Refusal;
use bub_types::text::cause;
use bub_types::text::one_line;

/// Maximum dimensions of a vector.
pub(crate) const MAX_DIMENSIONS: usize = 4_096;

/// The embeddings of texts.
#[derive(Debug)]
pub struct Embedded {
    /// One per text, in order, all of the same length.
    pub vectors: Vec<Vec<f32>>,
    /// The reported usage, as JSON.
    pub usage: Option<String>,
}

impl Client {
    /// Sends one request without retries: embeddings are optional.
    ///
    /// # Errors
    ///
    /// There is no address or key, the request times out, or the answer is not a list of vectors.
    pub async fn embed(&self, label: &str, texts: &[String], timeout: Duration) -> Result<Embedded, Error> {
        let wrong = |kind, text: String| Error::new(kind, format!("embedding model `{label}`: {text}"));
        let endpoint = Endpoint::resolve(self.settings(), label)?;
        if endpoint.protocol != Protocol::Chat {
            return Err(wrong(ErrorKind::Config, "this provider has no embeddings".to_owned()));
        }
        let host = &endpoint.host;
        let body = json!({ "model": endpoint.model, "input": texts, "encoding_format": "float" });
        let request = self.post(&endpoint, endpoint.protocol.embeddings(&endpoint.url)).await?;
        let response = request.timeout(timeout).body(body.to_string()).send().await.map_err(|error| {
            wrong(ErrorKind::Temporary, format!("no answer from `{host}`: {}", one_line(&cause(&error))))
        })?;
        let status = response.status();
        if !status.is_success() {
            let refusal = Refusal::from_response(status.as_u16(), &body_reader::beginning(response).await);
            let words = self.redacted(refusal.words());
            return Err(wrong(refusal.kind(), format!("`{host}` answered {}: {words}", status.as_u16())));
        }
        let bytes = body_reader::whole(response).await.map_err(|broken| match broken {
            ReadError::Connection(error) => {
                wrong(ErrorKind::Temporary, format!("`{host}` broke off: {}", one_line(&cause(&error))))
            }
            ReadError::TooLarge(what) => wrong(ErrorKind::Provider, format!("`{host}` sent {what}")),
            ReadError::Malformed => wrong(ErrorKind::Provider, format!("the answer of `{host}` is no text")),
        })?;
        read(&bytes, texts.len()).map_err(|why| wrong(ErrorKind::Provider, format!("the answer of `{host}` {why}")))
    }
}

fn read(bytes: &[u8], wanted: usize) -> Result<Embedded, &'static str> {
    let document: Value = serde_json::from_slice(bytes).map_err(|_| "is no valid JSON")?;
    let data = document["data"].as_array().ok_or("holds no vectors")?;
    let mut vectors = vec![Vec::new(); wanted];
    for (at, item) in data.iter().enumerate() {
        let place = item["index"].as_u64().and_then(|index| usize::try_from(index).ok()).unwrap_or(at);
        let numbers = item["embedding"].as_array().ok_or("holds no vectors")?;
        if numbers.len() > MAX_DIMENSIONS {
            return Err("holds vectors that are too long");
        }
        // Single precision suffices for cosines.
        let vector = numbers.iter().map(|number| number.as_f64().map(|number| number as f32));
        let vector: Option<Vec<f32>> = vector.collect();
        *vectors.get_mut(place).ok_or("holds more vectors than texts were sent")? =
            vector.ok_or("holds an invalid vector")?;
    }
    check(&vectors)?;
    Ok(Embedded { vectors, usage: document.get("usage").map(Value::to_string) })
}

/// Checks that vectors have one length, and finite numbers that are not all 0.
///
/// # Errors
///
/// The vectors are invalid. The error describes the problem.
pub fn check(vectors: &[Vec<f32>]) -> Result<(), &'static str> {
    let length = vectors.first().map_or(1, Vec::len);
    if length == 0 || length > MAX_DIMENSIONS {
        return Err("holds no vector for each text, or too long ones");
    }
    for vector in vectors {
        if vector.len() != length {
            return Err("holds vectors of different lengths");
        }
        if !vector.iter().all(|number| number.is_finite()) || vector.iter().all(|number| *number == 0.0) {
            return Err("holds a vector of zeros");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_in_the_order_of_their_index_and_nonsense_is_refused() {
        let good = br#"{"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}], "usage": {"prompt_tokens": 3}}"#;
        let read_good = read(good, 2).unwrap();
        assert_eq!(read_good.vectors, [[1.0, 0.0], [0.0, 1.0]]);
        assert!(read_good.usage.is_some());
        for bad in [
            "[]",
            "{}",
            r#"{"data": []}"#,
            r#"{"data": [{"embedding": [0, 0]}]}"#,
            r#"{"data": [{"embedding": ["x"]}]}"#,
            r#"{"data": [{"embedding": [1]}, {"embedding": [1]}]}"#,
            r#"{"data": [{"index": 7, "embedding": [1]}]}"#,
        ] {
            assert!(read(bad.as_bytes(), 1).is_err(), "{bad}");
        }
    }
}
