package agenttrace

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// ErrNotExportable: the record cannot be told as Agent Trace.
var ErrNotExportable = errors.New("the record is not valid as Agent Trace")

// Changed reports whether a record is one of ours that changed files. Others have nothing to tell in Agent Trace.
func Changed(e record.Entry) bool {
	return e.Kind != "" && slices.ContainsFunc(e.Changes, func(c record.Change) bool { return c.Op != change.Unchanged })
}

// Line gives the record as one line of JSON, without a newline: as it stands in the ledger, or, if strict, with all keys
// that Agent Trace does not name moved into metadata.
func Line(e record.Entry, strict bool) ([]byte, error) {
	if _, err := uuid.Parse(e.ID); err != nil || len(e.ID) != 36 {
		return nil, fmt.Errorf("%w: its id is no UUID", ErrNotExportable)
	}
	line, err := record.Encode(e)
	if err == nil && strict {
		line, err = closed(line)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNotExportable, err)
	}
	return line, nil
}

// What the closed schema allows a value to have: the keys of an object, or the elements of a list by the first of this one; nil
// allows any value.
type (
	object map[string]any
	list   [1]any
)

// recordShape is TraceRecordSchema of schemas.ts.
func recordShape() object {
	contributor := object{"type": nil, "model_id": nil}
	lines := object{"start_line": nil, "end_line": nil, "content_hash": nil, "contributor": contributor}
	conversation := object{
		"url": nil, "contributor": contributor, "ranges": list{lines}, "related": list{object{"type": nil, "url": nil}},
	}
	return object{
		"version": nil, "id": nil, "timestamp": nil, "metadata": nil,
		"vcs":   object{"type": nil, "revision": nil},
		"tool":  object{"name": nil, "version": nil},
		"files": list{object{"path": nil, "conversations": list{conversation}}},
	}
}

// closed moves what the closed schema does not allow to metadata.orchestra-mcp.moved.
func closed(line []byte) ([]byte, error) {
	kept, moved, err := split(line, recordShape())
	if err != nil || moved == nil {
		return kept, err
	}
	return within(kept, []string{"metadata", "orchestra-mcp"}, part{"moved", moved})
}

// split gives what the shape allows of a value and what it does not, nil if that is nothing.
func split(value jsontext.Value, allowed any) (kept, moved jsontext.Value, err error) {
	keys, isObject := allowed.(object)
	elements, isList := allowed.(list)
	kind := jsontext.Kind('{')
	switch {
	case isList:
		kind = '['
	case !isObject:
		return value, nil, nil
	}
	parts, err := partsOf(value, kind)
	if err != nil {
		return nil, nil, err
	}
	var stay, leave []part
	some := false
	for _, p := range parts {
		inner, known := keys[p.name]
		if isList {
			inner, known = elements[0], true
		}
		if !known {
			leave, some = append(leave, p), true
			continue
		}
		left, gone, err := split(p.value, inner)
		if err != nil {
			return nil, nil, err
		}
		stay = append(stay, part{p.name, left})
		switch {
		case gone != nil:
			leave, some = append(leave, part{p.name, gone}), true
		case isList:
			leave = append(leave, part{value: jsontext.Value("null")})
		}
	}
	if kept, err = joined(stay, kind); err != nil || !some {
		return kept, nil, err
	}
	moved, err = joined(leave, kind)
	return kept, moved, err
}

// within adds a member to the object at the end of a way of names.
func within(value jsontext.Value, way []string, add part) (jsontext.Value, error) {
	members, err := partsOf(value, '{')
	if err != nil {
		return nil, err
	}
	if len(way) == 0 {
		return joined(append(members, add), '{')
	}
	for i, m := range members {
		if m.name == way[0] {
			if members[i].value, err = within(m.value, way[1:], add); err != nil {
				return nil, err
			}
			return joined(members, '{')
		}
	}
	return nil, errors.New("it has no metadata of ours")
}

// part is a member of an object, or an element of a list without a name. Values keep their bytes, so that numbers stay as
// exact as they were.
type part struct {
	name  string
	value jsontext.Value
}

func partsOf(value jsontext.Value, kind jsontext.Kind) (parts []part, err error) {
	dec := jsontext.NewDecoder(bytes.NewReader(value))
	token, err := dec.ReadToken()
	if err == nil && token.Kind() != kind {
		err = errors.New("it is not shaped as Agent Trace")
	}
	for err == nil && dec.PeekKind() != '}' && dec.PeekKind() != ']' {
		var p part
		if kind == '{' {
			token, err = dec.ReadToken()
			p.name = token.String()
		}
		if err == nil {
			p.value, err = dec.ReadValue()
		}
		p.value = p.value.Clone()
		parts = append(parts, p)
	}
	return parts, err
}

func joined(parts []part, kind jsontext.Kind) (out jsontext.Value, err error) {
	out = append(out, byte(kind))
	for i, p := range parts {
		if i > 0 {
			out = append(out, ',')
		}
		if kind == '{' {
			if out, err = jsontext.AppendQuote(out, p.name); err != nil {
				return nil, err
			}
			out = append(out, ':')
		}
		out = append(out, p.value...)
	}
	return append(out, byte(kind)+2), nil // { and }, [ and ] are two apart
}
