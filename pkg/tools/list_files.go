package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// listCap bounds the entries of one list_files result.
const listCap = 2000

type listArgs struct {
	located
	Session   string `json:"session"`
	Recursive bool   `json:"recursive"`
}

func listFiles(d *Deps) hooks.Tool {
	entry := open([]string{"path", "type"}, schema{
		"path": text("Workspace-relative."),
		"type": oneOf("What it is.", "file", "directory", "symlink", "other"),
	})
	spec := hooks.Spec{
		Name: "list_files", Title: "List files", Class: hooks.Safe, ReadOnly: true, Idempotent: true,
		Description: "List a directory of the workspace, without what .gitignore hides. With recursive, everything below it.",
		InputSchema: input(nil, schema{
			"path": place("The directory, relative to the workspace root; the root if left out."), "file_path": place("Another name for path."),
			"recursive": flag("Also list what is below subdirectories."),
		}),
		OutputSchema: output(open([]string{"path", "entries", "truncated"}, schema{
			"path":      text("The directory."),
			"entries":   list("Sorted by path.", entry),
			"truncated": flag(fmt.Sprintf("Whether there are more than %d entries.", listCap)),
		})),
	}
	return &treeTool[listArgs]{d, spec, &arguments{name: spec.Name, source: spec.InputSchema}, runList}
}

// treeTool is a tool that looks at a directory.
type treeTool[A treeArguments] struct {
	deps *Deps
	spec hooks.Spec
	args *arguments
	run  func(ctx context.Context, c *treeCall[A]) (string, any, error)
}

type treeArguments interface{ optional() (string, error) }

func (t *treeTool[A]) Spec() hooks.Spec { return t.spec }

func (t *treeTool[A]) Targets(_ context.Context, call *hooks.Call, raw json.RawMessage) (hooks.Targeted, error) {
	c := &treeCall[A]{tool: t, call: call}
	if err := t.args.decode(raw, &c.args); err != nil {
		return nil, err
	}
	requested, err := c.args.optional()
	if err != nil {
		return nil, err
	}
	c.target, c.effect = t.deps.directory(requested)
	return c, nil
}

type treeCall[A treeArguments] struct {
	tool       *treeTool[A]
	call       *hooks.Call
	args       A
	target     *workspace.Target
	effect     *hooks.FileEffect
	text       string
	structured any
}

func (c *treeCall[A]) Effects() hooks.Effects {
	return hooks.Effects{Files: []*hooks.FileEffect{c.effect}}
}

func (c *treeCall[A]) Close() error {
	if c.target == nil {
		return nil
	}
	return c.target.Close()
}

func (c *treeCall[A]) Plan(context.Context) (hooks.Planned, error) { return c, nil }

func (c *treeCall[A]) Prepare(context.Context) (hooks.Prepared, error) {
	return hooks.Immediate(c.run), nil
}

func (c *treeCall[A]) run(ctx context.Context) (_ *hooks.Outcome, err error) {
	c.text, c.structured, err = c.tool.run(ctx, c)
	return &hooks.Outcome{Record: c.tool.deps.readNote(c.effect.Path)}, err
}

func (c *treeCall[A]) Result(*hooks.Outcome) (hooks.Result, error) {
	return encodeResult(c.text, c.structured)
}

type listEntry struct {
	Path string `json:"path"`
	Type string `json:"type"`
}

func runList(ctx context.Context, c *treeCall[listArgs]) (string, any, error) {
	result := struct {
		Path      string      `json:"path"`
		Entries   []listEntry `json:"entries"`
		Truncated bool        `json:"truncated"`
	}{Path: c.effect.Path, Entries: []listEntry{}}
	var b strings.Builder
	err := c.tool.deps.walk(ctx, c.target, c.args.Recursive, func(e workspace.Entry) error {
		if len(result.Entries) == listCap {
			result.Truncated = true
			return fs.SkipAll
		}
		result.Entries = append(result.Entries, listEntry{Path: e.Path, Type: typeOf(e.Kind)})
		b.WriteString(quoteName(e.Path))
		if e.Kind == workspace.Directory {
			b.WriteByte('/')
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		return "", nil, readProblem(c.effect.Path, err)
	}
	if len(result.Entries) == 0 {
		b.WriteString("[nothing here]\n")
	}
	if result.Truncated {
		fmt.Fprintf(&b, "[more than %d entries: list a directory below, or use search_files]\n", listCap)
	}
	return strings.TrimRight(b.String(), "\n"), result, nil
}

func typeOf(kind workspace.Kind) string {
	switch kind {
	case workspace.Directory, workspace.Symlink:
		return kind.String()
	case workspace.Regular:
		return "file"
	}
	return "other"
}

// quoteName shows a file name on one line: a name is hostile text, and one
// with a line break could pretend to be another entry.
func quoteName(name string) string {
	for _, r := range name {
		if r < 0x20 || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return fmt.Sprintf("%q", name)
		}
	}
	return name
}
