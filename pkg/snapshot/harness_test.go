package snapshot_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/kept"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// bench is a workspace with a keeper.
type bench struct {
	t      testing.TB
	dir    string
	kept   *kept.Store
	keeper *snapshot.Keeper
	// options are the keeper's.
	options snapshot.Options
}

func newBench(t testing.TB) *bench {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	dir := t.TempDir()
	b := &bench{t: t, dir: dir}
	b.write(".orchestration/active_intents.yaml", "active_intents: []\n")
	root := check.Value(os.OpenRoot(dir))(t)
	b.kept = kept.Open(root, kept.Options{Size: 1 << 30})
	b.options = snapshot.Options{
		Root: root, NewBlobHash: gitdir.New(dir).NewBlobHash, Contents: b.kept, Largest: 8 << 20, State: b.state,
	}
	b.keeper = snapshot.Open(b.options)
	t.Cleanup(func() {
		b.keeper.Close() // a user has few of what the kernel tells it by
		root.Close()
	})
	return b
}

func (b *bench) state() (*os.Root, error) {
	if err := os.MkdirAll(filepath.Join(b.dir, ".orchestration/state"), 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(filepath.Join(b.dir, ".orchestration/state"))
}

func (b *bench) write(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	b.must(os.MkdirAll(filepath.Dir(path), 0o755))
	b.must(os.WriteFile(path, []byte(content), 0o644))
}

func (b *bench) must(err error) {
	b.t.Helper()
	check.OK(b.t, err)
}

// run runs a line in a shell.
func (b *bench) run(line string) {
	b.t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	check.Must(b.t, err == nil, "%s: %v\n%s", line, err, out)
}

func (b *bench) begin() *snapshot.Window {
	b.t.Helper()
	w, err := b.keeper.Begin(context.Background(), nil)
	b.must(err)
	return w
}

func (b *bench) end(w *snapshot.Window) *snapshot.Difference {
	b.t.Helper()
	d, err := w.End(context.Background())
	b.must(err)
	return d
}

// changed runs a line between two looks.
func (b *bench) changed(line string) *snapshot.Difference {
	b.t.Helper()
	w := b.begin()
	b.run(line)
	return b.end(w)
}

// told is a difference as text, a line each, without directories.
func told(d *snapshot.Difference) []string {
	var lines []string
	for _, c := range d.Changes {
		if kindOf(c) == snapshot.Directory {
			continue
		}
		line := fmt.Sprintf("%s %s", c.Op, c.Path)
		if c.From != "" {
			line += " from " + c.From
		}
		if c.Op == change.Modified && c.Before.Hash == c.After.Hash && c.Before.Mode != c.After.Mode {
			line += fmt.Sprintf(" %v to %v", c.Before.Mode, c.After.Mode)
		}
		if kind := kindOf(c); kind != snapshot.File {
			line += " (" + kind.String() + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

func kindOf(c snapshot.Change) snapshot.Kind {
	if c.After != nil {
		return c.After.Kind
	}
	return c.Before.Kind
}

func (b *bench) want(d *snapshot.Difference, lines ...string) {
	b.t.Helper()
	if got := told(d); !slices.Equal(got, lines) {
		b.t.Errorf("found\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(lines, "\n  "))
	}
	for _, c := range d.Changes {
		for _, content := range []*snapshot.Content{c.Before, c.After} {
			if content != nil && content.Known && content.Hash != string(workspace.HashOf(content.Bytes)) {
				b.t.Errorf("%s: the bytes are not those of the hash", c.Path)
			}
		}
	}
}

// find gives the change of one path.
func (b *bench) find(d *snapshot.Difference, path string) snapshot.Change {
	b.t.Helper()
	for _, c := range d.Changes {
		if c.Path == path {
			return c
		}
	}
	b.t.Fatalf("nothing about %s in %v", path, told(d))
	return snapshot.Change{}
}

// holds is for what is true of the change of one path.
func (b *bench) holds(d *snapshot.Difference, path string, is func(c snapshot.Change) bool) {
	b.t.Helper()
	c := b.find(d, path)
	check.That(b.t, is(c), "%+v", c)
}
