// Package export_bub_hooks_system_prompt is what the plugin exports as `bub:hooks/system-prompt`.
package export_bub_hooks_system_prompt

import (
	plugin "bubplugin"
	turn "bubplugin/imports/bub_turn_turn"
	types "bubplugin/imports/bub_types_types"
	"bubplugin/sdk/config"
	"bubplugin/sdk/wire"

	witTypes "go.bytecodealliance.org/pkg/wit/types"
)

// SystemPrompt adds to the system prompt.
func SystemPrompt(_ *turn.Turn, _ types.Prompt) witTypes.Result[[]types.SystemPart, types.Error] {
	settings, parts := plugin.Defaults(), []types.SystemPart{}
	if err := config.Load(&settings); err != nil {
		return wire.Result(parts, err)
	}
	if part := plugin.Part(settings); part != "" {
		parts = append(parts, types.SystemPart{Name: "rules", Text: part, Cut: types.CutOrder_Last})
	}
	return wire.Result(parts, nil)
}
