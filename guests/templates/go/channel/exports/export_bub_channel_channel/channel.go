// Package export_bub_channel_channel is what the plugin exports as `bub:channel/channel`.
package export_bub_channel_channel

import (
	plugin "bubplugin"
	channel "bubplugin/imports/bub_channel_channel"
	log "bubplugin/imports/bub_plugin_log"
	types "bubplugin/imports/bub_types_types"
	"bubplugin/sdk/config"
	"bubplugin/sdk/fail"
	"bubplugin/sdk/web"
	"bubplugin/sdk/wire"

	witTypes "go.bytecodealliance.org/pkg/wit/types"
)

type header = witTypes.Tuple2[string, string]

// Describe says what the channel is.
func Describe() channel.Description {
	return channel.Description{Name: plugin.Name, Webhook: true}
}

// Receive answers a request. The host stores the arrivals before it sends the response, so that no message is lost.
func Receive(request channel.WebhookRequest) witTypes.Result[channel.WebhookResponse, types.Error] {
	posted, status, text := plugin.Receive(request.Method, request.Body)
	response := channel.WebhookResponse{Status: status, Body: []byte(text)}
	if posted == nil {
		response.Headers = []header{{F0: "content-type", F1: "text/plain"}}
		return wire.Result(response, nil)
	}
	// `Content` is what the sender wrote, and nothing else: quotations and attachments have fields of their own.
	message := types.Envelope{
		Id:            witTypes.Some(posted.ID),
		SessionId:     witTypes.None[string](),
		Channel:       plugin.Name,
		ChatId:        posted.Chat,
		Sender:        wire.Some(posted.Sender),
		Content:       posted.Text,
		OutputChannel: witTypes.None[string](),
	}
	response.Arrivals = []channel.Arrival{{Message: message, Active: true}}
	return wire.Result(response, nil)
}

// Send posts an answer, or logs it where there is no address.
func Send(message types.Envelope, key string) witTypes.Result[witTypes.Option[string], types.Error] {
	var settings plugin.Settings
	none := witTypes.None[string]()
	if err := config.Load(&settings); err != nil {
		return wire.Result(none, err)
	}
	if settings.URL == "" {
		log.Log(log.Level_Info, "to chat `"+message.ChatId+"`: "+message.Content)
		return wire.Result(none, nil)
	}
	answer, err := wire.JSON(map[string]string{"chat": message.ChatId, "text": message.Content})
	if err == nil {
		err = plugin.Send(web.Client{}, settings, key, answer)
	}
	return wire.Result(none, err)
}

// Poll is not called: messages are posted.
func Poll(witTypes.Option[string]) witTypes.Result[channel.Inbox, types.Error] {
	return wire.Result(channel.Inbox{}, fail.New(fail.Unknown, "this channel does not poll"))
}

// Update is not called: what was sent stays.
func Update(string, types.Envelope) witTypes.Result[witTypes.Unit, types.Error] {
	return wire.Done(fail.New(fail.Unknown, "this channel does not edit"))
}
