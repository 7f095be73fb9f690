// Package plugin keeps tapes: each tape with its sidecars is one file of JSON.
package plugin

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// Store keeps its files in a directory.
type Store struct{ Dir string }

// Batch is a part of a write: entries of one tape, which apply with those of the others or not at all.
type Batch struct {
	Tape string
	// Last is the id that the tape's last entry must have; nil: any.
	Last    *uint64
	Reset   *Reset
	Entries []Entry
}

// Reset empties a tape first, and keeps what it had under the name of an archive.
type Reset struct {
	Archive *string
	Kept    []Entry
}

// Outcome of a write. Conflict has the last ids of the tapes.
type Outcome struct {
	Already  bool
	Conflict []uint64
}

// Commit applies a write once, if each tape ends where the writer thinks. All batches belong to one tape and its sidecars.
func (s Store) Commit(batches []Batch, key *string) (Outcome, error) {
	if len(batches) == 0 {
		return Outcome{}, nil
	}
	name := familyOf(batches[0].Tape)
	family, err := s.read(name)
	if err != nil {
		return Outcome{}, err
	}
	if key != nil && family.Key != nil && *key == *family.Key {
		return Outcome{Already: true}, nil
	}
	lasts, isFree := make([]uint64, len(batches)), true
	for index, batch := range batches {
		lasts[index] = family.last(batch.Tape)
		isFree = isFree && (batch.Last == nil || *batch.Last == lasts[index])
	}
	if !isFree {
		return Outcome{Conflict: lasts}, nil
	}
	for _, batch := range batches {
		if batch.Reset != nil {
			family.reset(name, batch.Tape, *batch.Reset)
		}
	}
	for _, batch := range batches {
		family.Tapes[batch.Tape] = append(family.Tapes[batch.Tape], batch.Entries...)
	}
	if key != nil {
		family.Key = key
	}
	return Outcome{}, s.write(name, family)
}

// Read reads the entries after an id, and says whether there are more.
func (s Store) Read(tape string, after uint64, most int) ([]Entry, bool, error) {
	entries, err := s.entries(tape)
	found := slices.DeleteFunc(entries, func(entry Entry) bool { return entry.ID <= after })
	return found[:min(most, len(found))], len(found) > most, err
}

// Tail reads the last entries before an id; before the end if it is nil.
func (s Store) Tail(tape string, before *uint64, most int) ([]Entry, bool, error) {
	entries, err := s.entries(tape)
	found := slices.DeleteFunc(entries, func(entry Entry) bool { return before != nil && entry.ID >= *before })
	rest := len(found) - min(most, len(found))
	return found[rest:], rest > 0, err
}

// Newest finds the last entry before an id that fits.
func (s Store) Newest(tape string, before *uint64, fits func(Entry) bool) (*Entry, error) {
	entries, err := s.entries(tape)
	for _, entry := range slices.Backward(entries) {
		if (before == nil || entry.ID < *before) && fits(entry) {
			return &entry, err
		}
	}
	return nil, err
}

// Tapes lists the names of the tapes after one of them, in byte order.
func (s Store) Tapes(after string, most int) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(s.Dir, "*.json"))
	var names []string
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".json"); strings.Count(name, "__") == 1 {
			names = append(names, name)
		}
	}
	return page(names, after, most), err
}

// Sidecars lists the sidecars of a tape after one of them, in byte order.
func (s Store) Sidecars(tape, after string, most int) ([]string, error) {
	family, err := s.read(familyOf(tape))
	var names []string
	for name := range family.Tapes {
		if name != tape && !strings.Contains(name, archive) {
			names = append(names, name)
		}
	}
	return page(names, after, most), err
}

// ArchiveName is the name that an archive of the tape would get; empty if there is no such tape.
func (s Store) ArchiveName(tape string) (string, error) {
	family, err := s.read(familyOf(tape))
	if _, found := family.Tapes[tape]; !found {
		return "", err
	}
	return family.free(tape + archive + "1"), err
}

func (s Store) entries(tape string) ([]Entry, error) {
	family, err := s.read(familyOf(tape))
	return family.Tapes[tape], err
}

// Phase says whether an entry is an anchor of the conversation, and not of a plugin's own section.
func Phase(entry Entry) bool {
	var meta struct{ Zone bool }
	_ = json.Unmarshal([]byte(entry.Meta), &meta)
	name := NameOf(entry)
	return entry.Kind == "anchor" && !meta.Zone && name != "memory/open" && name != "memory/seal"
}

// NameOf is the name in the payload of an entry.
func NameOf(entry Entry) string {
	var payload struct{ Name string }
	_ = json.Unmarshal([]byte(entry.Payload), &payload)
	return payload.Name
}

func page(names []string, after string, most int) []string {
	names = slices.DeleteFunc(names, func(name string) bool { return name <= after })
	slices.Sort(names)
	return names[:min(most, len(names))]
}
