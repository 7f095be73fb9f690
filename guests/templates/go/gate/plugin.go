// Package plugin decides about tool calls before they are made.
package plugin

import (
	"encoding/json"
	"strings"
)

// Settings is the table `[plugins.{{name}}.config]`.
type Settings struct {
	Blocked []string `json:"blocked"`
}

// Defaults of the configuration.
func Defaults() Settings { return Settings{Blocked: []string{"rm -rf", "sudo "}} }

// Found is the first blocked text in the arguments of a call; empty if there is none.
func Found(settings Settings, arguments string) string {
	var given any
	if json.Unmarshal([]byte(arguments), &given) != nil {
		// Models may write invalid JSON: then the text itself is searched.
		given = arguments
	}
	for _, blocked := range settings.Blocked {
		if contains(given, strings.ToLower(blocked)) {
			return blocked
		}
	}
	return ""
}

// contains says whether a text stands in one of the strings, in upper or lower case.
func contains(value any, text string) bool {
	switch value := value.(type) {
	case string:
		return strings.Contains(strings.ToLower(value), text)
	case []any:
		for _, one := range value {
			if contains(one, text) {
				return true
			}
		}
	case map[string]any:
		for _, one := range value {
			if contains(one, text) {
				return true
			}
		}
	}
	return false
}
