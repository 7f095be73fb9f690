package plugin

import (
	"slices"
	"testing"
)

func entry(id uint64, kind, payload string) Entry {
	return Entry{id, kind, payload, "{}", "2026-01-02T03:04:05Z"}
}

func TestAWriteIsReadAgainAndAppliedOnce(t *testing.T) {
	store, none, k, l := Store{t.TempDir()}, uint64(0), "k", "l"
	batch := []Batch{{Tape: "a__b", Last: &none, Entries: []Entry{entry(1, "anchor", `{"name":"ü"}`), entry(2, "event", "{}")}}}
	if outcome, err := store.Commit(batch, &k); err != nil || outcome.Already || outcome.Conflict != nil {
		t.Fatal(outcome, err)
	}
	if outcome, err := store.Commit(batch, &k); err != nil || !outcome.Already {
		t.Error(outcome, err)
	}
	if outcome, err := store.Commit(batch, &l); err != nil || !slices.Equal(outcome.Conflict, []uint64{2}) {
		t.Error(outcome, err)
	}
	if found, more, err := store.Read("a__b", 1, 9); err != nil || more || len(found) != 1 || found[0].ID != 2 {
		t.Error(found, more, err)
	}
	if found, more, err := store.Tail("a__b", nil, 1); err != nil || !more || found[0].ID != 2 {
		t.Error(found, more, err)
	}
	if newest, err := store.Newest("a__b", nil, Phase); err != nil || newest == nil || NameOf(*newest) != "ü" {
		t.Error(newest, err)
	}
	if names, err := store.Tapes("", 9); err != nil || !slices.Equal(names, []string{"a__b"}) {
		t.Error(names, err)
	}
}

func TestAResetEmptiesTheSidecarsAndKeepsAnArchive(t *testing.T) {
	store, sidecar, one := Store{t.TempDir()}, "a__b__sidecar__notes", uint64(1)
	entries := []Entry{entry(1, "event", "{}")}
	if _, err := store.Commit([]Batch{{Tape: "a__b", Entries: entries}, {Tape: sidecar, Entries: entries}}, nil); err != nil {
		t.Fatal(err)
	}
	if names, err := store.Sidecars("a__b", "", 9); err != nil || !slices.Equal(names, []string{sidecar}) {
		t.Error(names, err)
	}
	archive, err := store.ArchiveName("a__b")
	if err != nil || archive == "" {
		t.Fatal(archive, err)
	}
	reset := &Reset{&archive, []Entry{entry(2, "event", "{}")}}
	if _, err := store.Commit([]Batch{{Tape: "a__b", Last: &one, Reset: reset}}, nil); err != nil {
		t.Fatal(err)
	}
	if names, err := store.Sidecars("a__b", "", 9); err != nil || len(names) != 0 {
		t.Error(names, err)
	}
	if found, _, err := store.Read(archive, 0, 9); err != nil || len(found) != 2 {
		t.Error(found, err)
	}
}
