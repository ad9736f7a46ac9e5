package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// previewArg is the argument of tools that can say what they would do.
type previewArg struct {
	Preview bool `json:"preview,omitempty"`
}

// previewed is the member of a result that has it.
type previewed struct {
	Preview bool `json:"preview,omitempty" doc:"Nothing was changed: diff is what the call would do."`
}

// maxPreview bounds the diff of a preview, in bytes.
const maxPreview = 64 << 10

// preview is a planned set of changes that is shown and not made.
type preview struct {
	*changes
	result func(diff string, warnings []string) any
}

func (p *preview) Prepare(context.Context) (hooks.Prepared, error) {
	return hooks.Immediate(func(context.Context) (*hooks.Outcome, error) { return &hooks.Outcome{Warnings: p.notes}, nil }), nil
}

func (p *preview) Result(o *hooks.Outcome) (hooks.Result, error) {
	var b strings.Builder
	for i, e := range p.effects {
		diff := previewOf(e)
		if b.Len()+len(diff) > maxPreview {
			fmt.Fprintf(&b, "… and %d more files\n", len(p.effects)-i)
			break
		}
		b.WriteString(diff)
	}
	warnings := append([]string{}, o.Warnings...)
	return hooks.NewResult("[preview: nothing was changed]\n"+b.String()+warned(warnings), p.result(b.String(), warnings))
}

func previewOf(e *hooks.FileEffect) string {
	was, is, ok := hooks.Texts(e.Before.Bytes, e.After.Bytes)
	if !ok {
		return fmt.Sprintf("%s: %s, not a text\n", printable.Name(e.Path), e.Op.Verb())
	}
	diff := workspace.Shown(edit.UnifiedHunks(e.Source(), e.Path, was, is, e.Hunks, 3))
	if diff == "" && e.Op.Changes() {
		return fmt.Sprintf("%s: %s\n", printable.Name(e.Path), e.Op.Verb())
	}
	return diff
}
