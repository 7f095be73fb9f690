// Package plugin is a model provider: it answers requests for models `{{name}}:...`.
package plugin

import (
	"encoding/json"
	"strings"

	"bubplugin/sdk/fail"
)

// Settings is the table `[plugins.{{name}}.config]`.
type Settings struct {
	Answers map[string]string `json:"answers"`
}

// Name is the part of a model's id before the colon, and Model the one model.
const (
	Name  = "{{name}}"
	Model = "canned"
)

// Answer answers the last question of messages in OpenAI's chat format, in pieces.
func Answer(settings Settings, model string, messages []string) ([]string, error) {
	if model != "" && model != Model && model != "check" {
		return nil, fail.New(fail.Config, "provider `%s` has the one model `%s`, not `%s`", Name, Model, model)
	}
	question, err := lastQuestion(messages)
	if err != nil {
		return nil, err
	}
	answer, known := settings.Answers[strings.TrimSpace(question)]
	if !known {
		answer = "You said: " + question
	}
	return strings.SplitAfter(answer, " "), nil
}

// lastQuestion is the last line of what the user said last.
func lastQuestion(messages []string) (string, error) {
	for index := len(messages) - 1; index >= 0; index-- {
		var message struct {
			Role    string
			Content any
		}
		if json.Unmarshal([]byte(messages[index]), &message) != nil || message.Role != "user" {
			continue
		}
		lines := strings.Split(strings.TrimRight(text(message.Content), "\n"), "\n")
		return lines[len(lines)-1], nil
	}
	return "", fail.New(fail.InvalidInput, "the request has no message of a user")
}

// text of a message: one with images is a list of parts.
func text(content any) string {
	switch content := content.(type) {
	case string:
		return content
	case []any:
		var all strings.Builder
		for _, part := range content {
			if part, ok := part.(map[string]any); ok {
				all.WriteString(text(part["text"]))
			}
		}
		return all.String()
	default:
		return ""
	}
}
