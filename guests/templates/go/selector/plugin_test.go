package plugin

import (
	"slices"
	"testing"
)

func TestTheLastExchangesAreSelectedWhole(t *testing.T) {
	var tape []Entry
	for turn := range uint64(9) {
		tape = append(tape, Entry{3*turn + 1, "event", `{"name":"loop.start"}`}, Entry{3*turn + 2, "message", "{}"}, Entry{3*turn + 3, "message", "{}"})
	}
	tail := func(before uint64) ([]Entry, error) {
		end := len(tape)
		if before != 0 {
			end = int(before) - 1
		}
		return tape[max(0, end-4):end], nil
	}
	selected, err := Select(Settings{Turns: 2}, 25, tail)
	if err != nil || selected.Turns != 2 || !slices.Equal(selected.IDs, []uint64{22, 23, 24, 25, 26, 27}) {
		t.Error(selected, err)
	}
	if selected, err = Select(Settings{Turns: 99}, 25, tail); err != nil || len(selected.IDs) != 27 {
		t.Error(selected, err)
	}
}
