package presence_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/presence"
)

func state(t *testing.T) *os.Root {
	t.Helper()
	root := check.Value(os.OpenRoot(t.TempDir()))(t)
	t.Cleanup(func() { root.Close() })
	return root
}

func ids(t *testing.T, root *os.Root) (found []string) {
	t.Helper()
	servers := check.Value(presence.Servers(root))(t)
	for _, s := range servers {
		found = append(found, s.ID)
	}
	return found
}

// A server is shown from its registration until it leaves, and one that was killed is not: its file stays, its lock does
// not. A later server sweeps it.
func TestServersThatAreAlive(t *testing.T) {
	root := state(t)
	got := ids(t, root)
	check.That(t, got == nil, "%v", got)
	first := check.Value(presence.Register(root, presence.Server{ID: "1-a", Transport: "stdio", StartedAt: time.Unix(1, 0)}))(t)
	killed := `{"id":"2-b","pid":1,"place":"","transport":"http","version":"dev","started_at":"2026-01-01T00:00:00Z"}`
	check.OK(t, root.WriteFile("servers/2-b.json", []byte(killed), 0o600))
	for name, content := range map[string]string{"torn.json": "{", "other": "x"} {
		check.OK(t, root.WriteFile("servers/"+name, []byte(content), 0o600))
	}
	check.OK(t, root.Mkdir("servers/dir.json", 0o700))
	got = ids(t, root)
	check.That(t, durable.Place() == "" || slices.Equal(got, []string{"1-a"}), "%v", got)
	old := time.Now().Add(-time.Hour)
	check.OK(t, root.Chtimes("servers/2-b.json", old, old))
	second := check.Value(presence.Register(root, presence.Server{ID: "3-c", StartedAt: time.Unix(3, 0)}))(t)
	_, err := root.Lstat("servers/2-b.json")
	check.That(t, durable.Place() == "" || err != nil, "the mark of a killed server was not swept")
	first.Remove()
	got = ids(t, root)
	check.That(t, slices.Equal(got, []string{"3-c"}), "%v", got)
	second.Remove()
	got = ids(t, root)
	check.That(t, got == nil, "%v", got)
}

func TestWorkspacesAreForgottenWhenTheyAreGone(t *testing.T) {
	user, one, two := t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two, one} {
		check.OK(t, os.MkdirAll(filepath.Join(dir, ".orchestration"), 0o755))
		check.OK(t, presence.Remember(user, dir))
	}
	check.OK(t, os.RemoveAll(filepath.Join(two, ".orchestration")))
	for range 2 {
		got, err := presence.Workspaces(user)
		check.That(t, err == nil && slices.Equal(got, []string{one}), "%v %v", got, err)
	}
}
