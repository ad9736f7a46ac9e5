package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// arguments checks a tool's arguments against its input schema. The schema is
// compiled at the first call, so that start-up does not pay for tools that
// nobody uses.
type arguments struct {
	name   string
	source json.RawMessage
	once   sync.Once
	schema *jsonschema.Schema
	err    error
}

func (a *arguments) compile() {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.source))
	if err != nil {
		a.err = err
		return
	}
	c := jsonschema.NewCompiler()
	if a.err = c.AddResource("arguments.json", doc); a.err == nil {
		a.schema, a.err = c.Compile("arguments.json")
	}
}

// decode reads args into v, which is a pointer to a struct. Names are matched
// exactly; unknown members, members given twice, and invalid UTF-8 are
// refused, because two readers of one call must never disagree on it.
func (a *arguments) decode(args json.RawMessage, v any) error {
	a.once.Do(a.compile)
	if a.err != nil {
		return fmt.Errorf("input schema of %s: %w", a.name, a.err)
	}
	var plain any
	if err := jsonv2.Unmarshal(args, &plain); err != nil {
		return a.invalid(err)
	}
	if object, ok := plain.(map[string]any); ok {
		// Clients of prompts written for Roo send null for what they leave out.
		maps.DeleteFunc(object, func(_ string, v any) bool { return v == nil })
	}
	if err := a.schema.Validate(plain); err != nil {
		return a.invalid(err)
	}
	if err := jsonv2.Unmarshal(args, v, jsonv2.RejectUnknownMembers(true)); err != nil {
		return a.invalid(err)
	}
	return nil
}

// maxProblems bounds what is said of one call's arguments.
const maxProblems = 20

func (a *arguments) invalid(err error) error {
	problems := []string{err.Error()}
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		problems = leaves(invalid.BasicOutput())
	}
	if n := len(problems); n > maxProblems {
		problems = append(problems[:maxProblems:maxProblems], fmt.Sprintf("and %d more", n-maxProblems))
	}
	for i, p := range problems {
		problems[i] = clip(p, 500)
	}
	return refusal.Newf(refusal.InvalidArguments, "The arguments of %s do not fit: %s.", a.name, strings.Join(problems, "; ")).
		With("problems", problems)
}

func leaves(out *jsonschema.OutputUnit) []string {
	var problems []string
	for _, unit := range out.Errors {
		if unit.Error == nil {
			continue
		}
		where := strings.TrimPrefix(unit.InstanceLocation, "/")
		if where != "" {
			where += ": "
		}
		problems = append(problems, where+unit.Error.String())
	}
	if len(problems) == 0 {
		problems = append(problems, "they do not match the input schema")
	}
	return problems
}

// located is a path argument under either of its names.
type located struct {
	Path     string `json:"path"`
	FilePath string `json:"file_path"`
}

// optional returns the path given, under whichever name; "" if there is none.
func (l located) optional() (string, error) {
	if l.Path != "" && l.FilePath != "" && l.Path != l.FilePath {
		return "", refusal.New(refusal.InvalidArguments, "path and file_path name different files; give one of them.")
	}
	return cmp.Or(l.Path, l.FilePath), nil
}

// path is optional for tools that need one.
func (l located) path() (string, error) {
	path, err := l.optional()
	if err == nil && path == "" {
		return "", refusal.New(refusal.InvalidArguments, "path is missing or empty.")
	}
	return path, err
}

// encodeResult makes a result of a text and an object.
func encodeResult(text string, structured any) (hooks.Result, error) {
	object, err := hooks.EncodeJSON(structured)
	if err != nil {
		return hooks.Result{}, err
	}
	return hooks.Result{Text: text, Structured: object}, nil
}
