// Package mapping says which arguments of another server's tools are paths, commands and addresses, so that scope, ignore,
// secret paths, the command policy and rules hold for them.
//
// It promises that [Mapping.Targets] either gives every value that the arguments have in the mapped places, or an error, with
// which the call is refused: for a value of another type than expected, a member twice or in another letter case, too many of
// them or too long ones. An argument that is absent or null is nothing.
//
// It does not promise that a server does with its arguments what their names say: checked arguments are no boundary.
package mapping

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// MaxTargets is how many values one call may name.
const MaxTargets = 4096

// Effect says what the tools that a glob matches do with their arguments. A place is a path of members: path, a.b, files[] for
// each element of a list, edits[].path. A place that is given both as x and as x[] takes a text and a list.
type Effect struct {
	Tool     string   `required:"true"` // a glob on the server's own names, as path.Match reads it
	Reads    []string // places of paths of files and directories, and file URLs
	Writes   []string // likewise, of what is created or changed
	Deletes  []string // likewise, of what is removed
	Commands []string // of shell lines
	URLs     []string // of addresses; one of a file is a path that is read
}

// Target is one value that a call names.
type Target struct {
	Argument string // where it stands, "edits[2].path"
	Value    string
}

// Targets are what a call names, each list in the order of the arguments.
type Targets struct {
	Reads, Writes, Deletes []Target // paths as the agent wrote them; those of file URLs absolute and decoded
	Commands               []Target
	URLs                   []Target // without those of files; scheme and host in lower case, without what browsers pass over
}

// Mapping are compiled effects. It is immutable and safe for concurrent use; nil maps nothing.
type Mapping struct{ effects []compiled }

type compiled struct {
	tool   string
	places []mapped
}

type mapped struct {
	kind  kind
	steps []string
}

// Check reports what of an effect does not parse.
func (e Effect) Check() error {
	_, err := compile(e)
	return err
}

// Compile compiles effects. The error names the effect and what of it does not parse.
func Compile(effects ...Effect) (*Mapping, error) {
	m := &Mapping{}
	for i, e := range effects {
		c, err := compile(e)
		if err != nil {
			return nil, fmt.Errorf("effect %d: %w", i+1, err)
		}
		m.effects = append(m.effects, c)
	}
	return m, nil
}

func compile(e Effect) (compiled, error) {
	c := compiled{tool: e.Tool}
	if _, err := path.Match(e.Tool, ""); err != nil || e.Tool == "" {
		return c, fmt.Errorf("%.80q is no pattern of names", e.Tool)
	}
	for k, places := range [][]string{reads: e.Reads, writes: e.Writes, deletes: e.Deletes, commands: e.Commands, urls: e.URLs} {
		for _, place := range places {
			steps, err := steps(place)
			if err != nil {
				return c, err
			}
			c.places = append(c.places, mapped{kind(k), steps})
		}
	}
	return c, nil
}

// of has the places of a tool in all effects; nil if no effect is for it.
func (m *Mapping) of(tool string) *place {
	if m == nil {
		return nil
	}
	var top *place
	for _, e := range m.effects {
		if matches, err := path.Match(e.tool, tool); err != nil || !matches {
			continue
		}
		if top == nil {
			top = new(place)
		}
		for _, p := range e.places {
			at := top.at(p.steps)
			at.kinds = append(at.kinds, p.kind)
		}
	}
	return top
}

// Targets finds what the arguments of a call of a tool name; the effects whose glob matches it add up. The error wraps
// ErrArguments and is safe to print.
func (m *Mapping) Targets(tool string, arguments json.RawMessage) (Targets, error) {
	top := m.of(tool)
	if top == nil || top.members == nil || len(bytes.TrimSpace(arguments)) == 0 {
		return Targets{}, nil
	}
	w := walk{in: jsontext.NewDecoder(bytes.NewReader(arguments))}
	if kind := w.in.PeekKind(); kind != '{' && kind != 'n' {
		return Targets{}, fmt.Errorf("%w: they are no object", ErrArguments)
	}
	err := w.value(top, "")
	if err == nil {
		if _, err = w.in.ReadToken(); err == io.EOF {
			return w.found, nil
		}
		err = errors.New("they are more than one value")
	}
	if syntax, is := errors.AsType[*jsontext.SyntacticError](err); is {
		err = errors.New(printable.Text(syntax.Err.Error()))
	}
	return Targets{}, fmt.Errorf("%w: %w", ErrArguments, err)
}

// walk goes through arguments once and keeps only what is mapped, whatever else they have.
type walk struct {
	in    *jsontext.Decoder
	found Targets
	n     int
}

// value reads the value of a place, which stands at.
func (w *walk) value(p *place, at string) error {
	switch kind := w.in.PeekKind(); {
	case kind == 'n':
		return w.in.SkipValue()
	case kind == '"' && len(p.kinds) > 0:
		return w.text(p, at)
	case kind == '[' && p.elements != nil:
		return w.list(p, at)
	case kind == '{' && p.members != nil:
		return w.object(p, at)
	case kind == 0:
		_, err := w.in.ReadToken()
		return err
	default:
		return fmt.Errorf("%s must be %s, and is %s", at, p.wanted(), kindName(kind))
	}
}

func (w *walk) text(p *place, at string) error {
	token, err := w.in.ReadToken()
	if err != nil {
		return err
	}
	value := token.String()
	for _, k := range p.kinds {
		if w.n++; w.n > MaxTargets {
			return fmt.Errorf("they name more than %d paths, commands and addresses", MaxTargets)
		}
		if err := w.found.add(k, at, value); err != nil {
			return fmt.Errorf("%s %w", at, err)
		}
	}
	return nil
}

func (w *walk) list(p *place, at string) error {
	if _, err := w.in.ReadToken(); err != nil {
		return err
	}
	for i := 0; w.in.PeekKind() != ']'; i++ {
		if err := w.value(p.elements, at+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	_, err := w.in.ReadToken()
	return err
}

func (w *walk) object(p *place, at string) error {
	if _, err := w.in.ReadToken(); err != nil {
		return err
	}
	for w.in.PeekKind() != '}' {
		token, err := w.in.ReadToken()
		if err != nil {
			return err
		}
		if err := w.member(p, at, token.String()); err != nil {
			return err
		}
	}
	_, err := w.in.ReadToken()
	return err
}

func (w *walk) member(p *place, at, name string) error {
	inner := p.members[name]
	if inner == nil {
		if twin, is := p.twin(name); is {
			return fmt.Errorf("%s stands there in another letter case; write it as %q", printable.Text(strconv.Quote(name)), twin)
		}
		return w.in.SkipValue()
	}
	if at != "" {
		name = at + "." + name
	}
	return w.value(inner, name)
}

func kindName(kind jsontext.Kind) string {
	switch kind {
	case '"':
		return "text"
	case '0':
		return "a number"
	case '[':
		return "a list"
	case '{':
		return "an object"
	}
	return "a boolean"
}
