// Package secret has the secrets of the user, which a plugin names and never sees.
package secret

import (
	host "bubplugin/imports/bub_plugin_secrets"
	"bubplugin/sdk/wire"
)

// Placeholder is the text that the host replaces by the secret in a request.
func Placeholder(name string) (string, error) {
	return wire.Lifted(host.Placeholder(name))
}
