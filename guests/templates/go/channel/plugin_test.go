package plugin

import (
	"testing"

	"bubplugin/sdk/fail"
)

type busy struct{ headers map[string]string }

func (b *busy) Send(_, _ string, headers map[string]string, _ []byte) (int, []byte, error) {
	b.headers = headers
	return 503, nil, nil
}

func TestAPostedMessageArrives(t *testing.T) {
	posted, status, _ := Receive("POST", []byte(`{"id":"1","text":"hi","chat":"a"}`))
	if status != 202 || *posted != (Posted{ID: "1", Text: "hi", Chat: "a"}) {
		t.Error(posted, status)
	}
	for _, body := range []string{"hi", "{}", `{"id":"1"}`} {
		if _, status, _ := Receive("POST", []byte(body)); status != 400 {
			t.Error(body, status)
		}
	}
}

func TestAnAnswerIsPostedAndABusyServerIsAskedAgain(t *testing.T) {
	server := &busy{}
	err := Send(server, Settings{URL: "https://example.com/answers"}, "k", "{}")
	if fail.KindOf(err) != fail.Temporary || server.headers["idempotency-key"] != "k" {
		t.Error(err, server.headers)
	}
}
