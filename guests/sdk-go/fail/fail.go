// Package fail has errors with a kind, as the contracts of bub-wasm have them.
package fail

import "fmt"

// Kind of an error, in the order of the contract.
type Kind uint8

const (
	InvalidInput Kind = iota
	Config
	Provider
	ContextLength
	Tool
	Temporary
	NotFound
	Denied
	Conflict
	Cancelled
	Unknown
)

// Error is what a plugin answers with.
type Error struct {
	Kind    Kind
	Message string
}

func (e *Error) Error() string { return e.Message }

// New makes an error.
func New(kind Kind, format string, values ...any) *Error {
	return &Error{kind, fmt.Sprintf(format, values...)}
}

// Context says what was being done. The kind stays.
func Context(what string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{KindOf(err), what + ": " + err.Error()}
}

// KindOf is the kind of any error.
func KindOf(err error) Kind {
	if own, ok := err.(*Error); ok {
		return own.Kind
	}
	return Unknown
}

// Status is the error of an HTTP status, and nil of one that says success.
func Status(status int) error {
	message := fmt.Sprintf("the server answered with status %d", status)
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == 404 || status == 410:
		return New(NotFound, "%s", message)
	case status == 408 || status == 425 || status == 429 || status >= 500:
		return New(Temporary, "%s", message)
	default:
		return New(Unknown, "%s", message)
	}
}
