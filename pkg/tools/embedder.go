package tools

import (
	"fmt"
	"reflect"

	"github.com/intentgov/orchestra-mcp/internal/schema"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// NewFileTool makes a tool that changes one text file, which exists: change computes the new content from the present one and
// the tool's own arguments. All else is that of edit_file: targets, encoding and line ends, journal, swap, record, result.
// The own arguments are a struct, by whose fields and tags the input schema is made (package schema says how); path, session
// and the like are added to it. An error of change that is no *refusal.Refusal refuses with INVALID_ARGUMENTS.
func NewFileTool[A any](files *Files, spec hooks.Spec, change func(before string, args A) (after string, err error)) (hooks.Tool, error) {
	if _, err := schema.Of(reflect.TypeFor[A](), nil); err != nil {
		return nil, fmt.Errorf("the arguments of %s: %w", spec.Name, err)
	}
	return fileTool(files, spec, hooks.KnowsBySearch, func(_ *hooks.FileEffect, before string, a ownArgs[A]) (string, []string, error) {
		after, err := change(before, a.Own)
		if _, refused := refusal.As(err); err != nil && !refused {
			err = refusal.Newf(refusal.InvalidArguments, "%s: %v. Nothing was changed.", spec.Name, err)
		}
		return after, nil, err
	}), nil
}

// ownArgs are the arguments of every file tool, and those of one that an embedder wrote.
type ownArgs[A any] struct {
	fileArgs
	Own A `json:",inline"`
}
