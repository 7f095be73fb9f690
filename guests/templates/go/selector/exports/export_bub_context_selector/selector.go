// Package export_bub_context_selector is what the plugin exports as `bub:context/selector`.
package export_bub_context_selector

import (
	plugin "bubplugin"
	selector "bubplugin/imports/bub_context_selector"
	view "bubplugin/imports/bub_context_view"
	types "bubplugin/imports/bub_types_types"
	"bubplugin/sdk/config"
	"bubplugin/sdk/wire"

	witTypes "go.bytecodealliance.org/pkg/wit/types"
)

// Entries that are read at once.
const page = 64

// Select names the entries that the model sees; the host renders them.
func Select(view *view.View) witTypes.Result[selector.Selected, types.Error] {
	settings := plugin.Defaults()
	if err := config.Load(&settings); err != nil {
		return wire.Result(selector.Selected{}, err)
	}
	taken, err := plugin.Select(settings, view.TurnStartId(), func(before uint64) ([]plugin.Entry, error) {
		from := witTypes.None[uint64]()
		if before != 0 {
			from = witTypes.Some(before)
		}
		read, err := wire.Lifted(view.Tail(from, page))
		entries := make([]plugin.Entry, len(read))
		for index, entry := range read {
			entries[index] = plugin.Entry{ID: entry.Id, Kind: entry.Kind, Payload: entry.Payload}
		}
		return entries, err
	})
	if err != nil {
		return wire.Result(selector.Selected{}, err)
	}
	parts := make([]selector.Part, len(taken.IDs))
	for index, id := range taken.IDs {
		parts[index] = selector.MakePartEntry(id)
	}
	// `bub-wasm tape` shows the notes.
	notes, err := wire.JSON(map[string]int{"turns": taken.Turns, "entries": len(taken.IDs)})
	none := witTypes.None[string]()
	return wire.Result(selector.Selected{SystemPrompt: none, History: parts, Notes: notes}, err)
}
