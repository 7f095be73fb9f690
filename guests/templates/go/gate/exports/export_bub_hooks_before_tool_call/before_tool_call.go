// Package export_bub_hooks_before_tool_call is what the plugin exports as `bub:hooks/before-tool-call`.
package export_bub_hooks_before_tool_call

import (
	"fmt"

	plugin "bubplugin"
	gate "bubplugin/imports/bub_hooks_before_tool_call"
	turn "bubplugin/imports/bub_turn_turn"
	types "bubplugin/imports/bub_types_types"
	"bubplugin/sdk/config"
	"bubplugin/sdk/wire"

	witTypes "go.bytecodealliance.org/pkg/wit/types"
)

// BeforeToolCall is called for the calls of models and of people, with the arguments as they were written.
func BeforeToolCall(_ *turn.Turn, call types.ToolCall) witTypes.Result[gate.ToolDecision, types.Error] {
	settings := plugin.Defaults()
	if err := config.Load(&settings); err != nil {
		return wire.Result(gate.MakeToolDecisionProceed(), err)
	}
	found := plugin.Found(settings, call.Arguments)
	if found == "" {
		return wire.Result(gate.MakeToolDecisionProceed(), nil)
	}
	// The model reads this, and can try something else.
	why := fmt.Sprintf("`%s` is not called with `%s` in its arguments", call.Name, found)
	return wire.Result(gate.MakeToolDecisionDeny(why), nil)
}
