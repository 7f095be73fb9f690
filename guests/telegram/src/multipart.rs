//! Multipart forms with a file.

/// The boundary. No file contains it by chance, and a malicious one only breaks its own form.
const BOUNDARY: &str = "----bub-wasm-4f7c2b9e1d6a8350";

pub struct Form {
    body: Vec<u8>,
}

impl Form {
    pub fn new() -> Self {
        Self { body: Vec::new() }
    }

    pub fn field(mut self, name: &str, value: &str) -> Self {
        self.begin(&format!("name=\"{name}\""), "");
        self.end(value.as_bytes());
        self
    }

    pub fn file(mut self, name: &str, filename: &str, mime_type: &str, bytes: &[u8]) -> Self {
        // Characters that would end the name or the line.
        let filename: String =
            filename.chars().map(|c| if c.is_control() || c == '"' || c == '\\' { '_' } else { c }).collect();
        let mime_type: String = mime_type.chars().filter(|c| c.is_ascii_graphic()).collect();
        let head = format!("name=\"{name}\"; filename=\"{filename}\"");
        self.begin(&head, &format!("Content-Type: {mime_type}\r\n"));
        self.end(bytes);
        self
    }

    /// Returns content type and body.
    pub fn finish(mut self) -> (String, Vec<u8>) {
        self.body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
        (format!("multipart/form-data; boundary={BOUNDARY}"), self.body)
    }

    fn begin(&mut self, head: &str, more: &str) {
        let head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {head}\r\n{more}\r\n");
        self.body.extend_from_slice(head.as_bytes());
    }

    fn end(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
        self.body.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_name_ends_nothing() {
        let (content_type, body) =
            Form::new().field("chat_id", "1").file("photo", "a\"\r\nb.png", "image/png", b"x").finish();
        let body = String::from_utf8(body).expect("all of it is text");
        assert!(content_type.ends_with(BOUNDARY));
        assert_eq!(body.matches(BOUNDARY).count(), 3);
        assert!(
            body.contains("name=\"photo\"; filename=\"a___b.png\"\r\nContent-Type: image/png\r\n\r\nx\r\n"),
            "{body}"
        );
    }
}
