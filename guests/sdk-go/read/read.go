// Package read turns JSON into structs.
package read

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"bubplugin/sdk/fail"
)

// JSON reads a text into `into`, whose fields have their defaults before. Fields that it does not have are refused.
func JSON(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fail.New(fail.InvalidInput, "it is not as described: %s", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fail.New(fail.InvalidInput, "there is text behind the JSON")
	}
	return nil
}
