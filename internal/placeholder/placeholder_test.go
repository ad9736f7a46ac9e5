package placeholder_test

import (
	"io/fs"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/placeholder"
)

func TestContentFitsItsLimit(t *testing.T) {
	for name, want := range map[string]string{
		".git/commondir": ".", "/w/.git/commondir": ".", "commondir": ".", "/w/.mcp.json": `{"mcpServers":{}}`,
		".roomodes": "customModes: []\n", ".intentignore": "", "/w/.git/config.worktree": "", "x.git/commondir": ".",
	} {
		got := placeholder.Content(name)
		check.That(t, got == want && len(got) <= placeholder.MaxSize, "%s: %q", name, got)
	}
}

func TestMarked(t *testing.T) {
	at := placeholder.Time
	for _, c := range []struct {
		mode fs.FileMode
		size int64
		time time.Time
		want bool
	}{
		{0o644, 0, at, true},
		{0o644, placeholder.MaxSize, at.In(time.FixedZone("x", 3600)), true},
		{0o644, placeholder.MaxSize + 1, at, false},
		{fs.ModeDir | 0o755, 4096, at, true},
		{0o644, 0, at.Add(time.Second), false},
		{fs.ModeSymlink | 0o777, 1, at, false},
		{fs.ModeNamedPipe, 0, at, false},
	} {
		got := placeholder.Marked(c.mode, c.size, c.time)
		check.That(t, got == c.want, "%v %d %v: %v", c.mode, c.size, c.time, got)
	}
}

func TestTemporary(t *testing.T) {
	for range 100 {
		if name := placeholder.NewTemporary(); !placeholder.Temporary(name) {
			t.Error(name)
		}
	}
	for _, name := range []string{"", ".orchestra-.tmp", ".orchestra-abc.tmp", ".orchestra-ABCDEFGHIJKLMNOPQRSTUVWXYa.tmp", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"} {
		check.That(t, !placeholder.Temporary(name), "%v", name)
	}
}
