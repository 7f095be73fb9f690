// Package config reads the table `[plugins.NAME.config]`.
package config

import (
	"encoding/json"
	"reflect"
	"strings"

	host "bubplugin/imports/bub_plugin_config"
	"bubplugin/sdk/fail"
)

// Load reads the keys that the struct `into` has in its `json` tags. Keys that are not set leave it as it is.
func Load(into any) error {
	table := map[string]json.RawMessage{}
	fields := reflect.TypeOf(into).Elem()
	for index := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(index).Tag.Get("json"), ",")
		if value := host.Get(name); value.IsSome() {
			table[name] = json.RawMessage(value.Some())
		}
	}
	text, err := json.Marshal(table)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fail.New(fail.Config, "the configuration is not as described: %s", err)
	}
	return nil
}
