// Package plugin selects the last exchanges of a conversation. It reads the tape from its end, so its cost does not depend
// on the length.
package plugin

import (
	"encoding/json"
	"slices"
)

// Settings is the table `[plugins.{{name}}.config]`.
type Settings struct {
	Turns int `json:"turns"`
}

// Defaults of the configuration.
func Defaults() Settings { return Settings{Turns: 20} }

// Entry is what is needed of an entry of the tape.
type Entry struct {
	ID      uint64
	Kind    string
	Payload string
}

// Selected are the ids of the entries, oldest first, and how many exchanges they make.
type Selected struct {
	IDs   []uint64
	Turns int
}

// Select takes the last exchanges. `start` is where the current turn begins, and `tail` reads the entries before an id, oldest
// first; before the end if it is 0.
func Select(settings Settings, start uint64, tail func(before uint64) ([]Entry, error)) (Selected, error) {
	var selected Selected
	before := uint64(0)
	for selected.Turns < settings.Turns {
		page, err := tail(before)
		if err != nil {
			return selected, err
		}
		if len(page) == 0 {
			break
		}
		// An exchange begins with the event `loop.start`, so that none is cut in half. The current turn is selected whole: its
		// calls and their results are what the model goes on with.
		for _, entry := range slices.Backward(page) {
			selected.IDs = append(selected.IDs, entry.ID)
			if entry.ID <= start && begins(entry) {
				selected.Turns++
			}
			if selected.Turns == settings.Turns {
				break
			}
		}
		before = page[0].ID
	}
	slices.Reverse(selected.IDs)
	return selected, nil
}

func begins(entry Entry) bool {
	var payload struct{ Name string }
	return entry.Kind == "event" && json.Unmarshal([]byte(entry.Payload), &payload) == nil && payload.Name == "loop.start"
}
