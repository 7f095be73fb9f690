//! Built for version 0.9.0 of a contract of which the host offers 0.1.0.

wit_bindgen::generate!({ path: "wit_next", world: "bub:hooks/next" });

struct Next;

impl exports::bub::hooks::build_prompt::Guest for Next {
    fn build_prompt(content: String) -> Option<String> {
        Some(content)
    }
}

export!(Next);
