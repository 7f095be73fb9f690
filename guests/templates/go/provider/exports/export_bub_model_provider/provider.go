// Package export_bub_model_provider is what the plugin exports as `bub:model/provider`.
package export_bub_model_provider

import (
	plugin "bubplugin"
	exchange "bubplugin/imports/bub_model_exchange"
	sink "bubplugin/imports/bub_model_sink"
	types "bubplugin/imports/bub_types_types"
	"bubplugin/sdk/config"
	"bubplugin/sdk/wire"

	witTypes "go.bytecodealliance.org/pkg/wit/types"
)

// Name is the part of a model's id before the colon.
func Name() string { return plugin.Name }

// Complete answers a request. Readers see each piece when it is sent.
func Complete(request exchange.Request, sink *sink.Sink) witTypes.Result[witTypes.Unit, types.Error] {
	var settings plugin.Settings
	if err := config.Load(&settings); err != nil {
		return wire.Done(err)
	}
	pieces, err := plugin.Answer(settings, request.Model.SomeOr(""), request.Messages)
	if err != nil {
		return wire.Done(err)
	}
	for _, piece := range pieces {
		if sent := sink.Send(exchange.MakeEventText(piece)); sent.IsErr() {
			return sent
		}
	}
	return sink.Send(exchange.MakeEventFinish("stop"))
}
