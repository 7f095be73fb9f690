// Package export_bub_tools_tools is what the plugin exports as `bub:tools/tools`.
package export_bub_tools_tools

import (
	plugin "bubplugin"
	schema "bubplugin/imports/bub_tools_schema"
	turn "bubplugin/imports/bub_turn_turn"
	types "bubplugin/imports/bub_types_types"
	"bubplugin/sdk/config"
	"bubplugin/sdk/wire"

	witTypes "go.bytecodealliance.org/pkg/wit/types"
)

// ListTools describes the tools. `Effect_Read`: it changes nothing, so the host lets models call it without asking.
func ListTools() []schema.ToolSpec {
	return []schema.ToolSpec{{
		Name:        plugin.Name,
		Description: plugin.About,
		Parameters:  plugin.Schema,
		ForModel:    true,
		Effect:      schema.Effect_Read,
	}}
}

// CallTool answers a call of the only tool.
func CallTool(_ *turn.Turn, _ string, arguments string) witTypes.Result[string, types.Error] {
	settings := plugin.Defaults()
	if err := config.Load(&settings); err != nil {
		return wire.Answer(nil, err)
	}
	return wire.Answer(plugin.Count(settings, arguments))
}
