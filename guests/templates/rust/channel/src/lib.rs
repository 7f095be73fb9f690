//! A channel: a webhook for messages, and requests for answers.

use bub_guest::hook::{Arrival, Channel, Description, WebhookRequest, WebhookResponse};
use bub_guest::turn::MessageKind;
use bub_guest::{Envelope, Error, Result, Schema, config, log};
use serde::Deserialize;
use serde_json::json;

bub_guest::plugin! {
    about: "Messages in by HTTP, answers out by HTTP.",
    config: Settings,
    grants: {
        /// to post answers; grant the host of `url` alone
        SERVER: Http("*"),
        /// the same, where that server is on this machine
        _LOCAL: Http("http://*"),
    },
    hooks: {
        /// to bring messages in and take answers out
        channel: Messages,
    },
}

/// The table `[plugins.{{name}}.config]`.
#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Where answers are posted; without it they are logged.
    url: Option<String>,
}

/// The body of a request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Posted {
    /// The sender's id of the message: the same message is taken once.
    id: String,
    text: String,
    /// The conversation that it belongs to.
    #[serde(default)]
    chat: String,
    sender: Option<String>,
}

struct Messages;

impl Channel for Messages {
    // Its address is `/channels/NAME` of `bub-wasm serve`.
    const DESCRIPTION: Description = Description {
        webhook: true,
        ..Description::new("{{name}}")
    };

    /// The host stores the arrivals before it sends the response, so that no message is lost.
    fn receive(request: WebhookRequest) -> Result<WebhookResponse> {
        if request.method != "POST" {
            return Ok(respond(405, "messages are posted"));
        }
        let Ok(posted) = serde_json::from_slice::<Posted>(&request.body) else {
            return Ok(respond(
                400,
                "the body is a JSON object with `id` and `text`, and optionally `chat` and `sender`",
            ));
        };
        let message = Envelope {
            id: Some(posted.id),
            session_id: None,
            channel: "{{name}}".to_owned(),
            chat_id: posted.chat,
            sender: posted.sender,
            // Only the sender's own text: quotations and attachments have fields of their own.
            content: posted.text,
            passages: Vec::new(),
            kind: MessageKind::Normal,
            context: Vec::new(),
            media: Vec::new(),
            output_channel: None,
        };
        Ok(WebhookResponse {
            arrivals: vec![Arrival {
                message,
                active: true,
            }],
            ..respond(202, "")
        })
    }

    /// `key` is the same for each attempt, so that a server can ignore a repetition.
    fn send(message: Envelope, key: String) -> Result<Option<String>> {
        let Some(url) = config::load::<Settings>()?.url else {
            log::info(format!(
                "to chat `{}`: {}",
                message.chat_id, message.content
            ));
            return Ok(None);
        };
        let answer = json!({ "chat": message.chat_id, "text": message.content });
        let sent = SERVER
            .post(&url)
            .header("idempotency-key", key)
            .json(&answer)?
            .send();
        // The host tries again after a `temporary` error, which `success` makes of a busy server.
        sent.map_err(Error::from)?.success()?;
        Ok(None)
    }
}

fn respond(status: u16, text: &str) -> WebhookResponse {
    let headers = vec![("content-type".to_owned(), "text/plain".to_owned())];
    WebhookResponse {
        status,
        headers,
        body: text.as_bytes().to_vec(),
        arrivals: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bub_guest::ErrorKind;
    use bub_guest::test::{Host, response};

    fn post(body: &str) -> WebhookResponse {
        let body = body.as_bytes().to_vec();
        let request = WebhookRequest {
            method: "POST".to_owned(),
            path: String::new(),
            headers: Vec::new(),
            body,
        };
        Messages::receive(request).unwrap()
    }

    #[test]
    fn a_posted_message_arrives() {
        let _host = Host::new();
        let taken = post(r#"{"id":"1","text":"hi","chat":"a"}"#);
        let message = &taken.arrivals[0].message;
        assert_eq!(
            (
                taken.status,
                message.content.as_str(),
                message.chat_id.as_str()
            ),
            (202, "hi", "a")
        );
        assert_eq!(post("hi").status, 400);
    }

    #[test]
    fn an_answer_is_posted_and_a_busy_server_is_asked_again() {
        let host = Host::new().config(json!({ "url": "https://example.com/answers" }));
        let host = host.http(|_| response(503, ""));
        let error = Messages::send(host.turn().message(), "k".to_owned()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Temporary);
        assert_eq!(
            host.requests()[0].header_value("idempotency-key"),
            Some("k")
        );
    }

    #[test]
    fn without_an_address_answers_are_logged() {
        let host = Host::new().config(json!({}));
        Messages::send(host.turn().message(), "k".to_owned()).unwrap();
        assert!(host.logged()[0].1.ends_with(": hello"));
    }
}
