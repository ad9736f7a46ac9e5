package hooks

import (
	"bytes"
	"encoding/json"

	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// Cancelled is the result of a call that was cancelled before it could start.
func Cancelled(class Class) Result {
	return refuse(class, refusal.New(refusal.Cancelled, "The call was cancelled before it started."))
}

// EncodeJSON encodes without HTML escaping, which would cost agents tokens and make code unreadable.
func EncodeJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func refuse(class Class, r *refusal.Refusal) Result {
	object, err := EncodeJSON(r.Object(string(class)))
	if err != nil {
		// Only a detail can fail to marshal; the refusal stands without it.
		object, _ = EncodeJSON(refusal.New(r.Code(), r.Reason()).Object(string(class)))
	}
	return Result{Text: string(object), Structured: object, IsError: true, Refusal: r}
}
