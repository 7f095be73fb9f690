// Package export_bub_tools_tools is what the plugin exports as `bub:tools/tools`.
package export_bub_tools_tools

import (
	plugin "bubplugin"
	schema "bubplugin/imports/bub_tools_schema"
	turn "bubplugin/imports/bub_turn_turn"
	types "bubplugin/imports/bub_types_types"
	"bubplugin/sdk/config"
	"bubplugin/sdk/secret"
	"bubplugin/sdk/web"
	"bubplugin/sdk/wire"
	witTypes "go.bytecodealliance.org/pkg/wit/types"
)

// ListTools describes the tools.
func ListTools() []schema.ToolSpec {
	return []schema.ToolSpec{{
		Name:         "weather",
		Description:  "Say how the weather is in a city, today and in the days that follow.",
		Parameters:   plugin.Schema,
		ForModel:     true,
		Effect:       schema.Effect_Read,
		ReadsOutside: true,
	}}
}

// CallTool answers a call of the only tool.
func CallTool(_ *turn.Turn, _ string, arguments string) witTypes.Result[string, types.Error] {
	var settings plugin.Settings
	if err := config.Load(&settings); err != nil {
		return wire.Answer(nil, err)
	}
	key, err := secret.Placeholder("weather")
	if err != nil {
		return wire.Answer(nil, err)
	}
	return wire.Answer(plugin.Weather(web.Client{}, settings, key, arguments))
}
