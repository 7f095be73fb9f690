package plugin

import "testing"

func TestTheRulesAreAPartOfTheSystemPrompt(t *testing.T) {
	if part := Part(Settings{Rules: []string{"one", "two"}}); part != "Follow these rules:\n- one\n- two" {
		t.Error(part)
	}
}

func TestWithoutRulesThereIsNoPart(t *testing.T) {
	if part := Part(Settings{}); part != "" {
		t.Error(part)
	}
}
