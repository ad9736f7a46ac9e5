package agenttrace

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// shape is what the closed schema allows a value to have. A nil shape allows any value.
type shape struct {
	keys     map[string]*shape // of an object
	elements *shape            // of a list
}

func object(keys map[string]*shape) *shape { return &shape{keys: keys} }

func list(elements *shape) *shape { return &shape{elements: elements} }

// recordShape is TraceRecordSchema of schemas.ts.
func recordShape() *shape {
	contributor := object(map[string]*shape{"type": nil, "model_id": nil})
	lines := object(map[string]*shape{"start_line": nil, "end_line": nil, "content_hash": nil, "contributor": contributor})
	conversation := object(map[string]*shape{
		"url": nil, "contributor": contributor, "ranges": list(lines),
		"related": list(object(map[string]*shape{"type": nil, "url": nil})),
	})
	return object(map[string]*shape{
		"version": nil, "id": nil, "timestamp": nil, "metadata": nil,
		"vcs":   object(map[string]*shape{"type": nil, "revision": nil}),
		"tool":  object(map[string]*shape{"name": nil, "version": nil}),
		"files": list(object(map[string]*shape{"path": nil, "conversations": list(conversation)})),
	})
}

// closed moves what the closed schema does not allow to metadata.orchestra-mcp.moved.
func closed(line []byte) ([]byte, error) {
	kept, moved, err := split(line, recordShape())
	if err != nil || moved == nil {
		return kept, err
	}
	return within(kept, []string{"metadata", "orchestra-mcp"}, member{"moved", moved})
}

// split gives what the shape allows of a value and what it does not, nil if that is nothing.
func split(value jsontext.Value, allowed *shape) (kept, moved jsontext.Value, err error) {
	switch {
	case allowed == nil:
		return value, nil, nil
	case allowed.keys != nil:
		return splitObject(value, allowed)
	}
	return splitList(value, allowed)
}

func splitObject(value jsontext.Value, allowed *shape) (kept, moved jsontext.Value, err error) {
	members, err := membersOf(value)
	if err != nil {
		return nil, nil, err
	}
	var stay, leave []member
	for _, m := range members {
		inner, known := allowed.keys[m.name]
		if !known {
			leave = append(leave, m)
			continue
		}
		left, gone, err := split(m.value, inner)
		if err != nil {
			return nil, nil, err
		}
		stay = append(stay, member{m.name, left})
		if gone != nil {
			leave = append(leave, member{m.name, gone})
		}
	}
	if kept, err = objectOf(stay); err != nil || len(leave) == 0 {
		return kept, nil, err
	}
	moved, err = objectOf(leave)
	return kept, moved, err
}

func splitList(value jsontext.Value, allowed *shape) (kept, moved jsontext.Value, err error) {
	elements, err := elementsOf(value)
	if err != nil {
		return nil, nil, err
	}
	stay, leave, any := make([]jsontext.Value, len(elements)), make([]jsontext.Value, len(elements)), false
	for i, element := range elements {
		if stay[i], leave[i], err = split(element, allowed.elements); err != nil {
			return nil, nil, err
		}
		if any = any || leave[i] != nil; leave[i] == nil {
			leave[i] = jsontext.Value("null")
		}
	}
	if !any {
		return listOf(stay), nil, nil
	}
	return listOf(stay), listOf(leave), nil
}

// within adds a member to the object at the end of a way of names.
func within(value jsontext.Value, way []string, add member) (jsontext.Value, error) {
	members, err := membersOf(value)
	if err != nil {
		return nil, err
	}
	if len(way) == 0 {
		return objectOf(append(members, add))
	}
	for i, m := range members {
		if m.name == way[0] {
			if members[i].value, err = within(m.value, way[1:], add); err != nil {
				return nil, err
			}
			return objectOf(members)
		}
	}
	return nil, errors.New("it has no metadata of ours")
}

// member is a name and value of an object. Values keep their bytes, so that numbers stay as exact as they were.
type member struct {
	name  string
	value jsontext.Value
}

func membersOf(value jsontext.Value) ([]member, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(value))
	if err := begin(dec, '{'); err != nil {
		return nil, err
	}
	var members []member
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		text := name.String()
		inner, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		members = append(members, member{text, inner.Clone()})
	}
	return members, nil
}

func elementsOf(value jsontext.Value) ([]jsontext.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(value))
	if err := begin(dec, '['); err != nil {
		return nil, err
	}
	var elements []jsontext.Value
	for dec.PeekKind() != ']' {
		inner, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		elements = append(elements, inner.Clone())
	}
	return elements, nil
}

func begin(dec *jsontext.Decoder, kind jsontext.Kind) error {
	token, err := dec.ReadToken()
	if err == nil && token.Kind() != kind {
		err = errors.New("it is not shaped as Agent Trace")
	}
	return err
}

func objectOf(members []member) (jsontext.Value, error) {
	out := jsontext.Value("{")
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = jsontext.AppendQuote(out, m.name); err != nil {
			return nil, err
		}
		out = append(append(out, ':'), m.value...)
	}
	return append(out, '}'), nil
}

func listOf(elements []jsontext.Value) jsontext.Value {
	return append(append(jsontext.Value("["), bytes.Join(asBytes(elements), []byte(","))...), ']')
}

func asBytes(values []jsontext.Value) [][]byte {
	all := make([][]byte, len(values))
	for i, v := range values {
		all[i] = v
	}
	return all
}
