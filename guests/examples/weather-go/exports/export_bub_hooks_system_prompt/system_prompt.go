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
	var settings plugin.Settings
	if err := config.Load(&settings); err != nil {
		return wire.Result[[]types.SystemPart](nil, err)
	}
	parts := []types.SystemPart{}
	if rule := plugin.Rule(settings); rule != "" {
		parts = append(parts, types.SystemPart{Name: "weather", Text: rule, Cut: types.CutOrder_Last})
	}
	return wire.Result(parts, nil)
}
