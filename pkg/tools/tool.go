package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/internal/schema"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// tool is a tool whose arguments are an A. They are read once, and what the call does is made of the value.
type tool[A any] struct {
	spec    hooks.Spec
	object  func() *schema.Object // of A
	targets func(call *hooks.Call, args A) (hooks.Targeted, error)
}

// define makes a tool of what its arguments are, an A, what its structured result is, an R, and of what it does. Its schemas
// are those of the two types (package schema), whose tags may name the numbers.
func define[A, R any](spec hooks.Spec, targets func(*hooks.Call, A) (hooks.Targeted, error), numbers schema.Numbers) *tool[A] {
	t := &tool[A]{spec, schema.Lazy(reflect.TypeFor[A](), numbers), targets}
	result := schema.Lazy(reflect.TypeFor[R](), numbers)
	t.spec.InputSchema = sync.OnceValue(func() json.RawMessage { return schema.JSON(t.object().Listed()) })
	t.spec.OutputSchema = sync.OnceValue(func() json.RawMessage { return output(result().Brief()) })
	t.spec.ResultSchema = func() json.RawMessage { return schema.JSON(result().Schema()) }
	return t
}

// respond makes a tool that touches no file of the workspace: run is all that a call does.
func respond[A, R any](spec hooks.Spec, run func(ctx context.Context, call *hooks.Call, args A) (*reply, error)) *tool[A] {
	return define[A, R](spec, func(call *hooks.Call, args A) (hooks.Targeted, error) {
		return &answer{run: func(ctx context.Context) (*reply, error) { return run(ctx, call, args) }}, nil
	}, nil)
}

// looking describes a tool that changes nothing and records nothing but that it was asked.
func looking(name, title, description string) hooks.Spec {
	return hooks.Spec{Name: name, Title: title, Description: description, Class: hooks.Safe, ReadOnly: true, Idempotent: true}
}

func (t *tool[A]) Spec() hooks.Spec { return t.spec }

func (t *tool[A]) Decode(args hooks.Arguments) (hooks.Decoded, error) { return t.decode(args) }

func (t *tool[A]) decode(args hooks.Arguments) (*decoded[A], error) {
	call := &decoded[A]{tool: t}
	members, err := args.Members()
	if err != nil {
		return nil, invalid(t.spec.Name, []string{err.Error()})
	}
	if problems := t.object().Read(members, &call.args); len(problems) > 0 {
		return nil, invalid(t.spec.Name, problems)
	}
	return call, nil
}

// decoded is a call with its arguments.
type decoded[A any] struct {
	tool *tool[A]
	args A
}

func (d *decoded[A]) Targets(_ context.Context, call *hooks.Call) (hooks.Targeted, error) {
	return d.tool.targets(call, d.args)
}

// maxProblems bounds what is said of one call's arguments.
const maxProblems = 20

func invalid(tool string, problems []string) error {
	if n := len(problems); n > maxProblems {
		problems = append(problems[:maxProblems:maxProblems], fmt.Sprintf("and %d more", n-maxProblems))
	}
	for i, p := range problems {
		problems[i] = clip(p, 500)
	}
	return refusal.Newf(refusal.InvalidArguments, "The arguments of %s do not fit: %s.", tool, strings.Join(problems, "; ")).
		With("problems", problems)
}

// sessionArg is the argument of every tool. The server's instructions, and select_active_intent, say what it is for.
type sessionArg struct {
	Session string `json:"session,omitempty" is:"word"`
}

// changeArgs are those of every tool that changes something. The server's instructions say the rest of them.
type changeArgs struct {
	sessionArg
	IntentID      string `json:"intent_id,omitempty" is:"word"`
	MutationClass string `json:"mutation_class,omitempty" enum:"AST_REFACTOR,INTENT_EVOLUTION"`
}

// unusedClass is taken from callers that send it with every call.
type unusedClass struct {
	MutationClass string `json:"mutation_class,omitempty" is:"word" unlisted:"true"`
}

// filePath is the argument of tools that need a file.
type filePath struct {
	Path string `json:"path" alias:"file_path" is:"path" min:"1"`
}

// output is what clients are told of a result's structuredContent: success or refusal. The root has a type because protocol
// revision 2025-11-25 requires one, and both cases stand in it because clients validate errors too. Of a refusal it has what
// tells it from a success: the list would say the rest once a tool.
func output(success any) json.RawMessage {
	refused := &schema.Schema{Required: []string{"error_type", "suggestion"}}
	return schema.JSON(&schema.Schema{Type: "object", AnyOf: []any{success, refused}})
}
