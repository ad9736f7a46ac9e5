package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
)

// Each end of a call is told, and recorded as what is known of it.
func TestWhatBecomesOfCalls(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	l := behind(t, dir, []upstream.Definition{files(func(d *upstream.Definition) { d.Keep = true })}, nil, func(o *server.Options) { o.Settings.Ledger.RecordReads = true })
	s := l.selects("INT-005")
	do := func(tool string, does func(ctx context.Context, a map[string]any) (string, error)) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.does[tool] = does
	}
	do("send", func(context.Context, map[string]any) (string, error) {
		return `{"content":[],"isError":true,"x":[1]}`, nil
	})
	r := l.call("files_send", args{"session": s})
	check.That(t, r.IsError && strings.Contains(string(r.Raw), `"x":[1]`), "%s", r.Raw)
	_, u := l.last(record.KindMutation)
	check.That(t, u.IsError && u.Problem == "" && u.Result != "" && u.ResultArtifact != "" && u.ArgumentsArtifact != "", "%+v", u)
	read := l.call("read_command_output", args{"artifact_id": u.ResultArtifact})
	check.That(t, strings.Contains(read.Text, `"x":[1]`), "%s", read.Text)

	records := len(l.ledgerLines())
	do("send", func(context.Context, map[string]any) (string, error) {
		return "", fmt.Errorf("no program: %w", tools.ErrNotSent)
	})
	r = l.call("files_send", args{"session": s})
	check.That(t, r.Object["error_type"] == "UPSTREAM_UNAVAILABLE", "%s", r.Text)
	check.Equal(t, len(l.ledgerLines()), records, "a record of a call that was not made")

	for name, does := range map[string]func(context.Context, map[string]any) (string, error){
		"died \u202e": func(context.Context, map[string]any) (string, error) { return "", errors.New("it died \u202e") },
		"no JSON":     func(context.Context, map[string]any) (string, error) { return "{\"isError\"", nil },
	} {
		do("send", does)
		r = l.call("files_send", args{"session": s})
		_, u = l.last(record.KindMutation)
		check.That(t, r.IsError && strings.Contains(r.texts[0], "Whether it did what it was asked is not known") && !strings.Contains(string(r.Raw), "\u202e") && u.IsError && u.Problem != "" && u.Result == "", "%s: %s %+v", name, r.Raw, u)
	}

	do("write", func(_ context.Context, a map[string]any) (string, error) {
		return "done", os.WriteFile(filepath.Join(dir, a["path"].(string)), []byte("new\n"), 0o644)
	})
	l.passes("files_write", args{"session": s, "path": "src/a.txt"})
	e, u := l.last(record.KindMutation)
	check.That(t, len(e.Changes) == 1 && e.Changes[0].Path == "src/a.txt" && e.Changes[0].After.Hash != "" && u.Tool == "write" && e.MutationClass != "", "%+v", e.Record)
	l.passes("files_read", args{"path": "src/a.txt"})
	e, u = l.last(record.KindRead)
	check.That(t, u.Server == "files" && u.Tool == "read" && e.Call == "files_read" && u.ResultArtifact != "", "%+v", u)
	ctx, cancel := context.WithCancel(t.Context())
	do("send", func(context.Context, map[string]any) (string, error) { cancel(); return "", ctx.Err() })
	gone := l.server.Do(ctx, hooks.Request{Tool: "files_send", Arguments: check.Value(hooks.MakeArguments(args{"session": s}))(t), Caller: session.Caller{Connection: "c"}})
	_, u = l.last(record.KindMutation)
	check.That(t, gone.IsError && u.Problem == "the call was cancelled meanwhile", "%+v", u)
}

// A result that is too large is kept, and what the agent gets of it says where the rest is.
func TestLargeResultsAreKept(t *testing.T) {
	t.Parallel()
	l := behind(t, newWorkspace(t), []upstream.Definition{files()}, nil)
	text := "head\n" + strings.Repeat("line of text\n", 40_000) + "tail"
	l.does["read"] = func(context.Context, map[string]any) (string, error) { return text, nil }
	r := l.passes("files_read", args{"path": "src/a.txt"})
	id, _ := r.Object["artifact_id"].(string)
	check.That(t, len(r.Raw) < 100<<10 && strings.HasPrefix(r.texts[0], "head\n") && strings.HasSuffix(r.texts[0], "tail\n") && strings.Contains(r.texts[1], id), "%d %v", len(r.Raw), r.texts[1:])
	read := l.call("read_command_output", args{"artifact_id": id, "tail": 1})
	check.That(t, strings.Contains(read.Text, "tail"), "%s", read.Text)
	l.does["read"] = func(context.Context, map[string]any) (string, error) {
		return `{"content":[{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("A", 1<<20) + `"},{"type":"text","text":"below"}],"isError":false}`, nil
	}
	r = l.passes("files_read", args{"path": "src/a.txt"})
	check.That(t, len(r.Raw) < 100<<10 && strings.Contains(r.texts[0], "below"), "an image is cut: %d", len(r.Raw))
}
