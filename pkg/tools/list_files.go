package tools

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/schema"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// listCap bounds the entries of one list_files result.
const listCap = 2000

type listArgs struct {
	sessionArg
	Path      string `json:"path,omitempty" alias:"file_path" is:"path" doc:"Default: the root."`
	Recursive bool   `json:"recursive,omitempty"`
}

type listEntry struct {
	Path string `json:"path" doc:"Workspace-relative."`
	Type string `json:"type" enum:"file,directory,symlink,other" doc:"What it is."`
}

type listResult struct {
	Path      string      `json:"path" doc:"The directory."`
	Entries   []listEntry `json:"entries" doc:"Sorted by path."`
	Truncated bool        `json:"truncated" doc:"Whether there are more than {cap} entries."`
}

func listFiles(files *Files) hooks.Tool {
	spec := looking("list_files", "List files", "List a directory of the workspace, without what .gitignore hides.")
	return define[listArgs, listResult](spec, func(_ *hooks.Call, args listArgs) (hooks.Targeted, error) {
		return files.lookAt(args.Path, func(ctx context.Context, dir onTarget) (string, any, error) {
			return files.list(ctx, dir, args.Recursive)
		})
	}, schema.Numbers{"cap": listCap})
}

// lookAt is a call that looks at a directory.
func (f *Files) lookAt(path string, look func(ctx context.Context, dir onTarget) (string, any, error)) (hooks.Targeted, error) {
	a := &answer{}
	a.target, a.effect = f.directory(path)
	a.run = func(ctx context.Context) (*reply, error) {
		text, structured, err := look(ctx, a.onTarget)
		return &reply{hooks.Outcome{Record: f.readNote(a.effect.Path)}, text, structured}, err
	}
	return a, nil
}

func (f *Files) list(ctx context.Context, dir onTarget, recursive bool) (string, any, error) {
	result := listResult{Path: dir.effect.Path, Entries: []listEntry{}}
	var b strings.Builder
	err := dir.target.Walk(ctx, ownState, func(e workspace.Entry) error {
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
		if e.Kind == workspace.Directory && !recursive {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return "", nil, readProblem(result.Path, err)
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
