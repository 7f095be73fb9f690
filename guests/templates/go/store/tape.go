package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bubplugin/sdk/fail"
)

// archive separates a tape from the suffix of its archives.
const archive = ".jsonl."

// Entry of a tape.
type Entry struct {
	ID      uint64
	Kind    string
	Payload string
	Meta    string
	Date    string
}

// family is a tape with its sidecars and archives, the content of a file. Key is that of the last write that had one: the same
// write is applied once.
type family struct {
	Key   *string
	Tapes map[string][]Entry
}

// familyOf is the tape that a sidecar or an archive belongs to; any other tape itself.
func familyOf(tape string) string {
	name, _, _ := strings.Cut(tape, "__sidecar__")
	name, _, _ = strings.Cut(name, archive)
	return name
}

func (s Store) read(name string) (family, error) {
	read := family{Tapes: map[string][]Entry{}}
	text, err := os.ReadFile(filepath.Join(s.Dir, name+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return read, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	return read, fail.Context(fmt.Sprintf("the file of tape `%s`", name), err)
}

// write writes a file. Readers see all of it or nothing: it is complete before it gets its name.
func (s Store) write(name string, written family) error {
	text, err := json.Marshal(written)
	if err == nil {
		err = os.MkdirAll(s.Dir, 0o777)
	}
	if err != nil {
		return err
	}
	draft := filepath.Join(s.Dir, name+".draft")
	file, err := os.Create(draft)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(draft, filepath.Join(s.Dir, name+".json"))
	}
	return fail.Context(fmt.Sprintf("the file of tape `%s`", name), err)
}

// last is the id of a tape's last entry; 0 if it is empty.
func (f family) last(tape string) uint64 {
	if entries := f.Tapes[tape]; len(entries) > 0 {
		return entries[len(entries)-1].ID
	}
	return 0
}

// reset empties a tape, and with a tape that is no sidecar its sidecars.
func (f family) reset(name, tape string, reset Reset) {
	entries := f.Tapes[tape]
	delete(f.Tapes, tape)
	if tape == name {
		for other := range f.Tapes {
			if !strings.Contains(other, archive) {
				delete(f.Tapes, other)
			}
		}
	}
	if reset.Archive != nil {
		f.Tapes[f.free(*reset.Archive)] = append(entries, reset.Kept...)
	}
}

// free is the name itself, or with a number if it is taken.
func (f family) free(wanted string) string {
	name := wanted
	for number := 2; ; number++ {
		if _, taken := f.Tapes[name]; !taken {
			return name
		}
		name = fmt.Sprintf("%s.%d", wanted, number)
	}
}
