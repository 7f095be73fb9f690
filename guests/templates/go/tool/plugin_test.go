package plugin

import "testing"

func TestWordsAreCountedWithTheTimeToReadThem(t *testing.T) {
	counted, err := Count(Settings{WordsPerMinute: 60}, `{"text":"to be\nor not  to be"}`)
	if err != nil || counted.Count != 6 || *counted.Minutes != 0.1 {
		t.Error(counted, err)
	}
}

func TestLinesAndCharactersAreCounted(t *testing.T) {
	for unit, count := range map[string]int{"lines": 2, "characters": 5} {
		counted, err := Count(Defaults(), `{"text":"dö\nde","unit":"`+unit+`"}`)
		if err != nil || counted.Count != count || counted.Minutes != nil {
			t.Error(unit, counted, err)
		}
	}
}
