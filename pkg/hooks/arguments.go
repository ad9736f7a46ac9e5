package hooks

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/rawjson"
)

// Arguments are a call's, taken apart once. Names are matched exactly, and an object that names a member twice, or is no
// valid UTF-8, has none: two readers of one call must never disagree on it.
type Arguments struct {
	raw     json.RawMessage
	members map[string]jsontext.Value
	err     error
}

// ReadArguments takes a JSON object apart. What is wrong with it Members says.
func ReadArguments(raw json.RawMessage) Arguments {
	a := Arguments{raw: raw}
	a.members, a.err = readMembers(raw)
	return a
}

// MakeArguments encodes an object.
func MakeArguments(object any) (Arguments, error) {
	raw, err := json.Marshal(object)
	return ReadArguments(raw), err
}

// NoArguments are an empty object.
func NoArguments() Arguments { return ReadArguments(json.RawMessage("{}")) }

// readMembers gives slices of raw.
func readMembers(raw json.RawMessage) (map[string]jsontext.Value, error) {
	members := map[string]jsontext.Value{}
	err := rawjson.Each(raw, func(d *jsontext.Decoder, name string) error {
		value, err := rawjson.Value(d, raw)
		members[name] = jsontext.Value(value)
		return err
	})
	if err != nil {
		return nil, err
	}
	return members, nil
}

// Raw is the object exactly as it was sent.
func (a Arguments) Raw() json.RawMessage { return a.raw }

// Members are the object's, to be read only.
func (a Arguments) Members() (map[string]jsontext.Value, error) { return a.members, a.err }

// Common are the arguments that every tool takes beside its own.
type Common struct {
	Session       string `json:"session,omitempty"`
	IntentID      string `json:"intent_id,omitempty"`
	MutationClass string `json:"mutation_class,omitempty"`
}

// Names are what a tool calls the common arguments; "" for one that it does not take.
type Names struct{ Session, IntentID, MutationClass string }

// CommonNames are those of every tool that says nothing else.
func CommonNames() Names { return Names{"session", "intent_id", "mutation_class"} }

// Common reads the common arguments of a tool that says nothing of their names: none where one of them is no text. That is
// the tool's to report, as is whatever else is wrong.
func (a Arguments) Common() Common { return a.CommonAs(CommonNames()) }

// CommonAs is Common for a tool that calls them by these names.
func (a Arguments) CommonAs(n Names) Common {
	var c Common
	for _, of := range [...]struct {
		name string
		to   *string
	}{{n.Session, &c.Session}, {n.IntentID, &c.IntentID}, {n.MutationClass, &c.MutationClass}} {
		value := a.members[of.name]
		if of.name == "" || value == nil || value.Kind() == jsontext.KindNull {
			continue
		}
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return Common{}
		}
		*of.to = string(text)
	}
	return c
}
