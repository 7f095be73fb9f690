// Package plugin is the tool `{{name_snake}}_count`: it counts what a text is made of.
package plugin

import (
	"math"
	"strings"
	"unicode/utf8"

	"bubplugin/sdk/read"
)

// Settings is the table `[plugins.{{name}}.config]`.
type Settings struct {
	WordsPerMinute int `json:"words_per_minute"`
}

// Defaults of the configuration.
func Defaults() Settings { return Settings{WordsPerMinute: 200} }

// Name is the tool's name, and About what a model reads of it.
const (
	Name  = "{{name_snake}}_count"
	About = "Count the words, characters or lines of a text. Use this instead of counting yourself."
)

// Schema describes the arguments.
const Schema = `{
  "type": "object",
  "properties": {
    "text": { "type": "string", "description": "The text, as it is." },
    "unit": { "type": "string", "enum": ["words", "characters", "lines"], "description": "What is counted.", "default": "words" }
  },
  "required": ["text"],
  "additionalProperties": false
}`

// Counted is the result.
type Counted struct {
	Count   int      `json:"count"`
	Unit    string   `json:"unit"`
	Minutes *float64 `json:"minutes,omitempty"`
}

// Count counts as the arguments say.
func Count(settings Settings, arguments string) (Counted, error) {
	asked := struct {
		Text string `json:"text"`
		Unit string `json:"unit"`
	}{Unit: "words"}
	if err := read.JSON([]byte(arguments), &asked); err != nil {
		return Counted{}, err
	}
	counted := Counted{Unit: asked.Unit}
	switch asked.Unit {
	case "characters":
		counted.Count = utf8.RuneCountInString(asked.Text)
	case "lines":
		for range strings.Lines(asked.Text) {
			counted.Count++
		}
	default:
		counted.Count = len(strings.Fields(asked.Text))
		minutes := math.Round(float64(counted.Count)/float64(settings.WordsPerMinute)*100) / 100
		counted.Minutes = &minutes
	}
	return counted, nil
}
