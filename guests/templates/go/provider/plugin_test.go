package plugin

import (
	"strings"
	"testing"
)

func answer(t *testing.T, settings Settings, question string) string {
	pieces, err := Answer(settings, Model, []string{`{"role":"user","content":"` + question + `"}`})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(pieces, "")
}

func TestAKnownQuestionHasItsAnswerAndAnotherOneIsRepeated(t *testing.T) {
	settings := Settings{Answers: map[string]string{"ping": "pong"}}
	if said := answer(t, settings, "ping"); said != "pong" {
		t.Error(said)
	}
	if said := answer(t, settings, "how are you"); said != "You said: how are you" {
		t.Error(said)
	}
}

func TestAnUnknownModelIsNamed(t *testing.T) {
	_, err := Answer(Settings{}, "large", nil)
	if err == nil || err.Error() != "provider `{{name}}` has the one model `canned`, not `large`" {
		t.Error(err)
	}
}
