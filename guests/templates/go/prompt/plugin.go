// Package plugin adds the rules of its configuration to the system prompt.
package plugin

import "strings"

// Settings is the table `[plugins.{{name}}.config]`.
type Settings struct {
	Rules []string `json:"rules"`
}

// Defaults of the configuration.
func Defaults() Settings { return Settings{Rules: []string{"Answer in plain English."}} }

// Part is what the system prompt gets; empty without rules.
func Part(settings Settings) string {
	if len(settings.Rules) == 0 {
		return ""
	}
	return "Follow these rules:\n- " + strings.Join(settings.Rules, "\n- ")
}
