package external

import (
	"context"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Again is the post-hook behind all programs: it warns of files that are not any more what the call wrote, as a formatter
// leaves them.
func Again(w *workspace.Workspace, limit int64) hooks.PostHook {
	return hooks.PostFunc("changed again", func(_ context.Context, _ *hooks.Call, outcome *hooks.Outcome) error {
		for _, f := range outcome.Changed() {
			if now := hashNow(w, f.Path, limit); f.After.Hash != "" && now != "" && now != f.After.Hash {
				outcome.Warnings = append(outcome.Warnings, fmt.Sprintf(
					"%s was changed again behind the call, as by a hook or a check that formats it: it is %s now. Call read_file before you change it further.", f.Path, now))
			}
		}
		return nil
	})
}

// hashNow is "" where the file cannot be read.
func hashNow(w *workspace.Workspace, path string, limit int64) string {
	t, err := w.Resolve(path)
	if err != nil {
		return ""
	}
	defer t.Close()
	content, err := t.Read(limit)
	if err != nil {
		return ""
	}
	return content.Hash
}
