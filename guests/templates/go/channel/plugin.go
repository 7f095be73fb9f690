// Package plugin is a channel: a webhook for messages, and requests for answers.
package plugin

import (
	"fmt"

	"bubplugin/sdk/fail"
	"bubplugin/sdk/read"
)

// Settings is the table `[plugins.{{name}}.config]`.
type Settings struct {
	URL string `json:"url"`
}

// Name is that of the channel. Its address is `/channels/NAME/` of `bub-wasm serve`.
const Name = "{{name}}"

// Posted is the body of a request. `id` is the sender's id of the message: the same message is taken once.
type Posted struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Chat   string `json:"chat"`
	Sender string `json:"sender"`
}

// Receive reads a request. Without a message the status and the text say why.
func Receive(method string, body []byte) (posted *Posted, status uint16, text string) {
	if method != "POST" {
		return nil, 405, "messages are posted"
	}
	posted = &Posted{}
	if read.JSON(body, posted) != nil || posted.ID == "" || posted.Text == "" {
		return nil, 400, "the body is a JSON object with `id` and `text`, and optionally `chat` and `sender`"
	}
	return posted, 202, ""
}

// Client sends requests.
type Client interface {
	Send(method, address string, headers map[string]string, body []byte) (int, []byte, error)
}

// Send posts an answer. `key` is the same for each attempt, so that a server can ignore a repetition. The host tries again
// after a temporary error, which is what a busy server makes.
func Send(client Client, settings Settings, key, answer string) error {
	headers := map[string]string{"content-type": "application/json", "idempotency-key": key}
	status, _, err := client.Send("POST", settings.URL, headers, []byte(answer))
	if err != nil {
		return err
	}
	return fail.Context(fmt.Sprintf("the answer to `%s`", settings.URL), fail.Status(status))
}
