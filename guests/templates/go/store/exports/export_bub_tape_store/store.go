// Package export_bub_tape_store is what the plugin exports as `bub:tape/store`.
package export_bub_tape_store

import (
	plugin "bubplugin"
	host "bubplugin/imports/bub_plugin_config"
	entries "bubplugin/imports/bub_tape_entries"
	store "bubplugin/imports/bub_tape_store"
	types "bubplugin/imports/bub_types_types"
	"bubplugin/sdk/wire"

	witTypes "go.bytecodealliance.org/pkg/wit/types"
)

// The directory `{{name}}-tapes` of the workspace. Go finds the directory that a path is in by the beginning of the path, and
// cuts it off. The workspace is `.`, hence the `.` in front.
var files = plugin.Store{Dir: ".{{name}}-tapes"}

// Without its grant a directory is silently absent.
func granted() error {
	_, err := wire.Lifted(host.Granted("fs:<workspace>:rw"))
	return err
}

// Commit writes all batches or none.
func Commit(batches []store.Batch, key witTypes.Option[string]) witTypes.Result[store.Outcome, types.Error] {
	if err := granted(); err != nil {
		return wire.Result(store.Outcome{}, err)
	}
	given := make([]plugin.Batch, len(batches))
	for index, batch := range batches {
		given[index] = plugin.Batch{Tape: batch.Tape, Last: pointer(batch.Last), Entries: lift(batch.Entries)}
		if batch.Reset.IsSome() {
			reset := batch.Reset.Some()
			given[index].Reset = &plugin.Reset{Archive: pointer(reset.Archive), Kept: lift(reset.Kept)}
		}
	}
	outcome, err := files.Commit(given, pointer(key))
	switch {
	case outcome.Already:
		return wire.Result(store.MakeOutcomeAlready(), err)
	case outcome.Conflict != nil:
		return wire.Result(store.MakeOutcomeConflict(outcome.Conflict), err)
	default:
		return wire.Result(store.MakeOutcomeStored(), err)
	}
}

// Read reads the entries after an id.
func Read(tape string, after uint64, most uint32) witTypes.Result[store.Page, types.Error] {
	if err := granted(); err != nil {
		return wire.Result(store.Page{}, err)
	}
	found, more, err := files.Read(tape, after, int(most))
	return wire.Result(store.Page{Entries: lower(found), More: more}, err)
}

// Tail reads the last entries before an id.
func Tail(tape string, before witTypes.Option[uint64], most uint32) witTypes.Result[store.Page, types.Error] {
	if err := granted(); err != nil {
		return wire.Result(store.Page{}, err)
	}
	found, more, err := files.Tail(tape, pointer(before), int(most))
	return wire.Result(store.Page{Entries: lower(found), More: more}, err)
}

// Newest finds the last entry that fits.
func Newest(tape string, lookup store.Lookup, before witTypes.Option[uint64]) witTypes.Result[witTypes.Option[entries.Entry], types.Error] {
	none := witTypes.None[entries.Entry]()
	if err := granted(); err != nil {
		return wire.Result(none, err)
	}
	found, err := files.Newest(tape, pointer(before), fits(lookup))
	if err != nil || found == nil {
		return wire.Result(none, err)
	}
	return wire.Result(witTypes.Some(lower([]plugin.Entry{*found})[0]), nil)
}

func fits(lookup store.Lookup) func(plugin.Entry) bool {
	switch lookup.Tag() {
	case store.Lookup_Kind:
		return func(entry plugin.Entry) bool { return entry.Kind == lookup.Kind() }
	case store.Lookup_Named:
		named := lookup.Named()
		return func(entry plugin.Entry) bool { return entry.Kind == named.F0 && plugin.NameOf(entry) == named.F1 }
	default:
		return plugin.Phase
	}
}

// ListTapes lists the tapes after one of them.
func ListTapes(after witTypes.Option[string], most uint32) witTypes.Result[[]string, types.Error] {
	if err := granted(); err != nil {
		return wire.Result([]string{}, err)
	}
	return wire.Result(files.Tapes(after.SomeOr(""), int(most)))
}

// ListSidecars lists the sidecars of a tape after one of them.
func ListSidecars(tape string, after witTypes.Option[string], most uint32) witTypes.Result[[]string, types.Error] {
	if err := granted(); err != nil {
		return wire.Result([]string{}, err)
	}
	return wire.Result(files.Sidecars(tape, after.SomeOr(""), int(most)))
}

// ArchiveName is the name that an archive of the tape would get.
func ArchiveName(tape string) witTypes.Result[witTypes.Option[string], types.Error] {
	if err := granted(); err != nil {
		return wire.Result(witTypes.None[string](), err)
	}
	name, err := files.ArchiveName(tape)
	return wire.Result(wire.Some(name), err)
}

func pointer[T any](value witTypes.Option[T]) *T {
	if value.IsNone() {
		return nil
	}
	some := value.Some()
	return &some
}

func lift(given []entries.Entry) []plugin.Entry {
	lifted := make([]plugin.Entry, len(given))
	for index, entry := range given {
		lifted[index] = plugin.Entry{ID: entry.Id, Kind: entry.Kind, Payload: entry.Payload, Meta: entry.Meta, Date: entry.Date}
	}
	return lifted
}

func lower(given []plugin.Entry) []entries.Entry {
	lowered := make([]entries.Entry, len(given))
	for index, entry := range given {
		lowered[index] = entries.Entry{Id: entry.ID, Kind: entry.Kind, Payload: entry.Payload, Meta: entry.Meta, Date: entry.Date}
	}
	return lowered
}
