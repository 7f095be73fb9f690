// Package wire has results and errors as the contracts have them.
package wire

import (
	"bytes"
	"encoding/json"

	types "bubplugin/imports/bub_types_types"
	"bubplugin/sdk/fail"
	witTypes "go.bytecodealliance.org/pkg/wit/types"
)

// Lower is an error of the contract.
func Lower(err error) types.Error {
	return types.Error{Kind: uint8(fail.KindOf(err)), Message: err.Error(), Details: witTypes.None[string]()}
}

// Lift is an error of Go.
func Lift(err types.Error) error {
	return fail.New(fail.Kind(err.Kind), "%s", err.Message)
}

// Result is a value or an error.
func Result[T any](value T, err error) witTypes.Result[T, types.Error] {
	if err != nil {
		return witTypes.Err[T, types.Error](Lower(err))
	}
	return witTypes.Ok[T, types.Error](value)
}

// Done is success without a value, or an error.
func Done(err error) witTypes.Result[witTypes.Unit, types.Error] {
	return Result(witTypes.Unit{}, err)
}

// Answer is a value as JSON, or an error.
func Answer(value any, err error) witTypes.Result[string, types.Error] {
	if err != nil {
		return Result("", err)
	}
	return Result(JSON(value))
}

// JSON is a value as JSON.
func JSON(value any) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", fail.New(fail.InvalidInput, "it has no JSON: %s", err)
	}
	return string(bytes.TrimSuffix(text.Bytes(), []byte("\n"))), nil
}

// Lifted is the value of a result, or its error.
func Lifted[T any](result witTypes.Result[T, types.Error]) (T, error) {
	if result.IsErr() {
		var none T
		return none, Lift(result.Err())
	}
	return result.Ok(), nil
}

// Some is an optional text, and none if it is empty.
func Some(text string) witTypes.Option[string] {
	if text == "" {
		return witTypes.None[string]()
	}
	return witTypes.Some(text)
}
